"""Where a lake of each kind is, as a value that another process can open too."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tests.lake.invented import Invented
from tidegate.config import NessieServer, RestServer
from tidegate.config.database_url import parse_database_url
from tidegate.lake.branch_catalog import BranchCatalog
from tidegate.lake.catalogs.embedded import EmbeddedCatalog
from tidegate.lake.metadata import load_json

if TYPE_CHECKING:
    from tidegate.lake.catalogs.iceberg_rest import RestCatalog


@dataclass(frozen=True)
class Place:
    """`address` is the database's URL, or the server's URI, for Nessie with a space and main's name after it."""

    kind: str
    folder: Path
    address: str = ""

    def open(self) -> BranchCatalog:
        warehouse = self.folder / "warehouse"
        if self.kind == "jdbc":
            from tidegate.lake.catalogs.jdbc import JdbcCatalog

            return JdbcCatalog(parse_database_url(self.address), warehouse)
        if self.kind == "nessie":
            from tidegate.lake.catalogs.nessie import NessieCatalog

            return NessieCatalog(NessieServer(*self.address.split(" ")), warehouse, load=_load)
        if self.kind == "rest":
            return cast(BranchCatalog, Invented(self.open_rest(), self.folder))
        return EmbeddedCatalog(self.folder / "catalog.db", warehouse)

    def open_rest(self) -> RestCatalog:
        from tidegate.lake.catalogs.iceberg_rest import RestCatalog

        return RestCatalog(
            RestServer(self.address), EmbeddedCatalog(self.folder / "branches.db", self.folder / "warehouse")
        )


def _load(location: str) -> Any:
    """Tests that only move pointers invent them; there are no files below /w."""
    if not location.startswith("file:/w/"):
        return load_json(location)
    return {
        "current-schema-id": 0,
        "default-spec-id": 0,
        "default-sort-order-id": 0,
        "current-snapshot-id": None,
        "current-version-id": 1,
        "versions": [{"version-id": 1, "schema-id": 0}],
    }
