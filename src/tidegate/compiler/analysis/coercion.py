"""Which types go together, as Spark decides with ANSI mode on: common types, comparisons, casts, arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tidegate.datatypes import (
    ANY,
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
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
    "arithmetic",
    "bitwise",
    "can_assign",
    "can_cast",
    "common_type",
    "common_type_of",
    "comparable",
    "compared_as",
    "concatenated",
    "decimal_for",
    "interval_of",
    "is_day_time",
    "is_interval",
    "is_orderable",
    "is_year_month",
    "logical",
    "may_fail",
    "negated",
    "same_shape",
    "strict_common_type_of",
    "tightest",
    "widened",
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
_STAMPS = frozenset({"timestamp", "timestamp_ntz"})
_NESTED = frozenset({"array", "map", "struct"})
_MOST_DIGITS = 38
_LEAST_KEPT_SCALE = 6


def is_day_time(kind: DataType) -> bool:
    return kind.kind in _DAY_TIMES


def is_year_month(kind: DataType) -> bool:
    return kind.kind in _YEAR_MONTHS


def is_interval(kind: DataType) -> bool:
    """Of one of the two ANSI families; the old calendar interval is none of these."""
    return kind.kind in _DAY_TIMES or kind.kind in _YEAR_MONTHS


def _is_atomic(kind: DataType) -> bool:
    return kind.kind not in _NESTED and kind.kind not in ("interval", "void", "?")


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


def _hull(a: DataType, b: DataType) -> DataType | None:
    """The interval that holds both; None for intervals of different families."""
    for spans, names in ((_DAY_TIMES, _DAY_TIME), (_YEAR_MONTHS, _YEAR_MONTH)):
        if a.kind in spans and b.kind in spans:
            (low, high), (other_low, other_high) = spans[a.kind], spans[b.kind]
            return interval_of(names[min(low, other_low)], names[max(high, other_high)])
    return None


def decimal_for(kind: DataType) -> DataType:
    """The decimal that holds every value of a whole number's type (or, nearly, of a float's)."""
    if kind.kind in _DIGITS:
        return decimal(_DIGITS[kind.kind], 0)
    return {"float": decimal(14, 7), "double": decimal(30, 15)}.get(kind.kind, kind)


def _wider_decimal(a: DataType, b: DataType) -> DataType:
    scale = max(a.args[1], b.args[1])
    precision = scale + max(a.args[0] - a.args[1], b.args[0] - b.args[1])
    if precision <= _MOST_DIGITS:
        return decimal(precision, scale)
    return decimal(_MOST_DIGITS, max(scale - (precision - _MOST_DIGITS), 0))


def _nested(a: DataType, b: DataType, merge: Callable[[DataType, DataType], DataType | None]) -> DataType | None:
    if a.kind != b.kind:
        return None
    if a.kind == "array":
        element = merge(a.args[0], b.args[0])
        return element and array(element)
    if a.kind == "map":
        key, value = merge(a.args[0], b.args[0]), merge(a.args[1], b.args[1])
        if key is None or value is None or any(may_fail(kind, key) for kind in (a.args[0], b.args[0])):
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


def tightest(a: DataType, b: DataType) -> DataType | None:
    """The common type that loses nothing and reads no text: what both sides of an operator are cast to."""
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
        return tightest(b, a)
    if a.kind in _MOMENTS and b.kind in _MOMENTS:
        return TIMESTAMP if "timestamp" in (a.kind, b.kind) else TIMESTAMP_NTZ
    return _hull(a, b) or _nested(a, b, tightest)


def _wider_number(a: DataType, b: DataType) -> DataType | None:
    if "decimal" not in (a.kind, b.kind):
        return None
    other = b if a.kind == "decimal" else a
    if other.kind in ("float", "double"):
        return DOUBLE
    if other.kind == "decimal" or other.kind in _DIGITS:
        return _wider_decimal(decimal_for(a), decimal_for(b))
    return None


def _read_text(a: DataType, b: DataType) -> DataType | None:
    """Where one of two is text: what the text is read as."""
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
    """The type that both become in CASE, COALESCE, an array, a set operation; None where there is none."""
    if a is b:
        return a
    return tightest(a, b) or _wider_number(a, b) or _read_text(a, b) or _nested(a, b, common_type)


def _without_text(a: DataType, b: DataType) -> DataType | None:
    return tightest(a, b) or _wider_number(a, b) or _nested(a, b, _without_text)


def common_type_of(types: Iterable[DataType]) -> DataType | None:
    return _fold(types, common_type)


def strict_common_type_of(types: Iterable[DataType]) -> DataType | None:
    """For greatest() and least(), which read no text."""
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
    if a.kind != b.kind or a.kind not in _NESTED or len(a.args) != len(b.args):
        return False
    if a.kind == "struct":
        return all(same_shape(x, y) for (_, x), (_, y) in zip(a.args, b.args, strict=True))
    return all(same_shape(x, y) for x, y in zip(a.args, b.args, strict=True))


def widened(a: DataType, b: DataType) -> DataType | None:
    """The type of a column of UNION, INTERSECT or EXCEPT; None where the two do not go together."""
    return common_type(a, b) or (a if same_shape(a, b) else None)


def is_orderable(kind: DataType) -> bool:
    """Whether values can be compared, sorted and grouped; what is not known can."""
    if kind.kind in ("map", "variant", "interval"):
        return False
    if kind.kind == "array":
        return is_orderable(kind.args[0])
    return kind.kind != "struct" or all(is_orderable(field) for _, field in kind.args)


def compared_as(a: DataType, b: DataType) -> DataType | None:
    """What both sides of a comparison are cast to; None where they cannot be compared."""
    if a == b or same_shape(a, b):
        return a if is_orderable(a) else None
    merged = _read_text(a, b) or _wider_number(a, b) or tightest(a, b)
    return merged if merged is not None and is_orderable(merged) else None


def comparable(a: DataType, b: DataType) -> bool:
    """Whether `a = b` and `a < b` are allowed."""
    return not (a.known and b.known) or compared_as(a, b) is not None


def can_assign(source: DataType, target: DataType) -> bool:
    """Whether a value is cast silently to what a function expects (text apart: it is read as any plain type)."""
    if source == target or source.kind in ("void", "?") or target.kind == "?":
        return True
    if source.is_numeric and target.is_numeric:
        return True
    if target.kind == "string":
        return _is_atomic(source) or source.kind == "interval"
    if source.is_temporal:
        return target.is_temporal
    return _inner(source, target, can_assign)


def _inner(source: DataType, target: DataType, rule: Callable[[DataType, DataType], bool]) -> bool:
    if source.kind != target.kind or source.kind not in _NESTED or len(source.args) != len(target.args):
        return False
    if source.kind == "struct":
        return all(rule(a, b) for (_, a), (_, b) in zip(source.args, target.args, strict=True))
    return all(rule(a, b) for a, b in zip(source.args, target.args, strict=True))


def can_cast(source: DataType, target: DataType) -> bool:
    """Whether CAST is allowed at all; that each value can be cast is another matter."""
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
        return exact or _hull(source, target) is not None
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


def may_fail(source: DataType, target: DataType) -> bool:
    """Whether Spark takes a cast to give NULL for some value that is not."""
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


def _adjusted(precision: int, scale: int) -> DataType:
    """Within 38 digits; digits before the point are kept, and up to six after it."""
    if precision <= _MOST_DIGITS:
        return decimal(precision, scale)
    whole = precision - scale
    return decimal(_MOST_DIGITS, max(_MOST_DIGITS - whole, min(scale, _LEAST_KEPT_SCALE)))


def _decimal_result(operator: str, a: DataType, b: DataType) -> DataType:
    (p1, s1), (p2, s2) = a.args, b.args
    if operator in ("+", "-"):
        return _adjusted(max(p1 - s1, p2 - s2) + max(s1, s2) + 1, max(s1, s2))
    if operator == "*":
        return _adjusted(p1 + p2 + 1, s1 + s2)
    if operator == "/":
        scale = max(_LEAST_KEPT_SCALE, s1 + p2 + 1)
        return _adjusted(p1 - s1 + s2 + scale, scale)
    return _adjusted(min(p1 - s1, p2 - s2) + max(s1, s2), max(s1, s2))


def arithmetic(operator: str, a: DataType, b: DataType, digits: tuple[int, int] = (0, 0)) -> DataType | None:
    """The type of `a operator b` for + - * / % and div; None where Spark refuses it.

    `digits`: how many digits each side has where it is a whole number written in the query, else 0. Spark takes
    the digits of such a number, and not all those of its type, beside a decimal.
    """
    if a.kind == "?" or b.kind == "?":
        return _half_known(operator, a, b)
    moments = _with_moments(operator, a, b)
    if moments is not None:
        return moments if moments is not VOID else None
    if "string" in (a.kind, b.kind):
        read = _read_text(a, b)
        if read is None or not (read.is_numeric or read.kind == "void"):
            return None
        a = b = read
    if not all(kind.is_numeric or kind.kind == "void" for kind in (a, b)):
        return None
    if operator == "div":
        return BIGINT if not {a.kind, b.kind} & {"float", "double"} else None
    if "decimal" in (a.kind, b.kind):
        return _with_decimal(operator, a, b, digits)
    if operator == "/":
        return DOUBLE
    if a.kind == b.kind == "void":
        return DOUBLE
    return tightest(a, b)


def _with_decimal(operator: str, a: DataType, b: DataType, digits: tuple[int, int]) -> DataType:
    if {a.kind, b.kind} & {"float", "double"} or (operator == "/" and a.kind == "void"):
        return DOUBLE
    if a.kind == "void":
        a = b
    if b.kind == "void":
        b = a
    if a.kind != "decimal":
        a = decimal(digits[0], 0) if digits[0] else decimal_for(a)
    if b.kind != "decimal":
        b = decimal(digits[1], 0) if digits[1] else decimal_for(b)
    return _decimal_result(operator, a, b)


def _half_known(operator: str, a: DataType, b: DataType) -> DataType:
    """With one side unknown: a double makes a double, unless the other side is an interval that it scales."""
    if operator == "div":
        return BIGINT
    if operator in ("+", "-", "%") and "double" in (a.kind, b.kind):
        return DOUBLE
    return DOUBLE if operator == "/" and a.kind == "double" else ANY


def _with_moments(operator: str, a: DataType, b: DataType) -> DataType | None:
    """Arithmetic with dates, times and intervals. None: there are none in it; VOID: it is not allowed."""
    if not any(_is_moment(kind) for kind in (a, b)):
        return None
    match operator:
        case "+":
            return _moved(a, b) or _moved(b, a) or _sum_of_intervals(a, b) or VOID
        case "-":
            return _difference(a, b) or VOID
        case "*":
            return _scaled(a, b) or _scaled(b, a) or VOID
        case "/":
            return _scaled(a, b) or VOID
        case "div":
            same = (is_day_time(a) and is_day_time(b)) or (is_year_month(a) and is_year_month(b))
            with_null = "void" in (a.kind, b.kind) and (is_interval(a) or is_interval(b))
            return BIGINT if same or with_null else VOID
        case _:
            return VOID


def _is_moment(kind: DataType) -> bool:
    return kind.is_temporal or is_interval(kind) or kind.kind == "interval"


def _moved(moment: DataType, by: DataType) -> DataType | None:
    """A moment plus something."""
    if moment.kind == "date":
        if is_day_time(by):
            return DATE if by.kind == "interval day" else TIMESTAMP
        if is_year_month(by) or by.kind in ("interval", "tinyint", "smallint", "int"):
            return DATE
        return TIMESTAMP if by.kind == "void" else None
    if moment.kind in _STAMPS:
        return moment if is_interval(by) or by.kind in ("interval", "void") else None
    if moment.kind == "string":
        return STRING if is_day_time(by) or by.kind == "interval" else None
    return None


def _sum_of_intervals(a: DataType, b: DataType) -> DataType | None:
    if a.kind == b.kind == "interval":
        return a
    if "void" in (a.kind, b.kind):
        other = b if a.kind == "void" else a
        return other if is_interval(other) else None
    return _hull(a, b)


def _difference(a: DataType, b: DataType) -> DataType | None:
    if is_interval(b) or b.kind == "interval":
        return _moved(a, b) or _sum_of_intervals(a, b)
    if a.kind in _STAMPS or b.kind in _STAMPS:
        fits = {"timestamp", "timestamp_ntz", "date", "string", "void"}
        return DAY_TO_SECOND if a.kind in fits and b.kind in fits else None
    if b.kind == "date":
        return DataType("interval day") if a.kind in ("date", "string", "void") else None
    if a.kind == "date":
        if b.kind in ("void", "string"):
            return DataType("interval day")
        return DATE if b.kind in ("tinyint", "smallint", "int") else None
    if a.kind == "interval" and b.kind == "void":
        return a
    return _sum_of_intervals(a, b) if b.kind == "void" else None


def _scaled(interval: DataType, by: DataType) -> DataType | None:
    if not (by.is_numeric or by.kind in ("string", "void")):
        return None
    if interval.kind == "interval":
        return interval
    if is_year_month(interval):
        return DataType("interval year to month")
    return DAY_TO_SECOND if is_day_time(interval) else None


def negated(kind: DataType) -> DataType | None:
    """The type of `-x`."""
    if kind.kind in ("string", "void"):
        return DOUBLE
    fits = kind.is_numeric or kind.kind in ("?", "interval") or is_interval(kind)
    return kind if fits else None


def bitwise(a: DataType, b: DataType) -> DataType | None:
    """The type of & | ^."""
    if "?" in (a.kind, b.kind):
        return ANY
    merged = _read_text(a, b) or tightest(a, b)
    if merged is VOID:
        return INT
    return merged if merged is not None and merged.is_integral else None


def logical(a: DataType, b: DataType = BOOLEAN) -> bool:
    """Whether AND and OR take them, or NOT takes it. Text is read as a boolean beside one."""
    kinds = {a.kind, b.kind}
    return kinds <= {"boolean", "string", "void", "?"} and ("string" not in kinds or bool(kinds & {"boolean", "?"}))


def concatenated(types: Iterable[DataType]) -> DataType | None:
    """The type of concat() and ||."""
    kinds = list(types)
    if any(kind.kind == "?" for kind in kinds):
        return ANY
    if kinds and all(kind.kind == "array" for kind in kinds):
        return common_type_of(kinds)
    if kinds and all(kind == BINARY for kind in kinds):
        return BINARY
    return STRING if all(can_assign(kind, STRING) for kind in kinds) else None
