"""The catalog that needs no server: Iceberg's JDBC catalog on a SQLite file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from tidegate.errors import LakeError
from tidegate.lake.catalogs.lost_catalog import refuse_emptied_catalog
from tidegate.lake.catalogs.pointer_tables import lake_id
from tidegate.lake.catalogs.relational import RelationalCatalog
from tidegate.lake.catalogs.sqlite_database import BUSY_TIMEOUT_SECONDS, CatalogDatabase
from tidegate.lake.port import MAIN, Heads

__all__ = ["EmbeddedCatalog"]


class EmbeddedCatalog(RelationalCatalog):
    def __init__(self, path: Path, warehouse: Path, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.path = path.absolute()
        super().__init__(CatalogDatabase(self.path), warehouse, clock)

    def head(self, branch: str = MAIN) -> Heads:
        heads = super().head(branch)
        if branch == MAIN and not heads:
            with self._database.read() as db:
                lake = lake_id(db)
            refuse_emptied_catalog(self.path, self.warehouse, lake)
        return heads

    def _jdbc(self) -> Mapping[str, str]:
        if "?" in str(self.path):  # all that follows would be taken for settings, and another file be opened
            raise LakeError(
                "the path of the catalog has a '?', with which Spark cannot open it",
                where=str(self.path),
                remedy="choose another folder, or another [lake] catalog_path",
            )
        return {"uri": f"jdbc:sqlite:{self.path}?busy_timeout={BUSY_TIMEOUT_SECONDS * 1000}"}
