"""What to know of a column's numbers to know that a rule holds; None where Spark may compare them in another way."""

from __future__ import annotations

import re
import sys
from fractions import Fraction

from tidegate.checks.parameters import Arguments
from tidegate.checks.values import Within

__all__ = ["between", "compared", "finite"]

_PLAIN = re.compile(r"[+-]?\d+(\.\d+)?")
_EXACT_DIGITS = 18


def compared(given: Arguments, operator: str, value: str) -> Within | None:
    limit = _limit(given, value)
    if limit is None:
        return None
    column = given.name()
    match operator:
        case "<" | "<=":
            return Within(column, high=limit, inside=operator == "<")
        case ">" | ">=":
            return Within(column, low=limit, inside=operator == ">")
        case "=":
            return Within(column, limit, limit)
        case _:
            return None


def between(given: Arguments, low: str, high: str) -> Within | None:
    least, most = _limit(given, low), _limit(given, high)
    return None if least is None or most is None else Within(given.name(), least, most)


def finite(column: str) -> Within:
    most = Fraction(sys.float_info.max)
    return Within(column, -most, most)


def _limit(given: Arguments, name: str) -> Fraction | None:
    kind, text = given.type(), given.texts[name].strip()
    if not _PLAIN.fullmatch(text) or sum(map(str.isdigit, text)) > _EXACT_DIGITS:
        return None
    if kind.kind == "double":
        return Fraction(float(text))  # as Spark takes it
    exact = kind.is_integral or (kind.kind == "decimal" and kind.args[0] <= _EXACT_DIGITS)
    return Fraction(text) if exact else None
