"""The type of every expression, and whether it may be NULL, as Spark decides with ANSI mode on."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from tidegate.compiler.analysis.expressions.calls import CALLS, call_of, checked, counted
from tidegate.compiler.analysis.expressions.choices import CHOICES
from tidegate.compiler.analysis.expressions.dispatch import RULES, Rule, type_of
from tidegate.compiler.analysis.expressions.nested import NESTED, field_of
from tidegate.compiler.analysis.expressions.operators import OPERATORS
from tidegate.compiler.analysis.functions.values import WRITTEN_AS
from tidegate.compiler.analysis.literals import interval_type, literal_type
from tidegate.compiler.analysis.values import UNKNOWN, Scope, Typed
from tidegate.datatypes import BINARY, BOOLEAN, STRING, VARIANT, VOID, DataType

__all__ = ["WRITTEN_AS", "call_of", "field_of", "type_of"]

_NULL = Typed(VOID, True)


def _literal(node: Any, scope: Scope) -> Typed:
    return Typed(literal_type(node), False)


def _constant(kind: DataType) -> Rule:
    typed = Typed(kind, False)
    return lambda node, scope: typed


def _interval(node: Any, scope: Scope) -> Typed:
    return Typed(interval_type(node), False)


def _nothing(node: Any, scope: Scope) -> Typed:
    return UNKNOWN


def _null(node: Any, scope: Scope) -> Typed:
    return _NULL


def _named(node: Any, scope: Scope) -> Typed:
    return type_of(node.expression, scope)


def _collated(node: Any, scope: Scope) -> Typed:
    """Text with a collation is a type of its own, which is not known here."""
    type_of(node.this, scope)
    return UNKNOWN


def _inner(node: Any, scope: Scope) -> Typed:
    return type_of(node.this, scope)


def _column(node: Any, scope: Scope) -> Typed:
    return UNKNOWN if type(node.this) is exp.Star else scope.column(node)


def _subquery(node: Any, scope: Scope) -> Typed:
    """As a value it has one column."""
    width = scope.width(node)
    if width is not None and width > 1:
        message = f"a subquery that is a value has 1 column, and this one has {width}"
        scope.report("ColumnCount", message, node, "select the one that is meant")
        return UNKNOWN
    return scope.subquery(node)


def _variant_path(node: Any, scope: Scope) -> Typed:
    """`doc:a.b[0]`; of what is no variant that is left to Spark."""
    found = type_of(node.this, scope)
    return Typed(VARIANT, True) if found.type == VARIANT and node.args.get("variant_extract") else UNKNOWN


_VALUES: dict[type, Rule] = {
    **dict.fromkeys((exp.Select, exp.Subquery, exp.Union, exp.Except, exp.Intersect), _subquery),
    **dict.fromkeys((exp.Paren, exp.Alias, exp.Aliases, exp.IgnoreNulls, exp.RespectNulls, exp.Ordered), _inner),
    **dict.fromkeys((exp.Star, exp.Var, exp.Placeholder, exp.Parameter, exp.Lambda, exp.DataType), _nothing),
    exp.Collate: _collated,
    **dict.fromkeys((exp.Kwarg, exp.PropertyEQ), _named),
    exp.Boolean: _constant(BOOLEAN),
    exp.Column: _column,
    exp.HexString: _constant(BINARY),
    exp.Interval: _interval,
    exp.JSONExtract: _variant_path,
    exp.Literal: _literal,
    exp.National: _constant(STRING),
    exp.Null: _null,
    exp.RawString: _constant(STRING),
}

_ALSO_FOREIGN = {
    exp.Array: "array",
    exp.Cast: "cast",
    exp.If: "if",
    exp.JSONExtract: "get_json_object",
    exp.ParseJSON: "parse_json",
    exp.RegexpLike: "rlike",
    exp.Struct: "struct",
    exp.VarMap: "map",
}
_ALSO_CALLS = (
    exp.Bracket,
    exp.Cast,
    exp.DateDiff,
    exp.Mod,
    exp.ParseJSON,
    exp.RegexpLike,
    exp.Struct,
    exp.TimeToStr,
    exp.VarMap,
)

RULES.update(CALLS | CHOICES | NESTED | OPERATORS | _VALUES)
RULES.update({cls: counted(RULES[cls]) for cls in _ALSO_CALLS})
RULES.update({cls: checked(RULES[cls], meant) for cls, meant in _ALSO_FOREIGN.items()})
