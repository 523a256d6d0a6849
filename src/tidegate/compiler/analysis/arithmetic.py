"""Result types of operators, as in Spark with ANSI mode on: arithmetic of numbers, times, intervals; bits; logic."""

from __future__ import annotations

from collections.abc import Iterable

from tidegate.compiler.analysis.coercion import (
    DAY_TO_SECOND,
    MOST_DIGITS,
    can_cast_implicitly,
    common_type_of,
    decimal_for,
    interval_hull,
    is_day_time,
    is_interval,
    is_year_month,
    tightest_common_type,
    type_read_from_text,
)
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
    VOID,
    DataType,
    decimal,
)

__all__ = ["arithmetic_type", "bitwise_type", "concatenated_type", "negated_type", "takes_booleans"]

_STAMPS = frozenset({"timestamp", "timestamp_ntz"})
_LEAST_KEPT_SCALE = 6


def _adjusted(precision: int, scale: int) -> DataType:
    """Within 38 digits; digits before the point are kept, and up to six after it."""
    if precision <= MOST_DIGITS:
        return decimal(precision, scale)
    whole = precision - scale
    return decimal(MOST_DIGITS, max(MOST_DIGITS - whole, min(scale, _LEAST_KEPT_SCALE)))


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


def arithmetic_type(operator: str, a: DataType, b: DataType, digits: tuple[int, int] = (0, 0)) -> DataType | None:
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
        read = type_read_from_text(a, b)
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
    return tightest_common_type(a, b)


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
    """With one side unknown: a double gives a double, unless it may scale an interval."""
    if operator == "div":
        return BIGINT
    if operator in ("+", "-", "%") and "double" in (a.kind, b.kind):
        return DOUBLE
    return DOUBLE if operator == "/" and a.kind == "double" else ANY


def _with_moments(operator: str, a: DataType, b: DataType) -> DataType | None:
    """Arithmetic with dates, times and intervals. None: neither side is one; VOID: not allowed."""
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
    return interval_hull(a, b)


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


def negated_type(kind: DataType) -> DataType | None:
    """The type of `-x`."""
    if kind.kind in ("string", "void"):
        return DOUBLE
    fits = kind.is_numeric or kind.kind in ("?", "interval") or is_interval(kind)
    return kind if fits else None


def bitwise_type(a: DataType, b: DataType) -> DataType | None:
    """The type of & | ^."""
    if "?" in (a.kind, b.kind):
        return ANY
    merged = type_read_from_text(a, b) or tightest_common_type(a, b)
    if merged is VOID:
        return INT
    return merged if merged is not None and merged.is_integral else None


def takes_booleans(a: DataType, b: DataType = BOOLEAN) -> bool:
    """Whether AND and OR take both, or NOT takes `a`. A string beside a boolean is cast to one."""
    kinds = {a.kind, b.kind}
    return kinds <= {"boolean", "string", "void", "?"} and ("string" not in kinds or bool(kinds & {"boolean", "?"}))


def concatenated_type(types: Iterable[DataType]) -> DataType | None:
    """The type of concat() and ||."""
    kinds = list(types)
    if any(kind.kind == "?" for kind in kinds):
        return ANY
    if kinds and all(kind.kind == "array" for kind in kinds):
        return common_type_of(kinds)
    if kinds and all(kind == BINARY for kind in kinds):
        return BINARY
    return STRING if all(can_cast_implicitly(kind, STRING) for kind in kinds) else None
