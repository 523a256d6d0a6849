"""Whether a type that became another still holds every value that it held."""

from __future__ import annotations

from enum import StrEnum

from tidegate.datatypes import DataType

__all__ = ["TypeChange", "type_change"]

_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
_INTEGERS = tuple(_DIGITS)
# Integers that a floating type holds without loss.
_EXACT = {"float": ("tinyint", "smallint"), "double": ("tinyint", "smallint", "int", "float")}


class TypeChange(StrEnum):
    SAME = "same"
    WIDENED = "widened"
    NARROWED = "narrowed"
    CHANGED = "changed"
    """Neither holds the other's values."""


def type_change(before: DataType, after: DataType) -> TypeChange:
    """What is not known on either side is taken for the same."""
    wider, narrower = _holds(after, before), _holds(before, after)
    if wider:
        return TypeChange.SAME if narrower else TypeChange.WIDENED
    return TypeChange.NARROWED if narrower else TypeChange.CHANGED


def _holds(wide: DataType, narrow: DataType) -> bool:
    if wide == narrow or "?" in (wide.kind, narrow.kind) or narrow.kind == "void":
        return True
    if wide.kind == narrow.kind and wide.kind in ("array", "map"):
        *keys, value = zip(wide.args, narrow.args, strict=True)
        return all(_holds(a, b) and _holds(b, a) for a, b in keys) and _holds(*value)
    if wide.kind == narrow.kind == "struct":
        return all((kind := wide.field(name)) is not None and _holds(kind, inner) for name, inner in narrow.args)
    return _holds_number(wide, narrow)


def _holds_number(wide: DataType, narrow: DataType) -> bool:
    if wide.kind in _DIGITS and narrow.kind in _DIGITS:
        return _INTEGERS.index(wide.kind) >= _INTEGERS.index(narrow.kind)
    if wide.kind == "decimal":
        whole, scale = wide.args[0] - wide.args[1], wide.args[1]
        if narrow.kind == "decimal":
            return bool(whole >= narrow.args[0] - narrow.args[1] and scale >= narrow.args[1])
        return narrow.kind in _DIGITS and bool(whole >= _DIGITS[narrow.kind])
    return narrow.kind in _EXACT.get(wide.kind, ())
