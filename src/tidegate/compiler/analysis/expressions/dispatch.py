"""The type of an expression: the rule for its class is looked up and asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from tidegate.compiler.analysis.values import UNKNOWN, Scope, Typed

__all__ = ["RULES", "Rule", "mismatch", "type_of"]

Rule = Callable[[Any, Scope], Typed]

RULES: dict[type, Rule] = {}
"""Filled by `typing`."""


def type_of(node: Any, scope: Scope) -> Typed:
    """`node` None: an argument that is missing, about which something else is said."""
    if node is None:
        return UNKNOWN
    rule = RULES.get(type(node))
    return rule(node, scope) if rule is not None else _unruled(node, scope)


def _unruled(node: Any, scope: Scope) -> Typed:
    """Nothing is known of it; what is inside it is checked all the same."""
    if isinstance(node, exp.Query):
        return scope.subquery(node)
    if isinstance(node, exp.Func):
        return RULES[exp.Func](node, scope)
    for child in node.iter_expressions():
        type_of(child, scope)
    return UNKNOWN


def mismatch(node: Any, scope: Scope, message: str, suggestion: str | None = None) -> Typed:
    scope.report("TypeMismatch", message, node, suggestion)
    return UNKNOWN
