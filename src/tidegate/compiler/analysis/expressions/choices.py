"""CASE, IF and casts."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from tidegate.compiler.analysis.coercion import can_cast, common_type_of
from tidegate.compiler.analysis.expressions.casts import any_null, cast_nullable, declared_type
from tidegate.compiler.analysis.expressions.dispatch import Rule, mismatch, type_of
from tidegate.compiler.analysis.expressions.operators import check_comparable
from tidegate.compiler.analysis.literals import is_typed_literal
from tidegate.compiler.analysis.values import Scope, Typed
from tidegate.datatypes import VOID

__all__ = ["CHOICES"]

_NULL = Typed(VOID, True)


def _case(node: Any, scope: Scope) -> Typed:
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


def _if(node: Any, scope: Scope) -> Typed:
    condition = type_of(node.this, scope)
    if condition.type.kind not in ("boolean", "?", "void"):
        mismatch(node.this, scope, f"IF takes a boolean, and this is {condition.type}")
    otherwise = node.args.get("false")
    if otherwise is None:
        scope.report("WrongArguments", "if takes 3 arguments, not 2", node, "say what it is otherwise")
    values = [type_of(node.args.get("true"), scope), type_of(otherwise, scope)]
    return _chosen("IF", values, node, scope)


def _chosen(word: str, values: list[Typed], node: Any, scope: Scope) -> Typed:
    kind = common_type_of(value.type for value in values)
    if kind is None:
        types = ", ".join(dict.fromkeys(str(value.type) for value in values))
        return mismatch(node, scope, f"the values of {word} have no common type: {types}", "cast them to one type")
    return Typed(kind, any_null(values, kind))


def _cast(node: Any, scope: Scope) -> Typed:
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
    """to_timestamp(x) becomes a cast in the parser, but takes more than a cast does."""
    return type(node) is exp.Cast and node.to.this == exp.DType.TIMESTAMP


CHOICES: dict[type, Rule] = {
    **dict.fromkeys((exp.Cast, exp.TryCast), _cast),
    exp.Case: _case,
    exp.If: _if,
}
