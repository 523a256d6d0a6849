"""Analyze one parsed query: its columns with their types and lineage, and the errors in it."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from sqlglot import exp
from sqlglot.tokens import TokenType

from tidegate.amounts import plural
from tidegate.compiler.analysis.attributes import CAST, IDENTITY, KINDS, Attribute, Lineage, Unknown, add_origins
from tidegate.compiler.analysis.coercion import common_type, set_operation_type
from tidegate.compiler.analysis.expression_types import type_of
from tidegate.compiler.analysis.expressions.typed import any_nullable
from tidegate.compiler.analysis.query_tokens import TOKENS_KEY, misread_calls
from tidegate.compiler.analysis.relations import check_name_count
from tidegate.compiler.analysis.scoping import (
    Analysis,
    AnalysisContext,
    Cte,
    QueryFinding,
    QueryScope,
    QuerySource,
    Result,
)
from tidegate.compiler.analysis.selects import add_order, select_columns
from tidegate.compiler.analysis.tracing import trace
from tidegate.compiler.compiled import DiagnosticSeverity, Edge, Origin
from tidegate.compiler.sql.scopes import alias_columns
from tidegate.datatypes import ANY, NOTHING_KNOWN, Column, DataType, Relation

__all__ = [
    "RAISE_FAULTS",
    "analyze",
    "resolve_names",
]


RAISE_FAULTS = "TIDEGATE_RAISE_FAULTS"
"""The environment variable that makes a bug of the analysis raise instead of being logged."""

_NOT_OF_PIPES = frozenset({"ColumnCount", "MisplacedAggregate", "MisplacedWindow", "NotGrouped", "UnusedCte"})
"""Codes not reported for a query with |>: the parser turns its steps into subqueries that differ in these."""


def analyze(
    tree: Any,
    sources: Mapping[int, QuerySource],
    own_functions: frozenset[str] = frozenset(),
    table_functions: frozenset[str] = frozenset(),
) -> Analysis:
    """`sources`: the columns of each table that the query reads, by the `id()` of its node; without CTEs.

    A table that is not in `sources` has unknown columns. `own_functions`: functions that Spark itself does not have.
    `table_functions`: those that the project has; a call that may be made has its source.
    """
    with suppress(RecursionError), _faults_logged():
        return _analyze(tree, sources, own_functions, table_functions)
    return Analysis(NOTHING_KNOWN)


def resolve_names(tree: Any, sources: Mapping[int, QuerySource]) -> AnalysisContext:
    """What each name of a query means (`columns`), and what each SELECT gives (`results`), by the `id()` of nodes."""
    context = AnalysisContext(sources, frozenset(), _query)
    with _faults_logged():
        context.query(tree, None)
    return context


@contextmanager
def _faults_logged() -> Iterator[None]:
    """A bug of the analysis is no error in the query: Spark checks this query, and other models are reported."""
    try:
        yield
    except RecursionError:
        raise
    except Exception:
        if os.environ.get(RAISE_FAULTS):
            raise
        logging.getLogger(__name__).debug("the analysis of a query failed", exc_info=True)


def _analyze(
    tree: Any, sources: Mapping[int, QuerySource], own_functions: frozenset[str], table_functions: frozenset[str]
) -> Analysis:
    words = tree.meta.get(TOKENS_KEY, ())
    context = AnalysisContext(sources, own_functions, _query, words)
    context.table_functions = table_functions
    result = context.query(tree, None)
    for wrong in misread_calls(context.calls.values(), own_functions):
        severity = DiagnosticSeverity.ERROR
        context.findings.append(QueryFinding(severity, wrong.code, wrong.message, wrong.offset, wrong.suggestion))
    _report_duplicates(result, context)
    columns = tuple(Column(a.name, a.type, a.nullable) for a in result.attributes)
    edges = tuple(
        Edge(a.name, Origin(*origin), KINDS[kind])
        for a in result.attributes
        if a.name
        for origin, kind in sorted(a.lineage.items())
    )
    conditions = tuple(Origin(*origin) for origin in sorted(result.conditions))
    findings = dict.fromkeys(sorted(context.findings, key=lambda finding: (finding.offset, finding.code)))
    if findings and any(token.token_type is TokenType.PIPE_GT for token in words):
        findings = {finding: None for finding in findings if finding.code not in _NOT_OF_PIPES}
    relation = Relation(columns, result.unknown is None)
    return Analysis(relation, edges, conditions, tuple(findings), frozenset(context.taken_apart))


def _query(node: Any, outer: QueryScope | None, context: AnalysisContext) -> Result:
    defined: list[tuple[Any, Cte]] = []
    clause = node.args.get("with_")
    if clause is not None:
        for cte in clause.expressions:
            entry = _cte(cte, bool(clause.args.get("recursive")), outer, context)
            _check_not_defined(cte, defined, context)
            context.ctes[id(cte)] = entry
            defined.append((cte, entry))
    if isinstance(node, exp.Select):
        result = select_columns(node, QueryScope(context, outer=outer))
    elif isinstance(node, exp.SetOperation):
        result = _set_operation(node, outer, context)
    elif isinstance(node, exp.Subquery):
        result = _parenthesised(node, outer, context)
    elif isinstance(node, exp.Values):
        result = _values(node, QueryScope(context, outer=outer))
    else:
        result = Result([], [], Unknown())
    for cte, entry in defined:
        if not entry.read:
            message = f"the CTE '{cte.alias}' is never read"
            context.report("UnusedCte", message, cte.args["alias"], "remove it", DiagnosticSeverity.WARNING)
    return result


def _check_not_defined(cte: Any, defined: list[tuple[Any, Cte]], context: AnalysisContext) -> None:
    """Spark compares the names of CTEs with their case."""
    for other, entry in defined:
        if other.alias == cte.alias:
            entry.read = True
            message = f"WITH defines '{cte.alias}' twice"
            context.report("DuplicateCte", message, cte.args["alias"], "give one of them another name")
            return


def _cte(node: Any, recursive: bool, outer: QueryScope | None, context: AnalysisContext) -> Cte:
    body = node.this
    if recursive and isinstance(body, exp.SetOperation) and not body.args.get("with_"):
        return _recursive_cte(node, body, outer, context)
    return Cte(_renamed(context.query(body, outer), node, context))


def _recursive_cte(node: Any, body: Any, outer: QueryScope | None, context: AnalysisContext) -> Cte:
    """A recursive CTE has the columns of its anchor, the part that does not read the CTE."""
    anchor = context.query(body.this, outer)
    itself = context.ctes[id(node)] = Cte(_renamed(_nullable(anchor, context), node, context))
    following = context.query(body.expression, outer)
    whole = _combine_results(body, anchor, following, context)
    if itself.read:
        for attribute, first in zip(whole.attributes, anchor.attributes, strict=False):
            attribute.type = first.type
            attribute.nullable = True
    return Cte(_renamed(whole, node, context))


def _nullable(result: Result, context: AnalysisContext) -> Result:
    attributes = [Attribute(a.name, a.type, True, a.lineage, next(context.new_ids)) for a in result.attributes]
    return Result(attributes, result.nodes, result.unknown, result.conditions)


def _renamed(result: Result, cte: Any, context: AnalysisContext) -> Result:
    names = alias_columns(cte)
    if not names:
        return result
    if result.unknown is None and not check_name_count(len(names), len(result.attributes), cte, context):
        attributes = [Attribute(name.name, ANY, None, {}, next(context.new_ids)) for name in names]
        return Result(attributes, [cte] * len(attributes), Unknown(), result.conditions)
    if len(names) > len(result.attributes):
        return result
    attributes = list(result.attributes)
    for position, name in enumerate(names):
        attributes[position] = attributes[position].named(name.name)
    return Result(attributes, result.nodes, result.unknown, result.conditions)


def _set_operation(node: Any, outer: QueryScope | None, context: AnalysisContext) -> Result:
    """In a loop from the left, because a chain of UNIONs can be longer than the recursion limit."""
    chain = [node]
    while isinstance(chain[-1].this, exp.SetOperation) and not _has_clauses(chain[-1].this):
        chain.append(chain[-1].this)
    result = context.query(chain[-1].this, outer)
    for operation in reversed(chain):
        result = _combine_results(operation, result, context.query(operation.expression, outer), context)
    add_order(node, result, QueryScope(context, outer=outer))
    return result


def _has_clauses(node: Any) -> bool:
    return any(node.args.get(key) is not None for key in ("with_", "order", "limit", "offset"))


def _parenthesised(node: Any, outer: QueryScope | None, context: AnalysisContext) -> Result:
    scope = QueryScope(context, outer=outer)
    if isinstance(node.this, exp.Table) or node.args.get("joins") or node.args.get("pivots"):
        return select_columns(_as_select(node), scope)
    inner = context.query(node.this, outer)
    result = Result(inner.attributes, inner.nodes, inner.unknown, set(inner.conditions))
    add_order(node, result, scope)
    return result


def _as_select(node: Any) -> Any:
    """A query that is only `(t PIVOT …)`, as SELECT * FROM it."""
    select = exp.Select(expressions=[exp.Star()])
    select.args["from_"] = exp.From()
    select.args["from_"].args["this"] = node
    return select


def _values(node: Any, scope: QueryScope) -> Result:
    """The columns are col1, col2, …; each has the common type of its rows."""
    attributes: list[Attribute] = []
    nodes: list[Any] = []
    for row in node.expressions:
        cells = row.expressions if type(row) is exp.Tuple else [row]
        if attributes and len(cells) != len(attributes):
            message = f"a row of VALUES has {plural(len(cells), 'column')}, and the first has {len(attributes)}"
            scope.report("ColumnCount", message, row, "give each row the same number of values")
            return Result([], [], Unknown())
        for position, cell in enumerate(cells):
            lineage: Lineage = {}
            trace(cell, scope, lineage)
            typed = type_of(cell, scope)
            if position == len(attributes):
                name = f"col{position + 1}"
                new_ids = next(scope.context.new_ids)
                attributes.append(Attribute(name, typed.type, typed.nullable, lineage, new_ids))
                nodes.append(cell)
                continue
            column = attributes[position]
            column.type = common_type(column.type, typed.type) or ANY
            column.nullable = any_nullable((column.nullable, typed.nullable))
            column.lineage = {**column.lineage, **lineage}
    for attribute, name in zip(attributes, alias_columns(node), strict=False):
        attribute.name, attribute.folded = name.name, name.name.lower()
    return Result(attributes, nodes)


def _report_duplicates(result: Result, context: AnalysisContext) -> None:
    """A table cannot have two columns of one name. A star that brings several is reported once."""
    seen: set[str] = set()
    repeated: dict[int, tuple[Any, list[str]]] = {}
    for attribute, node in zip(result.attributes, result.nodes, strict=True):
        if attribute.name and attribute.folded in seen:
            repeated.setdefault(id(node), (node, []))[1].append(f"'{attribute.name}'")
        seen.add(attribute.folded)
    for node, names in repeated.values():
        what = f"two columns {names[0]}" if len(names) == 1 else f"more than one column of each of {', '.join(names)}"
        hint = "give one another name with AS, or leave it out"
        context.report("DuplicateColumn", f"the result has {what}", _name_of(node), hint)


def _name_of(node: Any) -> Any:
    """The part of a SELECT item that gives it its name."""
    if isinstance(node, exp.Alias):
        return node.args["alias"]
    if isinstance(node, exp.Dot):
        return node.expression
    return node.this if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star) else node


def _combine_results(node: Any, left: Result, right: Result, context: AnalysisContext) -> Result:
    word = _word(node)
    conditions = left.conditions | right.conditions
    known = left.unknown is None and right.unknown is None
    if node.args.get("by_name"):
        return Result(left.attributes, left.nodes, left.unknown or Unknown(), conditions)
    if known and len(left.attributes) != len(right.attributes):
        message = f"{word} of {plural(len(left.attributes), 'column')} with {plural(len(right.attributes), 'column')}"
        hint = "select the same number of columns on both sides"
        context.report("SetOperationColumns", message, right.nodes[0] if right.nodes else node.expression, hint)
        return Result(left.attributes, left.nodes, None, conditions)
    attributes = []
    for position, one in enumerate(left.attributes):
        other = right.attributes[position] if position < len(right.attributes) else None
        attributes.append(_column(node, word, one, other, right, position, context, known))
    if _compares(node):
        for one in (*left.attributes, *right.attributes):
            conditions.update(one.lineage)
    unknown = None if known else Unknown()
    return Result(attributes, left.nodes, unknown, conditions)


def _column(
    node: Any,
    word: str,
    one: Attribute,
    other: Attribute | None,
    right: Result,
    position: int,
    context: AnalysisContext,
    known: bool,
) -> Attribute:
    kind = set_operation_type(one.type, other.type) if known and other is not None else ANY
    if kind is None and other is not None:
        what = f"'{one.name}'" if one.name else f"column {position + 1}"
        message = f"{word}: {what} is {one.type} on the left and {other.type} on the right"
        context.report("SetOperationColumns", message, right.nodes[position], "cast one of them to the other's type")
    kind = kind or ANY
    if kind.contains("map") and _compares(node):
        message = f"{word} compares rows, and '{one.name}' is {kind}: maps cannot be compared"
        hint = "use UNION ALL" if isinstance(node, exp.Union) else "leave the column out"
        context.report("SetOperationColumns", message, right.nodes[position], hint)
    lineage: Lineage = {}
    add_origins(lineage, one.lineage, _step(one, kind))
    nullable = one.nullable
    if other is None:
        nullable = None
    elif isinstance(node, exp.Union):
        add_origins(lineage, other.lineage, _step(other, kind))
        nullable = True if one.nullable or other.nullable else _if_both_known(one, other, False)
    elif isinstance(node, exp.Intersect):
        nullable = False if one.nullable is False or other.nullable is False else _if_both_known(one, other, True)
    if nullable is False and other is not None and not (_stays(one, kind) and _stays(other, kind)):
        nullable = None
    return Attribute(one.name, kind, nullable, lineage, next(context.new_ids), one.item)


def _compares(node: Any) -> bool:
    return not isinstance(node, exp.Union) or bool(node.args.get("distinct"))


def _step(one: Attribute, kind: DataType) -> int:
    return CAST if kind.known and one.type.known and kind != one.type else IDENTITY


def _stays(one: Attribute, kind: DataType) -> bool:
    """Whether a cast to `kind` cannot give new NULLs."""
    return one.type == kind or (one.type.is_numeric and kind.is_numeric)


def _if_both_known(one: Attribute, other: Attribute, value: bool) -> bool | None:
    return None if one.nullable is None or other.nullable is None else value


def _word(node: Any) -> str:
    return type(node).__name__.upper()
