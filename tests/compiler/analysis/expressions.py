"""Expressions over a table with columns of every type, and their types."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlglot import exp

from tidegate.compiler.analysis.expression_types import type_of
from tidegate.compiler.analysis.expressions.nested import field_of
from tidegate.compiler.analysis.expressions.typed import UNKNOWN, Typed
from tidegate.compiler.analysis.query_tokens import TOKENS_KEY, WrittenCall, written_calls
from tidegate.compiler.analysis.scoping import CALLED_WITHOUT_PARENTHESES
from tidegate.compiler.compiled import DiagnosticSeverity
from tidegate.compiler.sql.queries import ParsedQuery, parse_query
from tidegate.datatypes import DataType, parse_type

CASES = Path(__file__).parents[2] / "cases" / "types"
TABLE = (CASES / "table.sql").read_text()
REFUSED = "refused"


@dataclass
class TableScope:
    """The scope of one table; of a subquery only the SELECT list is analyzed."""

    columns: dict[str, Typed]
    own_functions: frozenset[str] = frozenset()
    findings: list[tuple[str, str, str | None]] = field(default_factory=list)

    def column(self, node: Any) -> Typed:
        fields: list[str] = []
        while type(node) is exp.Dot:
            fields.insert(0, node.expression.name)
            node = node.this
        names = [part.name.lower() for part in node.parts] + fields
        if names[0] == "t":
            del names[0]
        if names[0] in CALLED_WITHOUT_PARENTHESES:
            return Typed(CALLED_WITHOUT_PARENTHESES[names[0]][1], False)
        found: Typed | None = self.columns[names[0]]
        for name in names[1:]:
            found = field_of(found, name) if found is not None else None
        if found is None:
            self.report("UnknownField", f"no field '{names[-1]}'", node)
        return found or UNKNOWN

    def subquery(self, node: Any) -> Typed:
        while type(node) is exp.Subquery:
            node = node.this
        types = [type_of(item, self).type for item in node.expressions]
        return Typed(types[0], True)

    def width(self, node: Any) -> int | None:
        return None

    def written(self, node: Any) -> WrittenCall | None:
        return written_calls(node.root().meta[TOKENS_KEY]).get(node.meta.get("start", -1))

    def report(
        self,
        code: str,
        message: str,
        node: Any,
        suggestion: str | None = None,
        severity: DiagnosticSeverity = DiagnosticSeverity.ERROR,
    ) -> None:
        self.findings.append((code, message, suggestion))


def parsed(expression: str) -> Any:
    query = parse_query(f"SELECT {expression} FROM t")
    assert isinstance(query, ParsedQuery), (expression, query)
    return query.tree.expressions[0]


def table_columns() -> dict[str, Typed]:
    query = parse_query(TABLE)
    assert isinstance(query, ParsedQuery)
    return {item.alias: type_of(item.this, TableScope({})) for item in query.tree.expressions}


COLUMNS = table_columns()


def typed(expression: str, own_functions: frozenset[str] = frozenset()) -> tuple[Typed, TableScope]:
    scope = TableScope(COLUMNS, own_functions)
    return type_of(parsed(expression), scope), scope


def codes(expression: str) -> list[str]:
    return [code for code, _, _ in typed(expression)[1].findings]


def read(name: str) -> list[tuple[str, str]]:
    """Each line: an expression, and after the comment mark what is expected of it."""
    lines = (CASES / f"{name}.txt").read_text().splitlines()
    return [(left, right) for left, _, right in (line.rpartition(" -- ") for line in lines)]


def accepted() -> list[tuple[str, str, DataType, bool]]:
    """What Spark accepts: topic, expression, type, whether it may be NULL."""
    found = []
    for path in sorted(CASES.glob("*.txt")):
        if path.stem == REFUSED:
            continue
        for expression, expected in read(path.stem):
            text = expected.removesuffix(" not null")
            kind = parse_type(text)
            assert kind is not None, text
            found.append((path.stem, expression, kind, text == expected))
    return found
