"""The lake: catalogs with branches, and the metadata of tables. No Spark in here.

`sweep` and `manifests` are imported where they are needed: they bring PyIceberg, which takes a second to load; so are
the catalogs that speak to a server.
"""

from __future__ import annotations

from tidegate.config import Settings
from tidegate.lake.branch_catalog import (
    MAIN,
    BranchCatalog,
    BranchInfo,
    Capabilities,
    Change,
    Heads,
    Pointer,
    PointerKind,
)
from tidegate.lake.catalogs.embedded import EmbeddedCatalog
from tidegate.lake.consumed import Consumed, ConsumedFile, read_consumed, write_consumed
from tidegate.lake.metadata import Field, Snapshot, TableMetadata, ViewMetadata, read_metadata
from tidegate.lake.progress import PROGRESS_PROPERTY, Progress, TableInput, ZoneInput
from tidegate.lake.view import BranchView
from tidegate.lake.warehouse import check_location, refuse_missing_catalog

__all__ = [
    "MAIN",
    "PROGRESS_PROPERTY",
    "BranchCatalog",
    "BranchInfo",
    "BranchView",
    "Capabilities",
    "Change",
    "Consumed",
    "ConsumedFile",
    "EmbeddedCatalog",
    "Field",
    "Heads",
    "Pointer",
    "PointerKind",
    "Progress",
    "Snapshot",
    "TableInput",
    "TableMetadata",
    "ViewMetadata",
    "ZoneInput",
    "is_initialized",
    "open_catalog",
    "read_consumed",
    "read_metadata",
    "write_consumed",
]


def open_catalog(settings: Settings) -> BranchCatalog:
    """The catalog that `[lake]` names, without a request to it. Raises for a lake that was moved or copied, and for one
    that lost its catalog."""
    lake = settings.lake
    check_location(lake.warehouse)
    if lake.jdbc is not None:
        from tidegate.lake.catalogs.jdbc import JdbcCatalog

        return JdbcCatalog(lake.jdbc, lake.warehouse)
    if lake.nessie is not None:
        from tidegate.lake.catalogs.nessie import NessieCatalog

        return NessieCatalog(lake.nessie, lake.warehouse)
    if lake.rest is not None:
        from tidegate.lake.catalogs.iceberg_rest import RestCatalog
        from tidegate.lake.catalogs.jdbc import JdbcCatalog

        beside = JdbcCatalog(lake.branches, lake.warehouse) if lake.branches else None
        return RestCatalog(lake.rest, beside or EmbeddedCatalog(lake.catalog_path, lake.warehouse))
    refuse_missing_catalog(lake.catalog_path, lake.warehouse)
    return EmbeddedCatalog(lake.catalog_path, lake.warehouse)


def is_initialized(settings: Settings) -> bool:
    """False before the first run creates the catalog. A server is assumed to exist.

    Raises where the catalog's file was lost.
    """
    lake = settings.lake
    if lake.catalog != "embedded" or lake.catalog_path.exists():
        return True
    refuse_missing_catalog(lake.catalog_path, lake.warehouse)
    return False
