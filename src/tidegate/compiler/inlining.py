"""Ephemeral models seen through: what a query reads once they are written into it."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.compiler.drafts import Draft, Workspace
from tidegate.names import TableName
from tidegate.project import Materialized

__all__ = ["ephemeral_through", "tables_through", "zones_through"]


def ephemeral_through(work: Workspace, draft: Draft) -> Iterator[Draft]:
    """Every ephemeral model that becomes part of the draft's query, each once, in order of name."""
    seen: dict[TableName, Draft] = {}
    waiting = list(draft.tables)
    while waiting:
        table = waiting.pop()
        found = work.models.get(table)
        if found is None or table in seen or found.model.settings.materialized is not Materialized.EPHEMERAL:
            continue
        seen[table] = found
        waiting += found.tables
    return iter(seen[table] for table in sorted(seen))


def tables_through(work: Workspace, draft: Draft) -> frozenset[TableName]:
    """The models with a table or view that the query reads."""
    inlined = list(ephemeral_through(work, draft))
    named = set(draft.tables).union(*(found.tables for found in inlined))
    return frozenset(named - {found.model.table for found in inlined})


def zones_through(work: Workspace, draft: Draft) -> frozenset[str]:
    return frozenset(draft.landings.union(*(found.landings for found in ephemeral_through(work, draft))))
