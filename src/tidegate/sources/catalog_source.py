"""Another Iceberg catalog: its tables and their columns, from its rows and metadata files, without a JVM."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from tidegate.config import CatalogSource
from tidegate.datatypes import NOTHING_KNOWN
from tidegate.errors import FailureKind, LakeError, SourceError
from tidegate.lake.branch_catalog import Pointer, PointerKind
from tidegate.lake.iceberg_types import relation_of
from tidegate.lake.metadata import read_metadata
from tidegate.names import TableName, nearest
from tidegate.sources.discoverer import Ping, SourceTable
from tidegate.sources.source_errors import ping_source

__all__ = ["CatalogDiscoverer", "CatalogTable", "SqliteCatalog", "TableCatalog"]

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class CatalogTable:
    """`namespace` as the catalog writes it, with dots between its levels."""

    namespace: str
    name: str


class TableCatalog(Protocol):
    """The port to a catalog, whatever stores it."""

    def pointers(self) -> Mapping[CatalogTable, Pointer]:
        """Every table and view with its metadata file, in one read."""
        ...


class CatalogDiscoverer:
    def __init__(self, source: CatalogSource, catalog: TableCatalog) -> None:
        self._source = source
        self._catalog = catalog

    def discover(self) -> tuple[SourceTable, ...]:
        return tuple(self._table(table, pointer) for table, pointer in sorted(self.pointers().items(), key=_by_table))

    def ping(self) -> Ping:
        return ping_source(self._source, lambda: f"{self._source.catalog_path}, tables: {len(self.pointers())}")

    def pointers(self) -> dict[TableName, Pointer]:
        """Under the names that models use: without the namespace that the settings name."""
        return self._selected(self._catalog.pointers())

    def all_pointers(self) -> dict[TableName, Pointer]:
        """Under the names that models use, and everything under its full name: that is how views name what they read.

        Where one name is both, the one that models use wins.
        """
        pointers = self._catalog.pointers()
        full = {TableName(self._source.name, t.namespace, t.name): pointer for t, pointer in pointers.items()}
        return full | self._selected(pointers)

    def _selected(self, pointers: Mapping[CatalogTable, Pointer]) -> dict[TableName, Pointer]:
        source = self._source
        if source.namespace is None:
            return {TableName(source.name, t.namespace, t.name): pointer for t, pointer in pointers.items()}
        above = f"{source.namespace}."
        selected = {
            TableName(source.name, t.namespace.removeprefix(above), t.name): pointer
            for t, pointer in pointers.items()
            if t.namespace.startswith(above)
        }
        if pointers and not selected:
            namespaces = sorted({table.namespace for table in pointers})
            raise SourceError(
                f"its catalog has no table below the namespace '{source.namespace}'",
                source=source.name,
                kind=FailureKind.NOT_FOUND,
                remedy=f"correct or remove 'namespace'; the catalog has {', '.join(namespaces[:_SHOWN])}",
            )
        return selected

    def _table(self, table: TableName, pointer: Pointer) -> SourceTable:
        relation, problem = NOTHING_KNOWN, None
        try:
            relation = relation_of(read_metadata(pointer).fields)
        except LakeError as error:
            problem = f"{error.message} ({error.where})" if error.where else error.message
        return SourceTable(table, relation, self._source.name, self._source.kind, problem)


def _by_table(item: tuple[TableName, Pointer]) -> TableName:
    return item[0]


_BUSY_SECONDS = 10
_KINDS = frozenset(PointerKind)
"""A query can read nothing else that a catalog may hold."""


class SqliteCatalog:
    def __init__(self, source: CatalogSource) -> None:
        self._source = source

    def pointers(self) -> Mapping[CatalogTable, Pointer]:
        path, catalog_name = self._source.catalog_path, self._source.catalog_name
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
        if rows and all(catalog != catalog_name for catalog, *_ in rows):
            names = sorted({catalog for catalog, *_ in rows})
            hint = nearest(catalog_name, names, 1) or names
            raise self._error(
                f"there is no catalog '{catalog_name}' in the file",
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
            if catalog == catalog_name and location and kind in _KINDS
        }

    def _error(self, message: str, kind: FailureKind, remedy: str) -> SourceError:
        where = f"{self._source.catalog_path} ([sources.{self._source.name}])"
        return SourceError(message, source=self._source.name, kind=kind, where=where, remedy=remedy)


def _rows(path: Path) -> list[tuple[str, str, str, str, str | None]]:
    uri = f"file:{quote(str(path))}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS)) as connection:
        columns = {row[1] for row in connection.execute("PRAGMA table_info(iceberg_tables)")}
        kind = "coalesce(iceberg_type, 'TABLE')" if "iceberg_type" in columns else "'TABLE'"
        cursor = connection.execute(
            f"SELECT catalog_name, table_namespace, table_name, {kind}, metadata_location FROM iceberg_tables"
        )
        return cursor.fetchall()
