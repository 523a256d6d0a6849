"""What a unit test may give rows to: the tables and landing zones that a model's query reads, and its own table."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from tidegate.compiler.catalog import TableIndex
from tidegate.names import TableName

__all__ = ["THIS", "UnitInputs"]

THIS = "this"
_ZONE = "landing:"


@dataclass(frozen=True, slots=True)
class UnitInputs:
    """`tables`: ephemeral models and what they read included. `itself`: the query reads the model's own table."""

    own: TableName
    itself: bool
    tables: Collection[TableName]
    zones: Collection[str]
    namespace: str

    def find(self, name: str) -> TableName | str | None:
        """The table, or the zone, that a test means; None where the query reads no such thing."""
        if name == THIS:
            return self.own if self.itself else None
        zone = name.removeprefix(_ZONE)
        if zone in self.zones:
            return zone
        readable = {*self.tables, *([self.own] if self.itself else [])}
        return TableIndex(readable, (), self.namespace).find(name.split("."))

    @property
    def names(self) -> tuple[str, ...]:
        """As a person would write them."""
        tables = sorted(table.short(self.namespace) for table in self.tables if table != self.own)
        return (*tables, *sorted(self.zones), *([THIS] if self.itself else []))
