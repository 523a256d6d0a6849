"""Arithmetic, comparisons and logic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from tidegate.compiler.analysis.arithmetic import (
    arithmetic_type,
    bitwise_type,
    concatenated_type,
    negated_type,
    takes_booleans,
)
from tidegate.compiler.analysis.coercion import common_type_of, comparable, comparison_type, decimal_for, same_shape
from tidegate.compiler.analysis.expressions.typed import (
    ExpressionScope,
    Rule,
    Typed,
    any_null,
    any_nullable,
    cast_nullable,
    mismatch,
    number_type,
    type_of,
    whole_digits,
)
from tidegate.compiler.analysis.functions.function import accepts
from tidegate.datatypes import ANY, BOOLEAN, DataType

__all__ = ["OPERATORS", "check_comparable"]

_NOT_NULL_BOOLEAN = Typed(BOOLEAN, False)

_SYMBOLS: dict[type, str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.IntDiv: "div",
}
_MAY_FAIL_TO_NULL = frozenset({exp.Div, exp.Mod, exp.IntDiv})


def _arithmetic(node: Any, scope: ExpressionScope) -> Typed:
    """In a loop along the left side, because sums can be longer than the recursion limit."""
    spine = []
    while type(node) in _SYMBOLS:
        spine.append(node)
        node = node.this
    left = type_of(node, scope)
    digits = whole_digits(node)
    for operation in reversed(spine):
        symbol = _SYMBOLS[type(operation)]
        other = operation.expression
        right = type_of(other, scope)
        written = (digits, whole_digits(other))
        kind = arithmetic_type(symbol, left.type, right.type, written)
        digits = 0
        if kind is None:
            message = f"'{symbol}' cannot be applied to {left.type} and {right.type}"
            left = mismatch(operation, scope, message, _advice(left.type, right.type))
            continue
        left = Typed(kind, _arithmetic_nullable(operation, left, right, written))
    return left


def _arithmetic_nullable(node: Any, left: Typed, right: Typed, written: tuple[int, int]) -> bool | None:
    if type(node) in _MAY_FAIL_TO_NULL or "string" in (left.type.kind, right.type.kind):
        return True
    # Beside a decimal, Spark casts a literal to a decimal of as few digits as it has, and treats that cast as nullable.
    for one, other, digits in ((left, right, written[1]), (right, left, written[0])):
        if one.type.kind == "decimal" and 0 < digits < decimal_for(other.type).args[0]:
            return True
    nullable = any_nullable(value.nullable for value in (left, right))
    return nullable if nullable or (left.type.is_numeric and right.type.is_numeric) else None


def _advice(a: DataType, b: DataType) -> str | None:
    return "cast the boolean to int" if "boolean" in (a.kind, b.kind) and (a.is_numeric or b.is_numeric) else None


def _neg(node: Any, scope: ExpressionScope) -> Typed:
    inner = node.this
    if type(inner) is exp.Literal and not inner.args["is_string"]:
        return Typed(number_type(inner.this, negative=True), False)
    typed = type_of(inner, scope)
    kind = negated_type(typed.type)
    if kind is None:
        return mismatch(node, scope, f"'-' cannot be applied to {typed.type}")
    return Typed(kind, True if typed.type.kind == "string" else typed.nullable)


def _bitwise(node: Any, scope: ExpressionScope) -> Typed:
    left, right = type_of(node.this, scope), type_of(node.expression, scope)
    kind = bitwise_type(left.type, right.type)
    if kind is None:
        return mismatch(node, scope, f"bits of {left.type} and {right.type} cannot be combined")
    return Typed(kind, any_null((left, right), kind))


def _bitwise_not(node: Any, scope: ExpressionScope) -> Typed:
    typed = type_of(node.this, scope)
    if typed.type.is_integral or typed.type.kind == "?":
        return typed
    if typed.type.kind == "void":
        return Typed(ANY, True)
    return mismatch(node, scope, f"'~' cannot be applied to {typed.type}")


def _concatenation(node: Any, scope: ExpressionScope) -> Typed:
    operands = []
    while type(node) is exp.DPipe:
        operands.append(node.expression)
        node = node.this
    left = type_of(node, scope)
    for operand in reversed(operands):
        right = type_of(operand, scope)
        kind = concatenated_type((left.type, right.type))
        if kind is None:
            left = mismatch(operand, scope, f"{left.type} and {right.type} cannot be concatenated")
        else:
            left = Typed(kind, any_nullable(value.nullable for value in (left, right)))
    return left


def _comparison(node: Any, scope: ExpressionScope) -> Typed:
    left, right = type_of(node.this, scope), type_of(node.expression, scope)
    check_comparable(left.type, right.type, node, scope)
    return Typed(BOOLEAN, _compared_nullable(left, right))


def _null_safe_comparison(node: Any, scope: ExpressionScope) -> Typed:
    _comparison(node, scope)
    return _NOT_NULL_BOOLEAN


def _compared_nullable(left: Typed, right: Typed) -> bool | None:
    target = comparison_type(left.type, right.type)
    return any_null((left, right), target if target is not None else ANY)


def check_comparable(a: DataType, b: DataType, node: Any, scope: ExpressionScope) -> None:
    if comparable(a, b):
        return
    if a == b:
        mismatch(node, scope, f"values of type {a} cannot be compared")
        return
    mismatch(node, scope, f"{a} cannot be compared with {b}", "cast one side to the other's type")


def _between(node: Any, scope: ExpressionScope) -> Typed:
    value = type_of(node.this, scope)
    low, high = type_of(node.args["low"], scope), type_of(node.args["high"], scope)
    for bound in (low, high):
        if not comparable(value.type, bound.type):
            check_comparable(value.type, bound.type, node, scope)
            break
    if value.nullable or low.nullable or high.nullable:
        return Typed(BOOLEAN, True)
    sides = [Typed(BOOLEAN, _compared_nullable(value, bound)) for bound in (low, high)]
    return Typed(BOOLEAN, any_nullable(value.nullable for value in sides))


def _in(node: Any, scope: ExpressionScope) -> Typed:
    value = type_of(node.this, scope)
    query = node.args.get("query")
    if query is not None:
        column = scope.subquery(query)
        expected = len(node.this.expressions) if type(node.this) is exp.Tuple else 1
        if (width := scope.width(query)) is not None and width != expected:
            columns = "1 column" if width == 1 else f"{width} columns"
            message = f"IN compares {expected} with the {columns} of a subquery"
            scope.report("ColumnCount", message, query, "select as many columns as are compared")
        elif expected == 1:
            _check_in(value.type, (column.type,), node, scope)
        return Typed(BOOLEAN)
    options = [type_of(option, scope) for option in node.expressions]
    _check_in(value.type, [option.type for option in options], node, scope)
    merged = common_type_of((value.type, *(option.type for option in options)))
    return Typed(BOOLEAN, any_null((value, *options), merged or ANY))


def _check_in(kind: DataType, options: Sequence[DataType], node: Any, scope: ExpressionScope) -> None:
    if not kind.known or not all(option.known for option in options):
        return
    alike = all(same_shape(kind, option) for option in options)
    merged = kind if alike else common_type_of((kind, *options))
    if merged is None:
        others = ", ".join(dict.fromkeys(map(str, options)))
        mismatch(node, scope, f"{kind} cannot be compared with {others}", "cast one side to the other's type")
    elif not comparable(merged, merged):
        mismatch(node, scope, f"values of type {merged} cannot be compared")


def _connector(node: Any, scope: ExpressionScope) -> Typed:
    """AND and OR, in a loop for the same reason."""
    operands = []
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if type(node) in (exp.And, exp.Or):
            waiting += [node.expression, node.this]
        else:
            operands.append(node)
    values = [type_of(operand, scope) for operand in operands]
    wrong = [place for place, typed in enumerate(values) if not takes_booleans(typed.type)]
    if not wrong and len(values) == 2 and not takes_booleans(values[0].type, values[1].type):
        wrong = [0 if values[0].type.kind == "string" else 1]
    for place in wrong:
        mismatch(operands[place], scope, f"AND and OR take booleans, and this is {values[place].type}")
    return Typed(BOOLEAN, any_null(values, BOOLEAN))


def _not(node: Any, scope: ExpressionScope) -> Typed:
    typed = type_of(node.this, scope)
    if not takes_booleans(typed.type):
        mismatch(node.this, scope, f"NOT takes a boolean, and this is {typed.type}")
    return Typed(BOOLEAN, cast_nullable(typed, BOOLEAN))


def _is(node: Any, scope: ExpressionScope) -> Typed:
    typed = type_of(node.this, scope)
    if type(node.expression) is exp.Boolean:
        check_comparable(typed.type, BOOLEAN, node, scope)
    return _NOT_NULL_BOOLEAN


def _like(node: Any, scope: ExpressionScope) -> Typed:
    value = type_of(node.this, scope)
    pattern = node.expression
    if type(pattern) in (exp.Any, exp.All):
        inner = pattern.this
        patterns = inner.expressions if type(inner) is exp.Tuple else [inner]
    else:
        patterns = [pattern]
    operands = [value, *(type_of(each, scope) for each in patterns)]
    for typed in operands:
        if not accepts("s", 0, typed.type):
            return mismatch(node, scope, f"LIKE takes text, and this is {typed.type}")
    return Typed(BOOLEAN, any_nullable(value.nullable for value in operands))


def _escape(node: Any, scope: ExpressionScope) -> Typed:
    type_of(node.expression, scope)
    return type_of(node.this, scope)


OPERATORS: dict[type, Rule] = {
    **dict.fromkeys(_SYMBOLS, _arithmetic),
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE), _comparison),
    **dict.fromkeys((exp.NullSafeEQ, exp.NullSafeNEQ), _null_safe_comparison),
    **dict.fromkeys((exp.Like, exp.ILike, exp.RegexpLike), _like),
    **dict.fromkeys((exp.And, exp.Or), _connector),
    **dict.fromkeys((exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor), _bitwise),
    exp.Between: _between,
    exp.BitwiseNot: _bitwise_not,
    exp.DPipe: _concatenation,
    exp.Escape: _escape,
    exp.In: _in,
    exp.Is: _is,
    exp.Neg: _neg,
    exp.Not: _not,
}
