"""The types of values as they are written in a query."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from tidegate.compiler.analysis.coercion import interval_of
from tidegate.datatypes import ANY, BIGINT, DOUBLE, INT, STRING, DataType, decimal

__all__ = ["interval_type", "is_typed_literal", "literal_type", "number_type", "whole_digits"]

_LARGEST_INT = 2**31 - 1
_LARGEST_BIGINT = 2**63 - 1
_SHORT = 9
"""Numbers of so many digits are an int, whatever their sign."""

_WHOLE = frozenset({exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT})


def literal_type(node: Any) -> DataType:
    return STRING if node.args["is_string"] else number_type(node.this)


def number_type(text: str, negative: bool = False) -> DataType:
    """1 is an int, 3000000000 a bigint, 1.50 a decimal(3,2), 1e3 a double."""
    if text.isdecimal():
        if len(text) <= _SHORT:
            return INT
        value = int(text) - negative
        if value <= _LARGEST_INT:
            return INT
        if value <= _LARGEST_BIGINT:
            return BIGINT
        return decimal(len(str(value)), 0) if len(str(value)) <= 38 else ANY
    if "e" in text or "E" in text:
        return DOUBLE
    whole, _, part = text.partition(".")
    if not (whole + part).isdecimal():
        return ANY
    digits = len((whole + part).lstrip("0")) or 1
    precision = max(digits, len(part))
    return decimal(precision, len(part)) if precision <= 38 else ANY


def is_typed_literal(node: Any) -> bool:
    """A cast that is how the parser writes a literal: `1L`, `2.5D`, `DATE '2026-01-01'`."""
    inner = node.this
    if type(inner) is not exp.Literal:
        return False
    if type(node) is exp.Cast:
        return bool(inner.args["is_string"]) and not node.meta.get("start")
    if node.args.get("safe") or "safe" in node.args:
        return False
    meta = inner.meta
    if not meta:
        return bool(inner.args["is_string"])
    # The token of `1L` is longer than its number.
    return not inner.args["is_string"] and meta["end"] - meta["start"] + 1 > len(inner.this)


def whole_digits(node: Any) -> int:
    """How many digits a whole number written in the query has; 0 for anything else."""
    what = type(node)
    while what is exp.Paren:
        node = node.this
        what = type(node)
    if what is exp.Neg:
        node = node.this
        what = type(node)
    if what is exp.TryCast and node.to.this in _WHOLE and is_typed_literal(node):
        node = node.this
        what = type(node)
    if what is not exp.Literal or node.args["is_string"] or not node.this.isdecimal():
        return 0
    return len(node.this.lstrip("0")) or 1


def interval_type(node: Any) -> DataType:
    """INTERVAL '1' DAY, INTERVAL '1-2' YEAR TO MONTH, INTERVAL '1 day 2 hours'."""
    unit = node.args.get("unit")
    if unit is None:
        return _units_in_text(node.this)
    inner = node.this
    if type(inner) is exp.Neg:
        inner = inner.this
    if type(inner) is not exp.Literal:
        return ANY
    if type(unit) is exp.IntervalSpan:
        return interval_of(unit.this.name, unit.expression.name) or ANY
    return interval_of(unit.name) or ANY


def _units_in_text(node: Any) -> DataType:
    if type(node) is not exp.Literal or not node.is_string:
        return ANY
    units = [word for word in node.this.lower().removeprefix("interval ").split() if word.isalpha()]
    return (interval_of(units[0], units[-1]) or ANY) if units else ANY
