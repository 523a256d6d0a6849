"""Functions of numbers and bits."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from tidegate.compiler.analysis.coercion import common_type, decimal_for
from tidegate.compiler.analysis.expressions.typed import Typed
from tidegate.compiler.analysis.functions.function import (
    ALWAYS,
    NEVER,
    UNSURE,
    Function,
    FunctionCall,
    define,
)
from tidegate.compiler.analysis.functions.result_rules import extreme, number, operator, same_number
from tidegate.datatypes import ANY, BIGINT, BINARY, BOOLEAN, DOUBLE, FLOAT, INT, STRING, TINYINT, DataType, decimal

__all__ = ["NUMBERS"]

_MOST_DIGITS = 38


def _rounded_to_whole(call: FunctionCall) -> DataType:
    """ceil() and floor() of one argument; with a second they give a decimal."""
    kind = call.type(0)
    if len(call.nodes) > 1:
        return _rounded_decimal(_as_decimal(kind), call)
    if kind.kind == "?":
        return ANY
    if kind.kind != "decimal":
        return BIGINT
    precision, scale = kind.args
    return decimal(precision if scale == 0 else precision - scale + 1, 0)


def _as_decimal(kind: DataType) -> DataType:
    """Text is read as the largest decimal there is."""
    if kind.kind == "string":
        return decimal(_MOST_DIGITS, 18)
    return decimal_for(kind) if kind.is_numeric else ANY


def _rounded(call: FunctionCall) -> DataType:
    kind = number(call.type(0))
    return _rounded_decimal(kind, call) if kind.kind == "decimal" else kind


def _rounded_decimal(kind: DataType, call: FunctionCall) -> DataType:
    wanted = _whole_number(call.nodes[1]) if len(call.nodes) > 1 else 0
    if wanted is None or kind.kind != "decimal":
        return ANY
    precision, scale = kind.args
    whole = precision - scale + 1
    if wanted < 0:
        return decimal(min(max(whole, 1 - wanted), _MOST_DIGITS), 0)
    digits = min(scale, wanted)
    return decimal(min(whole + digits, _MOST_DIGITS), digits)


def _whole_number(node: Any) -> int | None:
    """A whole number as it is written in the query."""
    negative = type(node) is exp.Neg
    inner = node.this if negative else node
    if type(inner) is not exp.Literal or inner.is_string or not inner.this.isdecimal():
        return None
    return -int(inner.this) if negative else int(inner.this)


def _shifted(call: FunctionCall) -> DataType:
    kind = call.type(0)
    if kind.kind in ("bigint", "?"):
        return kind
    return INT if kind.is_integral or kind.kind in ("void", "string") else ANY


def _not_a_number(call: FunctionCall) -> DataType:
    """Floats stay floats; every other number is a double."""
    kinds = {call.type(0).kind, call.type(1).kind}
    if kinds <= {"float", "void"}:
        return FLOAT if kinds == {"float"} else ANY
    return ANY if "?" in kinds else DOUBLE


def _uniform(call: FunctionCall) -> DataType:
    a, b = call.type(0), call.type(1)
    if not (a.is_numeric and b.is_numeric) or "decimal" in (a.kind, b.kind):
        return ANY
    for kind in ("double", "float", "bigint", "int", "smallint"):
        if kind in (a.kind, b.kind):
            return a if a.kind == kind else b
    return a


def _to_number(call: FunctionCall) -> DataType:
    """The format determines the number of digits."""
    pattern = (call.text(1) or "").upper().replace("D", ".")
    if not pattern or not set(pattern) <= set("09.,G$SMIPRL<> "):
        return ANY
    whole, _, part = pattern.partition(".")
    digits = [sum(char in "09" for char in side) for side in (whole, part)]
    return decimal(sum(digits), digits[1]) if 0 < sum(digits) <= _MOST_DIGITS else ANY


def _not_zero(call: FunctionCall) -> Typed:
    return Typed(call.type(0), True)


def _zero_if_null(call: FunctionCall) -> DataType | Typed:
    merged = common_type(call.type(0), INT)
    return (
        Typed(merged, False) if merged is not None else call.report_mismatch(f"zeroifnull does not take {call.type(0)}")
    )


def _absolute(call: FunctionCall) -> DataType | Typed:
    if call.type(0).kind == "interval":
        return call.report_mismatch("abs does not take interval")
    return same_number(call)


NUMBERS: list[Function] = [
    *define(
        "acos acosh asin asinh atan atanh cbrt cos cosh cot csc degrees exp expm1", DOUBLE, 1, nulls=ALWAYS, takes="d"
    ),
    *define("radians rint sec sin sinh sqrt tan tanh", DOUBLE, 1, nulls=ALWAYS, takes="d"),
    *define("sign signum", DOUBLE, 1, nulls=ALWAYS, takes="g"),
    *define("atan2 hypot pow power", DOUBLE, 2, takes="d"),
    *define("ln log10 log1p log2", DOUBLE, 1, nulls=ALWAYS, takes="d"),
    *define("log", DOUBLE, 1, 2, nulls=ALWAYS, takes="d"),
    *define("e pi", DOUBLE, 0, nulls=NEVER),
    *define("rand random randn", DOUBLE, 0, 1, nulls=NEVER),
    *define("uniform", _uniform, 2, 3, nulls=NEVER),
    *define("abs", _absolute, 1),
    *define("negative positive", same_number, 1),
    *define("ceil ceiling floor", _rounded_to_whole, 1, 2, nulls=ALWAYS, takes="n"),
    *define("round bround", _rounded, 1, 2, nulls=ALWAYS, takes="n"),
    *define("factorial", BIGINT, 1, nulls=ALWAYS, takes="i"),
    *define("mod pmod try_mod", operator("%"), 2, nulls=ALWAYS),
    *define("div", operator("div"), 2, nulls=ALWAYS),
    *define("try_add", operator("+"), 2, nulls=ALWAYS),
    *define("try_subtract", operator("-"), 2, nulls=ALWAYS),
    *define("try_multiply", operator("*"), 2, nulls=ALWAYS),
    *define("try_divide", operator("/"), 2, nulls=ALWAYS),
    *define("greatest least", extreme, 2, None),
    *define("bin", STRING, 1, takes="l"),
    *define("conv", STRING, 3, nulls=ALWAYS, takes="sii"),
    *define("hex", STRING, 1, nulls=UNSURE, takes="s"),
    *define("unhex", BINARY, 1, nulls=ALWAYS, takes="s"),
    *define("bit_count", INT, 1, nulls=UNSURE),
    *define("bit_get getbit", TINYINT, 2, nulls=UNSURE, takes="Ii"),
    *define("shiftleft shiftright shiftrightunsigned", _shifted, 2, nulls=UNSURE),
    *define("isnan", BOOLEAN, 1, nulls=NEVER, takes="d"),
    *define("nanvl", _not_a_number, 2, takes="d"),
    *define("nullifzero", _not_zero, 1),
    *define("zeroifnull", _zero_if_null, 1),
    *define("width_bucket", BIGINT, 4, nulls=ALWAYS),
    *define("format_number", STRING, 2, nulls=ALWAYS),
    *define("to_number", _to_number, 2, takes="s"),
    *define("try_to_number", _to_number, 2, nulls=ALWAYS, takes="s"),
    *define("bitmap_bit_position bitmap_bucket_number", BIGINT, 1, takes="l"),
    *define("bitmap_count", BIGINT, 1, takes="x"),
]
