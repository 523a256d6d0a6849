"""The tables of an Iceberg JDBC catalog in a SQLite file that belongs to someone else: it is only read."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from tidegate.config import CatalogSource
from tidegate.errors import FailureKind, SourceError
from tidegate.lake.branch_catalog import Pointer, PointerKind
from tidegate.names import nearest
from tidegate.sources.catalog import CatalogTable

__all__ = ["SqliteCatalog"]

_BUSY_SECONDS = 10
_SHOWN = 5
_KINDS = frozenset(PointerKind)
"""What else a catalog may hold is nothing that a query of ours could read."""


class SqliteCatalog:
    def __init__(self, source: CatalogSource) -> None:
        self._source = source

    def pointers(self) -> Mapping[CatalogTable, Pointer]:
        path, wanted = self._source.catalog_path, self._source.catalog_name
        if not path.is_file():
            raise self._error(
                "its catalog is not there",
                FailureKind.NOT_FOUND,
                "correct catalog_path, or mount the disk it is on",
            )
        try:
            rows = _rows(path)
        except sqlite3.Error as error:
            raise self._error(
                f"its catalog cannot be read: {error}",
                FailureKind.CONNECTION_FAILED,
                "check that the file is an Iceberg JDBC catalog in SQLite and that you may read it",
            ) from error
        if rows and all(catalog != wanted for catalog, *_ in rows):
            names = sorted({catalog for catalog, *_ in rows})
            hint = nearest(wanted, names, 1) or names
            raise self._error(
                f"there is no catalog '{wanted}' in the file",
                FailureKind.NOT_FOUND,
                f'write catalog_name = "{hint[0]}"; the file has {", ".join(names[:_SHOWN])}',
            )
        if rows and not self._source.warehouse.is_dir():
            raise self._error(
                f"its warehouse {self._source.warehouse} is not there",
                FailureKind.NOT_FOUND,
                "correct warehouse, or mount the disk it is on",
            )
        return {
            CatalogTable(namespace, name): Pointer(PointerKind(kind), location)
            for catalog, namespace, name, kind, location in rows
            if catalog == wanted and location and kind in _KINDS
        }

    def _error(self, message: str, kind: FailureKind, remedy: str) -> SourceError:
        where = f"{self._source.catalog_path} ([sources.{self._source.name}])"
        return SourceError(message, source=self._source.name, kind=kind, where=where, remedy=remedy)


def _rows(path: Path) -> list[tuple[str, str, str, str, str | None]]:
    uri = f"file:{quote(str(path))}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS)) as connection:
        columns = {row[1] for row in connection.execute("PRAGMA table_info(iceberg_tables)")}
        kind = "coalesce(iceberg_type, 'TABLE')" if "iceberg_type" in columns else "'TABLE'"
        found = connection.execute(
            f"SELECT catalog_name, table_namespace, table_name, {kind}, metadata_location FROM iceberg_tables"
        )
        return found.fetchall()
