"""Type coercion as Spark does it with ANSI mode on: common types, comparisons, casts, intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tidegate.datatypes import (
    ANY,
    BIGINT,
    DOUBLE,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    DataType,
    array,
    decimal,
    map_of,
    struct,
)

__all__ = [
    "CALENDAR_INTERVAL",
    "DAY_TO_SECOND",
    "MOST_DIGITS",
    "can_cast",
    "can_cast_implicitly",
    "cast_may_give_null",
    "common_type",
    "common_type_of",
    "comparable",
    "comparison_type",
    "decimal_for",
    "interval_hull",
    "interval_of",
    "is_comparable_in_rows",
    "is_day_time",
    "is_interval",
    "is_orderable",
    "is_year_month",
    "same_shape",
    "set_operation_type",
    "strict_common_type_of",
    "tightest_common_type",
    "type_read_from_text",
]

CALENDAR_INTERVAL = DataType("interval")
DAY_TO_SECOND = DataType("interval day to second")

_DAY_TIME = ("day", "hour", "minute", "second")
_YEAR_MONTH = ("year", "month")


def _spans(units: tuple[str, ...]) -> dict[str, tuple[int, int]]:
    spans = {f"interval {unit}": (i, i) for i, unit in enumerate(units)}
    for i, first in enumerate(units):
        spans |= {f"interval {first} to {last}": (i, j) for j, last in enumerate(units) if j > i}
    return spans


_DAY_TIMES = _spans(_DAY_TIME)
_YEAR_MONTHS = _spans(_YEAR_MONTH)
_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_RANK = {kind: rank for rank, kind in enumerate((*_INTEGERS, "float", "double"))}
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
_MOMENTS = frozenset({"date", "timestamp", "timestamp_ntz"})
MOST_DIGITS = 38


def is_day_time(kind: DataType) -> bool:
    return kind.kind in _DAY_TIMES


def is_year_month(kind: DataType) -> bool:
    return kind.kind in _YEAR_MONTHS


def is_interval(kind: DataType) -> bool:
    """An ANSI interval; the legacy calendar interval is none."""
    return kind.kind in _DAY_TIMES or kind.kind in _YEAR_MONTHS


def _is_atomic(kind: DataType) -> bool:
    return not kind.is_nested and kind.kind not in ("interval", "void", "?")


def interval_of(first: str, last: str | None = None) -> DataType | None:
    """The ANSI interval from one unit to another; weeks count as days, and parts of a second as seconds."""
    units = [_unit(first), _unit(last or first)]
    for names in (_DAY_TIME, _YEAR_MONTH):
        if units[0] in names and units[1] in names:
            low, high = sorted(map(names.index, units))
            return DataType(f"interval {names[low]}" if low == high else f"interval {names[low]} to {names[high]}")
    return None


def _unit(word: str) -> str:
    word = word.lower().removesuffix("s")
    return {"week": "day", "millisecond": "second", "microsecond": "second"}.get(word, word)


def interval_hull(a: DataType, b: DataType) -> DataType | None:
    """The interval that holds both; None for intervals of different families."""
    for spans, names in ((_DAY_TIMES, _DAY_TIME), (_YEAR_MONTHS, _YEAR_MONTH)):
        if a.kind in spans and b.kind in spans:
            (low, high), (other_low, other_high) = spans[a.kind], spans[b.kind]
            return interval_of(names[min(low, other_low)], names[max(high, other_high)])
    return None


def decimal_for(kind: DataType) -> DataType:
    """The decimal to which Spark casts a number of this type."""
    if kind.kind in _DIGITS:
        return decimal(_DIGITS[kind.kind], 0)
    return {"float": decimal(14, 7), "double": decimal(30, 15)}.get(kind.kind, kind)


def _wider_decimal(a: DataType, b: DataType) -> DataType:
    scale = max(a.args[1], b.args[1])
    precision = scale + max(a.args[0] - a.args[1], b.args[0] - b.args[1])
    if precision <= MOST_DIGITS:
        return decimal(precision, scale)
    return decimal(MOST_DIGITS, max(scale - (precision - MOST_DIGITS), 0))


def _nested(a: DataType, b: DataType, merge: Callable[[DataType, DataType], DataType | None]) -> DataType | None:
    if a.kind != b.kind:
        return None
    if a.kind == "array":
        element = merge(a.args[0], b.args[0])
        return element and array(element)
    if a.kind == "map":
        key, value = merge(a.args[0], b.args[0]), merge(a.args[1], b.args[1])
        if key is None or value is None or any(cast_may_give_null(kind, key) for kind in (a.args[0], b.args[0])):
            return None
        return map_of(key, value)
    if a.kind != "struct" or len(a.args) != len(b.args):
        return None
    fields: list[tuple[str, DataType]] = []
    for (name, kind), (other, other_kind) in zip(a.args, b.args, strict=True):
        merged = merge(kind, other_kind) if name.lower() == other.lower() else None
        if merged is None:
            return None
        fields.append((name, merged))
    return struct(fields)


def tightest_common_type(a: DataType, b: DataType) -> DataType | None:
    """Spark's tightest common type: lossless, and without casting strings."""
    if a is b or a == b:
        return a
    if a.kind == "?" or b.kind == "?":
        return ANY
    if a.kind == "void":
        return b
    if b.kind == "void":
        return a
    if a.kind in _RANK and b.kind in _RANK:
        wider = max(a, b, key=lambda kind: _RANK[kind.kind])
        return DOUBLE if wider.kind == "float" else wider
    if a.kind in _DIGITS and b.kind == "decimal":
        return b if b.args[0] - b.args[1] >= _DIGITS[a.kind] else None
    if a.kind == "decimal" and b.kind in _DIGITS:
        return tightest_common_type(b, a)
    if a.kind in _MOMENTS and b.kind in _MOMENTS:
        return TIMESTAMP if "timestamp" in (a.kind, b.kind) else TIMESTAMP_NTZ
    return interval_hull(a, b) or _nested(a, b, tightest_common_type)


