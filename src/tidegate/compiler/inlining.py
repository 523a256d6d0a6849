"""What a query reads once its ephemeral models are inlined."""

from __future__ import annotations

from tidegate.compiler.compiled import FunctionRead
from tidegate.compiler.drafts import CompilationState, Draft
from tidegate.names import TableName
from tidegate.project import Materialized

__all__ = [
    "ephemeral_through",
    "functions_through",
    "is_deterministic",
    "reads_bad_records",
    "sources_through",
    "tables_through",
    "template_names_through",
    "zones_through",
]


def ephemeral_through(work: CompilationState, draft: Draft) -> list[Draft]:
    """Every ephemeral model that becomes part of the draft's query, each once, in order of name."""
    if work.ephemeral.isdisjoint(draft.tables):
        return []
    visited: set[TableName] = set()
    waiting = list(draft.tables)
    while waiting:
        table = waiting.pop()
        if table in work.ephemeral and table not in visited:
            visited.add(table)
            waiting += work.models[table].tables
    return [work.models[table] for table in sorted(visited)]


def tables_through(work: CompilationState, draft: Draft) -> frozenset[TableName]:
    """The models with a table or view that the query reads."""
    tables = frozenset(draft.tables)
    if work.ephemeral.isdisjoint(tables):
        return tables
    return tables.union(*(other.tables for other in ephemeral_through(work, draft))) - work.ephemeral


def zones_through(work: CompilationState, draft: Draft) -> frozenset[str]:
    return draft.landings.union(*(other.landings for other in ephemeral_through(work, draft)))


def functions_through(work: CompilationState, draft: Draft) -> tuple[FunctionRead, ...]:
    """The calls of table functions of the project, each once."""
    found = dict.fromkeys(draft.content.functions)
    for other in ephemeral_through(work, draft):
        found |= dict.fromkeys(other.content.functions)
    return tuple(found)


def sources_through(work: CompilationState, draft: Draft) -> frozenset[TableName]:
    """The tables that the query reads and no model builds."""
    return frozenset(draft.content.sources).union(*(other.content.sources for other in ephemeral_through(work, draft)))


def template_names_through(work: CompilationState, draft: Draft) -> frozenset[str]:
    """The names that the templates of the whole query look up."""
    return draft.content.names.union(*(other.content.names for other in ephemeral_through(work, draft)))


def is_deterministic(work: CompilationState, draft: Draft) -> bool:
    """Whether the same inputs give the same rows another time."""
    return all(_is_deterministic(work.models[table]) for table in _queried_with(work, draft))


def _is_deterministic(draft: Draft) -> bool:
    if draft.content.changing is not None:
        return False
    return "run_started_at" not in draft.content.names and all(facts.deterministic for _, facts in draft.facts)


def _queried_with(work: CompilationState, draft: Draft) -> set[TableName]:
    """The model, and the ephemeral models and views that run within its query, at any depth."""
    tables = {draft.model.table}
    waiting = list(draft.tables)
    while waiting:
        table = waiting.pop()
        if table in tables or work.models[table].model.settings.materialized is Materialized.TABLE:
            continue
        tables.add(table)
        waiting += work.models[table].tables
    return tables


def reads_bad_records(work: CompilationState, draft: Draft) -> bool:
    """Whether records of its landing zones that cannot be parsed go to a table of their own."""
    zones = work.settings.landing.zones
    return draft.is_table and any(zone in zones and zones[zone].quarantines for zone in zones_through(work, draft))
