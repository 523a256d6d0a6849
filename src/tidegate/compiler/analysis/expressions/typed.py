"""What is known of the value of an expression: the rule for its class is looked up and asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from sqlglot import exp

from tidegate.compiler.compiled import DiagnosticSeverity
from tidegate.datatypes import ANY, DataType

if TYPE_CHECKING:
    from tidegate.compiler.analysis.written_calls import WrittenCall

__all__ = ["RULES", "UNKNOWN", "ExpressionScope", "Rule", "Typed", "mismatch", "type_of"]


@dataclass(frozen=True, slots=True)
class Typed:
    """What is known of an expression's value; `nullable` None where that is not known."""

    type: DataType = ANY
    nullable: bool | None = None


UNKNOWN = Typed()


class ExpressionScope(Protocol):
    """What an expression may refer to at its place in a query."""

    def column(self, node: Any) -> Typed:
        """An `exp.Column`, or an `exp.Dot` over one; reports what it cannot find."""
        ...

    def subquery(self, node: Any) -> Typed:
        """The value of a scalar subquery (`exp.Subquery`, `exp.Select`, a set operation): its first column."""
        ...

    def width(self, node: Any) -> int | None:
        """How many columns a subquery has; None where that is not known."""
        ...

    def written(self, node: Any) -> WrittenCall | None:
        """A call as the text has it; None for what is not written as one."""
        ...

    def report(
        self,
        code: str,
        message: str,
        node: Any,
        suggestion: str | None = None,
        severity: DiagnosticSeverity = DiagnosticSeverity.ERROR,
    ) -> None:
        """`node`: where; its first name or literal with a position is marked."""
        ...


Rule = Callable[[Any, ExpressionScope], Typed]

RULES: dict[type, Rule] = {}
"""Filled by `typing`."""


def type_of(node: Any, scope: ExpressionScope) -> Typed:
    """`node` None: an argument that is missing, about which something else is said."""
    if node is None:
        return UNKNOWN
    rule = RULES.get(type(node))
    return rule(node, scope) if rule is not None else _unruled(node, scope)


def _unruled(node: Any, scope: ExpressionScope) -> Typed:
    """Nothing is known of it; what is inside it is checked all the same."""
    if isinstance(node, exp.Query):
        return scope.subquery(node)
    if isinstance(node, exp.Func):
        return RULES[exp.Func](node, scope)
    for child in node.iter_expressions():
        type_of(child, scope)
    return UNKNOWN


def mismatch(node: Any, scope: ExpressionScope, message: str, suggestion: str | None = None) -> Typed:
    scope.report("TypeMismatch", message, node, suggestion)
    return UNKNOWN
