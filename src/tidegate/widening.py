"""Which type holds the values of another: each rule once, for every room that asks.

| rule | question | function |
|---|---|---|
| lossless | does a type hold every value of another? | `holds` |
| drift of a table | which type holds the rows of a table and those of a batch? | `join_types` |
| Iceberg | can a column change its type without its rows being written again? | `is_alterable` |
| Iceberg | which type does a table keep for a column of the query? | `stored_type` |
| untyped files | which type takes values of both, as files write them? | `inferred_type` |

Spark's own rules of expressions (implicit casts, arithmetic) are the compiler's: `compiler/analysis/coercion.py`.
"""

from __future__ import annotations

from tidegate.datatypes import DOUBLE, INT, STRING, TIMESTAMP, TIMESTAMP_NTZ, DataType, array, decimal, map_of, struct

__all__ = ["holds", "inferred_type", "is_alterable", "join_types", "stored_type"]

_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
_INTEGERS = tuple(_DIGITS)
_MOST_DIGITS = 38
# Numbers that a floating type holds without loss.
_EXACT = {"float": ("tinyint", "smallint"), "double": ("tinyint", "smallint", "int", "float")}
_PRINTABLE = frozenset(
    {*_INTEGERS, "float", "double", "decimal", "boolean", "date", "timestamp", "timestamp_ntz"},
)


def holds(wide: DataType, narrow: DataType) -> bool:
    """Whether every value of `narrow` is a value of `wide`. What is not known on either side is taken for the same.

    Text does not hold numbers: a reader of the column would get another kind of value.
    """
    if wide == narrow or "?" in (wide.kind, narrow.kind) or narrow.kind == "void":
        return True
    if wide.kind == narrow.kind == "array":
        return holds(wide.args[0], narrow.args[0])
    if wide.kind == narrow.kind == "map":
        (key, value), (other_key, other_value) = wide.args, narrow.args
        return holds(key, other_key) and holds(other_key, key) and holds(value, other_value)
    if wide.kind == narrow.kind == "struct":
        return all((kind := wide.field(name)) is not None and holds(kind, inner) for name, inner in narrow.args)
    return _holds_number(wide, narrow)


def _holds_number(wide: DataType, narrow: DataType) -> bool:
    if wide.is_integral and narrow.is_integral:
        return _DIGITS[wide.kind] >= _DIGITS[narrow.kind]
    if wide.kind == "decimal" and (narrow.kind == "decimal" or narrow.is_integral):
        return all(room >= needed for room, needed in zip(_digits(wide), _digits(narrow), strict=True))
    return narrow.kind in _EXACT.get(wide.kind, ())


def _digits(kind: DataType) -> tuple[int, int]:
    """Of a decimal or an integer: how many digits it has before and after the point."""
    if kind.kind == "decimal":
        return kind.args[0] - kind.args[1], kind.args[1]
    return _DIGITS[kind.kind], 0


def stored_type(kind: DataType) -> DataType:
    """As an Iceberg table keeps it: it has no integer smaller than four bytes."""
    return INT if kind.kind in ("tinyint", "smallint") else kind.map_parts(stored_type)


def is_alterable(before: DataType, after: DataType) -> bool:
    """Whether Iceberg changes a column of a plain type in place: ALTER COLUMN … TYPE, and no row is written again."""
    if before.kind == after.kind == "decimal":
        return bool(before.args[1] == after.args[1] and before.args[0] < after.args[0])
    return (before.kind, after.kind) in (("int", "bigint"), ("float", "double"))


def join_types(table: DataType, batch: DataType) -> DataType | None:
    """The narrowest stored type that holds both without loss, text included; None where there is none.

    A batch of bigints may go to a column of doubles (JSON and CSV write 3.0 as 3); a column of bigints never becomes
    one.
    """
    if table == batch or batch.kind == "void":
        return table
    if table.is_nested or batch.is_nested:
        return _join_nested(table, batch) if table.kind == batch.kind else None
    if _fits_column(table, batch):
        return batch
    if _fits_column(batch, table) or (batch.kind, table.kind) == ("bigint", "double"):
        return table
    return None


def _fits_column(narrow: DataType, wide: DataType) -> bool:
    return narrow.kind in _PRINTABLE if wide.is_text else _holds_number(wide, narrow)


def _join_nested(table: DataType, batch: DataType) -> DataType | None:
    match table.kind:
        case "array":
            element = join_types(table.args[0], batch.args[0])
            return element and array(element)
        case "map":
            (key, value), (other_key, other_value) = table.args, batch.args
            joined = join_types(value, other_value) if key == other_key else None
            return joined and map_of(key, joined)
        case _:
            added = {name.lower(): (name, kind) for name, kind in batch.args}
            fields = []
            for name, kind in table.args:
                _, other = added.pop(name.lower(), (name, kind))
                joined = join_types(kind, other)
                if joined is None:
                    return None
                fields.append((name, joined))
            return struct([*fields, *added.values()])


def inferred_type(a: DataType, b: DataType) -> DataType:
    """The narrowest type that takes the values of both, where files say nothing of types; text where nothing else does.

    Integers and fractions together are doubles, though a large integer loses digits: a file that writes both means
    floating numbers. Fields of structs go by name (case does not count), in the order in which they first come.
    """
    if a == b or b.kind == "void":
        return a
    if a.kind == "void":
        return b
    if a.kind == b.kind == "struct":
        fields: dict[str, tuple[str, DataType]] = {}
        for name, kind in (*a.args, *b.args):
            own, before = fields.get(name.casefold(), (name, kind))
            fields[name.casefold()] = own, inferred_type(before, kind)
        return struct(fields.values())
    if a.kind == b.kind == "array":
        return array(inferred_type(a.args[0], b.args[0]))
    if a.kind == b.kind == "map" and a.args[0] == b.args[0]:
        return map_of(a.args[0], inferred_type(a.args[1], b.args[1]))
    if a.is_numeric and b.is_numeric:
        return _inferred_number(a, b)
    return {
        frozenset({"date", "timestamp"}): TIMESTAMP,
        frozenset({"date", "timestamp_ntz"}): TIMESTAMP_NTZ,
    }.get(frozenset({a.kind, b.kind}), STRING)


def _inferred_number(a: DataType, b: DataType) -> DataType:
    if {a.kind, b.kind} & {"float", "double"}:
        return DOUBLE
    if a.is_integral and b.is_integral:
        return max(a, b, key=lambda kind: _DIGITS[kind.kind])
    whole, scale = map(max, zip(_digits(a), _digits(b), strict=True))
    return decimal(whole + scale, scale) if whole + scale <= _MOST_DIGITS else STRING
