"""The rows of a unit test as SQL: each value cast to the type of its column, or to the one that the values have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal

from tidegate.datatypes import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    STRING,
    TIMESTAMP,
    VOID,
    Column,
    DataType,
    array,
    struct,
)
from tidegate.jsontext import json_text
from tidegate.names import quote
from tidegate.project.unit_tests import Cell, Scalar
from tidegate.write.sql import literal

__all__ = ["cell_sql", "infer_type", "rows_sql", "type_sql"]

_WIDER = {frozenset({BIGINT, DOUBLE}): DOUBLE, frozenset({DATE, TIMESTAMP}): TIMESTAMP}


def rows_sql(columns: Sequence[Column], rows: Iterable[Sequence[Cell]]) -> str:
    """A query of exactly these rows and columns."""
    if not columns:
        # A table without columns cannot be written down.
        columns, rows = (Column("_", STRING),), ()
    values = [
        f"({', '.join(cell_sql(cell, column.type) for cell, column in zip(row, columns, strict=True))})" for row in rows
    ]
    if not values:
        return f"SELECT {', '.join(f'{cell_sql(None, c.type)} AS {quote(c.name)}' for c in columns)} WHERE false"
    names = ", ".join(quote(column.name) for column in columns)
    return f"SELECT * FROM VALUES {', '.join(values)} AS t({names})"


def infer_type(cells: Iterable[Cell]) -> DataType:
    """The narrowest type that takes all of them; void where every one is NULL."""
    found = VOID
    for cell in cells:
        found = _wider(found, _type_of(cell))
    return found


def _type_of(cell: Cell) -> DataType:
    if cell is None:
        return VOID
    if isinstance(cell, tuple):
        return array(infer_type(cell))
    if isinstance(cell, Mapping):
        return struct((name, _type_of(inner)) for name, inner in cell.items())
    value = cell.value
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, int):
        return BIGINT if -(1 << 63) <= value < 1 << 63 else STRING
    if isinstance(value, float | Decimal):
        return DOUBLE
    if isinstance(value, datetime):
        return TIMESTAMP
    if isinstance(value, date):
        return DATE
    return BINARY if isinstance(value, bytes) else STRING


def _wider(one: DataType, other: DataType) -> DataType:
    if one == other or other == VOID:
        return one
    if one == VOID:
        return other
    if one.kind == other.kind == "array":
        return array(_wider(one.args[0], other.args[0]))
    if one.kind == other.kind == "struct":
        names = dict(one.args) | dict(other.args)
        return struct((name, _wider(one.field(name) or VOID, other.field(name) or VOID)) for name in names)
    return _WIDER.get(frozenset({one, other}), STRING)


def cell_sql(cell: Cell, kind: DataType) -> str:
    """Always of exactly this type, so that all rows of a table agree."""
    if cell is None:
        return "NULL" if kind == VOID else f"CAST(NULL AS {type_sql(kind)})"
    if kind.kind == "variant":
        return f"parse_json({literal(json_text(_json(cell)))})"
    if isinstance(cell, tuple) and kind.kind == "array":
        return f"CAST(array({', '.join(cell_sql(item, kind.args[0]) for item in cell)}) AS {type_sql(kind)})"
    if isinstance(cell, Mapping) and kind.kind == "map":
        key, value = kind.args
        pairs = (f"{cell_sql(Scalar(name, name), key)}, {cell_sql(item, value)}" for name, item in cell.items())
        return f"CAST(map({', '.join(pairs)}) AS {type_sql(kind)})"
    if isinstance(cell, Mapping) and kind.kind == "struct":
        given = {name.lower(): item for name, item in cell.items()}
        fields = (f"{literal(name)}, {cell_sql(given.get(name.lower()), inner)}" for name, inner in kind.args)
        return f"CAST(named_struct({', '.join(fields)}) AS {type_sql(kind)})"
    if not isinstance(cell, Scalar):
        return f"CAST({literal(json_text(_json(cell)))} AS {type_sql(kind)})"
    if isinstance(cell.value, bytes):
        return f"CAST(X'{cell.value.hex()}' AS {type_sql(kind)})"
    return f"CAST({literal(_written(cell, kind))} AS {type_sql(kind)})"


def _written(cell: Scalar, kind: DataType) -> str:
    """As it stands in the file, but for words and numbers that only the file's format understands."""
    if kind.is_text:
        return cell.text
    if isinstance(cell.value, bool):
        return str(cell.value).lower()
    if isinstance(cell.value, int):
        return str(cell.value)
    return cell.text.replace("_", "") if isinstance(cell.value, float) else cell.text


def _json(cell: Cell) -> object:
    if isinstance(cell, tuple):
        return [_json(item) for item in cell]
    if isinstance(cell, Mapping):
        return {name: _json(item) for name, item in cell.items()}
    if cell is None:
        return None
    return float(cell.value) if isinstance(cell.value, Decimal) else cell.value


def type_sql(kind: DataType) -> str:
    """The type as DDL, whatever the names of its fields."""
    match kind.kind:
        case "struct":
            return f"struct<{', '.join(f'{quote(name)}: {type_sql(inner)}' for name, inner in kind.args)}>"
        case "array" | "map":
            return f"{kind.kind}<{', '.join(map(type_sql, kind.args))}>"
        case _:
            return kind.text
