"""What a unit test may give rows to, and whether a value that it gives fits the type of its column."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation

from tidegate.compiler.table_index import TableIndex
from tidegate.datatypes import DataType
from tidegate.names import TableName
from tidegate.project.unit_test_files import Cell, Scalar

__all__ = ["THIS", "UnitInputs", "misfit"]

THIS = "this"
_ZONE = "landing:"


@dataclass(frozen=True, slots=True)
class UnitInputs:
    """The tables and landing zones that a model's query reads."""

    own: TableName
    itself: bool
    """The query reads the model's own table."""
    tables: Collection[TableName]
    """With ephemeral models and what they read."""
    zones: Collection[str]
    namespace: str

    def find(self, name: str) -> TableName | str | None:
        """The table, or the zone, of that name; None where the query reads none."""
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


_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_WORDS = frozenset({"true", "false", "t", "f", "yes", "no", "y", "n", "1", "0"})


def misfit(cell: Cell, kind: DataType) -> str | None:
    """Why the value is not of the type; None where it is, or where that is not known."""
    if cell is None or not kind.known or kind.kind == "variant":
        return None
    match kind.kind:
        case "array":
            return _inside(cell, kind) if isinstance(cell, tuple) else _wrong_type(cell, kind)
        case "map" | "struct":
            return _inside(cell, kind) if isinstance(cell, Mapping) else _wrong_type(cell, kind)
        case _ if not isinstance(cell, Scalar):
            return _wrong_type(cell, kind)
        case _:
            fits = _fits(cell, kind)
            return None if fits else _wrong_type(cell, kind)


def _inside(cell: Cell, kind: DataType) -> str | None:
    if isinstance(cell, tuple):
        return next(filter(None, (misfit(item, kind.args[0]) for item in cell)), None)
    assert isinstance(cell, Mapping)
    if kind.kind == "map":
        return next(filter(None, (misfit(item, kind.args[1]) for item in cell.values())), None)
    for name, item in cell.items():
        field = kind.field(name)
        if field is None:
            return f"{kind} has no field '{name}'"
        if reason := misfit(item, field):
            return reason
    return None


def _wrong_type(cell: Cell, kind: DataType) -> str:
    if isinstance(cell, Scalar):
        return f"'{cell.text}' is not a value of type {kind}"
    return f"a {'list' if isinstance(cell, tuple) else 'mapping'} is not a value of type {kind}"


def _fits(cell: Scalar, kind: DataType) -> bool:
    text, value = cell.text.strip(), cell.value
    match kind.kind:
        case "tinyint" | "smallint" | "int" | "bigint":
            whole = value if isinstance(value, int) and not isinstance(value, bool) else _read(int, text)
            limit = 1 << (_BITS[kind.kind] - 1)
            return isinstance(whole, int) and -limit <= whole < limit
        case "decimal":
            number = _read(Decimal, text.replace("_", ""))
            return isinstance(number, Decimal) and number.is_finite() and _holds(number, *kind.args)
        case "float" | "double":
            return not isinstance(value, bool) and _read(float, text) is not None
        case "boolean":
            return isinstance(value, bool) or text.lower() in _WORDS
        case "date":
            return isinstance(value, date) or _read(datetime.fromisoformat, text) is not None
        case "timestamp" | "timestamp_ntz":
            return isinstance(value, date) or _read(datetime.fromisoformat, text) is not None
        case _:
            return True


def _holds(number: Decimal, precision: int, scale: int) -> bool:
    """Digits after the point are rounded; those before it must fit."""
    return abs(number) < Decimal(10) ** (precision - scale)


def _read(reader: Callable[[str], object], text: str) -> object | None:
    try:
        return reader(text)
    except (ValueError, InvalidOperation):
        return None
