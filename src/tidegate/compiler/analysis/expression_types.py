"""The type of every expression, and whether it may be NULL, as Spark decides with ANSI mode on."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from tidegate.compiler.analysis.coercion import can_cast, common_type_of
from tidegate.compiler.analysis.expressions.calls import CALLS, with_argument_check, with_known_name
from tidegate.compiler.analysis.expressions.nested import NESTED
from tidegate.compiler.analysis.expressions.operators import OPERATORS, check_comparable
from tidegate.compiler.analysis.expressions.typed import (
    RULES,
    UNKNOWN,
    ExpressionScope,
    Rule,
    Typed,
    any_null,
    cast_nullable,
    declared_type,
    interval_type,
    is_typed_literal,
    literal_type,
    mismatch,
    type_of,
)
from tidegate.datatypes import BINARY, BOOLEAN, STRING, VARIANT, VOID, DataType

__all__ = ["type_of"]


def _case(node: Any, scope: ExpressionScope) -> Typed:
    operand = node.args.get("this")
    tested = type_of(operand, scope) if operand is not None else None
    values: list[Typed] = []
    for branch in node.args.get("ifs") or ():
        condition = type_of(branch.this, scope)
        if tested is not None:
            check_comparable(tested.type, condition.type, branch.this, scope)
        elif condition.type.kind not in ("boolean", "?"):
            mismatch(branch.this, scope, f"WHEN takes a boolean, and this is {condition.type}")
        values.append(type_of(branch.args["true"], scope))
    default = node.args.get("default")
    values.append(type_of(default, scope) if default is not None else _NULL)
    return _chosen("CASE", values, node, scope)


def _if(node: Any, scope: ExpressionScope) -> Typed:
    condition = type_of(node.this, scope)
    if condition.type.kind not in ("boolean", "?", "void"):
        mismatch(node.this, scope, f"IF takes a boolean, and this is {condition.type}")
    otherwise = node.args.get("false")
    if otherwise is None:
        scope.report("WrongArguments", "if takes 3 arguments, not 2", node, "add the value for the other case")
    values = [type_of(node.args.get("true"), scope), type_of(otherwise, scope)]
    return _chosen("IF", values, node, scope)


def _chosen(word: str, values: list[Typed], node: Any, scope: ExpressionScope) -> Typed:
    kind = common_type_of(value.type for value in values)
    if kind is None:
        types = ", ".join(dict.fromkeys(str(value.type) for value in values))
        return mismatch(node, scope, f"the values of {word} have no common type: {types}", "cast them to one type")
    return Typed(kind, any_null(values, kind))


def _cast(node: Any, scope: ExpressionScope) -> Typed:
    target = declared_type(node.args["to"])
    source = type_of(node.this, scope)
    if is_typed_literal(node):
        return Typed(target, False)
    safe = bool(node.args.get("safe"))
    if _is_to_timestamp(node):
        return Typed(target, source.nullable or None)
    if not can_cast(source.type, target) and not (safe and target.args):
        mismatch(node, scope, f"{source.type} cannot be cast to {target}")
    return Typed(target, cast_nullable(source, target, safe))


def _is_to_timestamp(node: Any) -> bool:
    """The parser turns to_timestamp(x) into a cast, but it accepts more than a cast does."""
    return type(node) is exp.Cast and node.to.this == exp.DType.TIMESTAMP


CHOICES: dict[type, Rule] = {
    **dict.fromkeys((exp.Cast, exp.TryCast), _cast),
    exp.Case: _case,
    exp.If: _if,
}


_NULL = Typed(VOID, True)


def _literal(node: Any, scope: ExpressionScope) -> Typed:
    return Typed(literal_type(node), False)


def _constant(kind: DataType) -> Rule:
    typed = Typed(kind, False)
    return lambda node, scope: typed


def _interval(node: Any, scope: ExpressionScope) -> Typed:
    return Typed(interval_type(node), False)


def _nothing(node: Any, scope: ExpressionScope) -> Typed:
    return UNKNOWN


def _null(node: Any, scope: ExpressionScope) -> Typed:
    return _NULL


def _named(node: Any, scope: ExpressionScope) -> Typed:
    return type_of(node.expression, scope)


def _collated(node: Any, scope: ExpressionScope) -> Typed:
    """Text with a collation is a type of its own, which is not known here."""
    type_of(node.this, scope)
    return UNKNOWN


def _inner(node: Any, scope: ExpressionScope) -> Typed:
    return type_of(node.this, scope)


def _column(node: Any, scope: ExpressionScope) -> Typed:
    return UNKNOWN if type(node.this) is exp.Star else scope.column(node)


def _subquery(node: Any, scope: ExpressionScope) -> Typed:
    """A scalar subquery has one column."""
    width = scope.width(node)
    if width is not None and width > 1:
        message = f"a scalar subquery must have 1 column, and this one has {width}"
        scope.report("ColumnCount", message, node, "select only the column you need")
        return UNKNOWN
    return scope.subquery(node)


def _variant_path(node: Any, scope: ExpressionScope) -> Typed:
    """`doc:a.b[0]`; on other types than variant it is left to Spark."""
    document = type_of(node.this, scope)
    return Typed(VARIANT, True) if document.type == VARIANT and node.args.get("variant_extract") else UNKNOWN


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
RULES.update({cls: with_argument_check(RULES[cls]) for cls in _ALSO_CALLS})
RULES.update({cls: with_known_name(RULES[cls], meant) for cls, meant in _ALSO_FOREIGN.items()})
