"""The lake: catalogs with branches, and what tables say about themselves. No Spark in here.

`sweep` and `manifests` are imported where they are needed: they bring PyIceberg, which takes a second to load.
"""

from __future__ import annotations

from tidegate.config import Settings
from tidegate.errors import ConfigError
from tidegate.lake.consumed import Consumed, ConsumedFile, read_consumed, write_consumed
from tidegate.lake.embedded import EmbeddedCatalog
from tidegate.lake.metadata import Field, Snapshot, TableMetadata, ViewMetadata, read_metadata
from tidegate.lake.port import MAIN, BranchCatalog, BranchInfo, Capabilities, Change, Heads, Pointer, PointerKind
from tidegate.lake.progress import PROGRESS_PROPERTY, Progress, TableInput, ZoneInput
from tidegate.lake.view import BranchView

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
    "open_catalog",
    "read_consumed",
    "read_metadata",
    "write_consumed",
]


def open_catalog(settings: Settings) -> BranchCatalog:
    lake = settings.lake
    if lake.catalog != "embedded":
        raise ConfigError(
            f"there is no catalog of kind '{lake.catalog}'",
            where=f"{settings.file}: [lake] catalog",
            remedy='write catalog = "embedded"',
        )
    return EmbeddedCatalog(lake.catalog_path, lake.warehouse)