def _wider_number(a: DataType, b: DataType) -> DataType | None:
    if "decimal" not in (a.kind, b.kind):
        return None
    other = b if a.kind == "decimal" else a
    if other.kind in ("float", "double"):
        return DOUBLE
    if other.kind == "decimal" or other.kind in _DIGITS:
        return _wider_decimal(decimal_for(a), decimal_for(b))
    return None


def type_read_from_text(a: DataType, b: DataType) -> DataType | None:
    """The type to which a string beside a value of another type is cast; None where neither is a string."""
    if b.kind == "string":
        a, b = b, a
    if a.kind != "string":
        return None
    if b.kind in _DIGITS:
        return BIGINT
    if b.is_numeric:
        return DOUBLE
    if b.kind in ("void", "string"):
        return STRING
    return b if _is_atomic(b) and not is_interval(b) else None


def common_type(a: DataType, b: DataType) -> DataType | None:
    """The type that both are cast to in CASE, COALESCE, arrays and set operations; None where there is none."""
    if a is b:
        return a
    return tightest_common_type(a, b) or _wider_number(a, b) or type_read_from_text(a, b) or _nested(a, b, common_type)


def _without_text(a: DataType, b: DataType) -> DataType | None:
    return tightest_common_type(a, b) or _wider_number(a, b) or _nested(a, b, _without_text)


def common_type_of(types: Iterable[DataType]) -> DataType | None:
    return _fold(types, common_type)


def strict_common_type_of(types: Iterable[DataType]) -> DataType | None:
    """For greatest() and least(), which do not cast strings."""
    return _fold(types, _without_text)


def _fold(types: Iterable[DataType], merge: Callable[[DataType, DataType], DataType | None]) -> DataType | None:
    result = VOID
    for kind in types:
        merged = merge(result, kind)
        if merged is None:
            return None
        result = merged
    return result


def same_shape(a: DataType, b: DataType) -> bool:
    """The same type but for the names of struct fields."""
    if a == b:
        return True
    if a.kind != b.kind or not a.is_nested or len(a.args) != len(b.args):
        return False
    if a.kind == "struct":
        return all(same_shape(x, y) for (_, x), (_, y) in zip(a.args, b.args, strict=True))
    return all(same_shape(x, y) for x, y in zip(a.args, b.args, strict=True))


def set_operation_type(a: DataType, b: DataType) -> DataType | None:
    """The type of a column of UNION, INTERSECT or EXCEPT; None where there is no common type."""
    return common_type(a, b) or (a if same_shape(a, b) else None)


def is_orderable(kind: DataType) -> bool:
    """Whether values can be compared, sorted and grouped; what is not known can."""
    if kind.kind in ("map", "variant", "interval"):
        return False
    if kind.kind == "array":
        return is_orderable(kind.args[0])
    return kind.kind != "struct" or all(is_orderable(field) for _, field in kind.args)


