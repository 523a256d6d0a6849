"""What is known of a query without running it: its columns and types, where each comes from, what is wrong in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from tidegate.compiler.analysis.words import WrittenCall
from tidegate.compiler.compiled import DiagnosticSeverity, Edge, Origin
from tidegate.datatypes import ANY, DataType, Relation

__all__ = ["UNKNOWN", "Analysis", "Finding", "Scope", "Source", "Typed"]


@dataclass(frozen=True, slots=True)
class Source:
    """Something outside that a query reads: a table in full (`shop.silver.orders`) or a zone (`landing:orders`).

    `open`: that its columns are not known is nothing to tell; they are when it is read.
    """

    key: str
    relation: Relation
    open: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong in a query; `offset` is where in its text."""

    severity: DiagnosticSeverity
    code: str
    message: str
    offset: int
    suggestion: str | None = None


@dataclass(frozen=True, slots=True)
class Analysis:
    """`conditions`: columns that decide which rows there are (WHERE, HAVING, QUALIFY, ON, GROUP BY, DISTINCT).

    `taken_apart`: the columns, in lower case, of which a dotted name takes a field.
    """

    relation: Relation
    edges: tuple[Edge, ...] = ()
    conditions: tuple[Origin, ...] = ()
    findings: tuple[Finding, ...] = ()
    taken_apart: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Typed:
    """What is known of an expression's value; `nullable` None where that is not known."""

    type: DataType = ANY
    nullable: bool | None = None


UNKNOWN = Typed()


class Scope(Protocol):
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
