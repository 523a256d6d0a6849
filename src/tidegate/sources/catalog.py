"""Another Iceberg catalog: its tables and their columns, from its rows and metadata files, without a JVM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from tidegate.config import CatalogSource
from tidegate.datatypes import NOTHING_KNOWN
from tidegate.errors import FailureKind, LakeError, SourceError
from tidegate.lake.branch_catalog import Pointer
from tidegate.lake.iceberg_types import relation_of
from tidegate.lake.metadata import read_metadata
from tidegate.names import TableName
from tidegate.sources.failures import ping_source
from tidegate.sources.port import Ping, SourceTable

__all__ = ["CatalogDiscoverer", "CatalogTable", "TableCatalog"]

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class CatalogTable:
    """`namespace` as the catalog writes it, with dots between its levels."""

    namespace: str
    name: str


class TableCatalog(Protocol):
    """What discovery asks of a catalog, whatever it is kept in."""

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

        Where one name means both, it means what models use it for.
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