def is_comparable_in_rows(kind: DataType) -> bool:
    """Whether DISTINCT and set operations can compare rows with such a column; what is not known can."""
    return not kind.contains("map") and kind.kind != "variant"


def comparison_type(a: DataType, b: DataType) -> DataType | None:
    """What both sides of a comparison are cast to; None where they cannot be compared."""
    if a == b or same_shape(a, b):
        return a if is_orderable(a) else None
    merged = type_read_from_text(a, b) or _wider_number(a, b) or tightest_common_type(a, b)
    return merged if merged is not None and is_orderable(merged) else None


def comparable(a: DataType, b: DataType) -> bool:
    """Whether `a = b` and `a < b` are allowed."""
    return not (a.known and b.known) or comparison_type(a, b) is not None


def can_cast_implicitly(source: DataType, target: DataType) -> bool:
    """Whether Spark casts a value implicitly to the type that a function expects (strings apart)."""
    if source == target or source.kind in ("void", "?") or target.kind == "?":
        return True
    if source.is_numeric and target.is_numeric:
        return True
    if target.kind == "string":
        return _is_atomic(source) or source.kind == "interval"
    if source.is_temporal:
        return target.is_temporal
    return _inner(source, target, can_cast_implicitly)


def _inner(source: DataType, target: DataType, rule: Callable[[DataType, DataType], bool]) -> bool:
    if source.kind != target.kind or not source.is_nested or len(source.args) != len(target.args):
        return False
    if source.kind == "struct":
        return all(rule(a, b) for (_, a), (_, b) in zip(source.args, target.args, strict=True))
    return all(rule(a, b) for a, b in zip(source.args, target.args, strict=True))


def can_cast(source: DataType, target: DataType) -> bool:
    """Whether CAST is allowed for these types; single values may still fail."""
    if source == target or source.kind in ("void", "?") or target.kind in ("string", "?"):
        return True
    if source.kind == "string":
        return _is_atomic(target) or target.kind == "interval"
    if "variant" in (source.kind, target.kind):
        return _fits_variant(target, True) if source.kind == "variant" else _fits_variant(source, False)
    if source.is_numeric:
        exact = source.kind not in ("float", "double")
        return target.is_numeric or target.kind in ("boolean", "timestamp") or (exact and is_interval(target))
    if source.kind == "boolean":
        return target.is_numeric
    if source.is_temporal:
        return target.is_temporal or (source.kind == "timestamp" and target.is_numeric)
    if is_interval(source):
        exact = target.is_numeric and target.kind not in ("float", "double")
        return exact or interval_hull(source, target) is not None
    return _inner(source, target, can_cast)


def _fits_variant(kind: DataType, nested: bool) -> bool:
    match kind.kind:
        case "array":
            return _fits_variant(kind.args[0], nested)
        case "map":
            return nested and kind.args[0].kind in ("string", "?") and _fits_variant(kind.args[1], nested)
        case "struct":
            return nested and all(_fits_variant(field, nested) for _, field in kind.args)
        case "void":
            return False
        case _:
            return kind.kind != "interval" and not is_interval(kind)


def cast_may_give_null(source: DataType, target: DataType) -> bool:
    """Whether Spark treats a cast as one that may give NULL for a value that is not NULL."""
    a, b = source.kind, target.kind
    if source == target or a in ("void", "?") or b in ("string", "?"):
        return False
    if a == "variant":
        return True
    if a == "string":
        return b != "binary"
    if a == "timestamp" and b in ("tinyint", "smallint", "int"):
        return True
    if a in ("float", "double") and (b == "timestamp" or target.is_integral):
        return True
    if b == "date":
        return a != "timestamp"
    if a == "date":
        return b != "timestamp"
    if b == "interval":
        return True
    if b == "decimal":
        return not _fits(source, target)
    return a == "decimal" and target.is_integral


def _fits(source: DataType, target: DataType) -> bool:
    """Whether every value fits in the decimal."""
    precision, scale = target.args
    if source.kind == "boolean":
        return bool(precision - scale >= 1)
    if source.is_integral:
        return bool(precision - scale >= decimal_for(source).args[0])
    if source.kind == "decimal":
        digits = source.args[0] - source.args[1]
        return bool((precision - scale >= digits and scale >= source.args[1]) or precision - scale > digits)
    return False
