"""Tables that are named by hand in tidegate.toml."""

from __future__ import annotations

from tidegate.config import ManualSource
from tidegate.names import TableName
from tidegate.sources.failures import ping_source
from tidegate.sources.port import Ping, SourceTable

__all__ = ["ManualDiscoverer"]


class ManualDiscoverer:
    def __init__(self, source: ManualSource) -> None:
        self._source = source

    def discover(self) -> tuple[SourceTable, ...]:
        source = self._source
        return tuple(
            SourceTable(TableName(source.name, *table.split(".")), relation, source.name, source.kind)
            for table, relation in sorted(source.tables.items())
        )

    def ping(self) -> Ping:
        return ping_source(self._source, lambda: f"tables named in tidegate.toml: {len(self._source.tables)}")
