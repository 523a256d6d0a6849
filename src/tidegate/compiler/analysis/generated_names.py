"""The name that Spark generates for a column without an alias: `sum(amount)`, `(a + b)`. Empty where not certain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from tidegate.compiler.analysis.expression_types import type_of
from tidegate.compiler.analysis.expressions.typed import is_typed_literal
from tidegate.compiler.analysis.functions.function import WRITTEN_AS
from tidegate.compiler.analysis.scoping import QueryScope, column_parts

__all__ = ["generated_name"]


class _NotCertain(Exception):
    pass


def generated_name(node: Any, scope: QueryScope) -> str:
    try:
        what = type(node)
        if what in (exp.Cast, exp.TryCast) and not _is_call(node):
            inner = node.this
            while type(inner) is exp.Paren:
                inner = inner.this
            if (
                type(inner) is exp.Column
                and (resolved := scope.resolve(inner)).attribute is not None
                and resolved.whole
            ):
                return str(inner.name)
        return _text(node, scope)
    except (_NotCertain, RecursionError):
        return ""


def _text(node: Any, scope: QueryScope) -> str:
    write = _WRITERS.get(type(node))
    if write is not None:
        return write(node, scope)
    if (name := _FUNCTIONS.get(type(node))) is not None:
        return _call(name, node, scope)
    raise _NotCertain


def _column(node: Any, scope: QueryScope) -> str:
    parts = column_parts(node)
    resolved = scope.resolve(node)
    if not parts or resolved.attribute is None:
        raise _NotCertain
    if resolved.by_alias:
        if not resolved.whole:
            raise _NotCertain
        return f"lateralAliasReference({parts[-1].name})"
    if resolved.fields and resolved.attribute.type.kind != "struct":
        raise _NotCertain
    return ".".join(part.name for part in parts[-1 - resolved.fields :])


def _is_call(node: Any) -> bool:
    """Written as a function, whatever the parser made of it: `to_timestamp(x)` is a cast, `mod(a, b)` is a % b.

    `int(x)` and its like are casts in Spark too.
    """
    return "start" in node.meta and str(node.meta.get(WRITTEN_AS)).lower() not in _CASTS


def _literal(node: Any, scope: QueryScope) -> str:
    text = str(node.this)
    if node.is_string:
        return text
    whole, dot, part = text.partition(".")
    if whole.isdigit() and str(int(whole)) == whole and (part.isdigit() or not dot):
        return text
    raise _NotCertain


def _binary(operator: str, *, numeric: bool = False) -> Callable[[Any, QueryScope], str]:
    def write(node: Any, scope: QueryScope) -> str:
        if _is_call(node) or (numeric and not (_is_number(node.this, scope) and _is_number(node.expression, scope))):
            raise _NotCertain
        return f"({_text(node.this, scope)} {operator} {_text(node.expression, scope)})"

    return write


def _compared(operator: str) -> Callable[[Any, QueryScope], str]:
    def write(node: Any, scope: QueryScope) -> str:
        _check_literals(scope, node.this, node.expression)
        return f"({_text(node.this, scope)} {operator} {_text(node.expression, scope)})"

    return write


def _unequal(node: Any, scope: QueryScope) -> str:
    _check_literals(scope, node.this, node.expression)
    return f"(NOT ({_text(node.this, scope)} = {_text(node.expression, scope)}))"


def _check_literals(scope: QueryScope, *compared: Any) -> None:
    """Beside a whole number Spark shortens a decimal that is written in the query: `n > 1.5` becomes `n > 1`."""
    kinds = [type_of(node, scope).type for node in compared]
    if any(kind.kind == "decimal" for kind in kinds) and any(kind.is_integral or not kind.known for kind in kinds):
        raise _NotCertain


def _is_number(node: Any, scope: QueryScope) -> bool:
    return type_of(node, scope).type.is_numeric


def _mod(node: Any, scope: QueryScope) -> str:
    if not _is_call(node):
        return _binary("%", numeric=True)(node, scope)
    if str(node.meta.get(WRITTEN_AS)).lower() != "mod":
        raise _NotCertain
    return f"mod({_text(node.this, scope)}, {_text(node.expression, scope)})"


def _neg(node: Any, scope: QueryScope) -> str:
    inner = node.this
    if _is_call(node):
        raise _NotCertain
    text = _text(inner, scope)
    is_number = (type(inner) is exp.Literal and not inner.is_string) or _is_long(inner)
    return f"-{text}" if is_number else f"(- {text})"


def _is_long(node: Any) -> bool:
    """`1L`, `1S` or `1Y`."""
    return type(node) is exp.TryCast and is_typed_literal(node) and not node.this.is_string


def _not(node: Any, scope: QueryScope) -> str:
    inner = node.this
    while type(inner) is exp.Paren:
        inner = inner.this
    if type(inner) is exp.Is and type(inner.expression) is exp.Null and inner is node.this:
        return f"({_text(inner.this, scope)} IS NOT NULL)"
    return f"(NOT {_text(inner, scope)})"


def _is(node: Any, scope: QueryScope) -> str:
    if type(node.expression) is not exp.Null:
        raise _NotCertain
    return f"({_text(node.this, scope)} IS NULL)"


def _in(node: Any, scope: QueryScope) -> str:
    if node.args.get("query") or node.args.get("unnest"):
        raise _NotCertain
    _check_literals(scope, node.this, *node.expressions)
    values = ", ".join(_text(value, scope) for value in node.expressions)
    return f"({_text(node.this, scope)} IN ({values}))"


def _cast(node: Any, scope: QueryScope) -> str:
    kind = type_of(node, scope).type
    if _is_long(node) and kind.is_integral:
        return _literal(node.this, scope)
    if _is_call(node) or is_typed_literal(node):
        raise _NotCertain
    if node.args.get("safe") or not kind.known or (kind.args and kind.kind != "decimal"):
        raise _NotCertain
    return f"CAST({_text(node.this, scope)} AS {kind.text.upper()})"


def _case(node: Any, scope: QueryScope) -> str:
    operand = node.this
    parts = ["CASE"]
    for branch in node.args.get("ifs") or ():
        when = _text(branch.this, scope)
        if operand is not None:
            _check_literals(scope, operand, branch.this)
            when = f"({_text(operand, scope)} = {when})"
        parts.append(f"WHEN {when} THEN {_text(branch.args['true'], scope)}")
    if (default := node.args.get("default")) is not None:
        parts.append(f"ELSE {_text(default, scope)}")
    return " ".join([*parts, "END"])


def _if(node: Any, scope: QueryScope) -> str:
    otherwise = node.args.get("false")
    if otherwise is None:
        raise _NotCertain
    inner = (_text(part, scope) for part in (node.this, node.args["true"], otherwise))
    return f"(IF({', '.join(inner)}))"


def _call(name: str, node: Any, scope: QueryScope) -> str:
    """Only where the written name is this one: several functions of Spark share a class."""
    written = str(node.meta.get(WRITTEN_AS, "")).lower()
    if written != name and written not in _SYNONYMS:
        raise _NotCertain
    name = written
    if type(node) is exp.Count and type(node.this) is exp.Star:
        return "count(1)"
    arguments = [value for key, value in node.args.items() if key != "big_int" and value not in (None, [], False)]
    distinct = ""
    flat: list[Any] = []
    for argument in arguments:
        if type(argument) is exp.Distinct:
            distinct = "DISTINCT "
            flat += argument.expressions
        elif isinstance(argument, list):
            flat += argument
        else:
            flat.append(argument)
    if any(isinstance(argument, str | bool) for argument in flat):
        raise _NotCertain
    return f"{name}({distinct}{', '.join(_text(argument, scope) for argument in flat)})"


_WRITERS: dict[type, Callable[[Any, QueryScope], str]] = {
    exp.Column: _column,
    exp.Dot: _column,
    exp.Literal: _literal,
    exp.Null: lambda node, scope: "NULL",
    exp.Boolean: lambda node, scope: "true" if node.this else "false",
    exp.Paren: lambda node, scope: _text(node.this, scope),
    exp.Add: _binary("+", numeric=True),
    exp.Sub: _binary("-", numeric=True),
    exp.Mul: _binary("*", numeric=True),
    exp.Div: _binary("/", numeric=True),
    exp.Mod: _mod,
    exp.EQ: _compared("="),
    exp.GT: _compared(">"),
    exp.GTE: _compared(">="),
    exp.LT: _compared("<"),
    exp.LTE: _compared("<="),
    exp.NullSafeEQ: _compared("<=>"),
    exp.NEQ: _unequal,
    exp.And: _binary("AND"),
    exp.Or: _binary("OR"),
    exp.Not: _not,
    exp.Is: _is,
    exp.In: _in,
    exp.Neg: _neg,
    # The class of CAST in the text; exp.Cast is that of a literal such as DATE'…'.
    exp.TryCast: _cast,
    exp.Case: _case,
    exp.If: _if,
}
_FUNCTIONS: dict[type, str] = {
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
    exp.Count: "count",
    exp.AnyValue: "any_value",
    exp.Upper: "upper",
    exp.Lower: "lower",
    exp.Length: "length",
    exp.Abs: "abs",
    exp.Year: "year",
    exp.Month: "month",
    exp.Coalesce: "coalesce",
}
_CASTS = frozenset({"bigint", "boolean", "double", "float", "int", "smallint", "string", "timestamp", "tinyint"})
_SYNONYMS = frozenset({"lcase", "ucase"})
"""Synonyms that Spark keeps in the generated name."""
