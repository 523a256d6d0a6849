"""The order of building: dependency cycles, and the waves of all other models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set

from tidegate.compiler.compiled import Diagnostic
from tidegate.compiler.digests import tables_named_by_checks
from tidegate.compiler.drafts import CompilationState
from tidegate.compiler.inlining import tables_through
from tidegate.names import TableName
from tidegate.project import Materialized

__all__ = ["find_cycles", "order_tests", "waves_of"]

Graph = Mapping[TableName, Set[TableName]]


def find_cycles(work: CompilationState) -> Iterator[Diagnostic]:
    if not work.circular:
        return
    models = work.models
    edges: dict[TableName, set[TableName]] = {}
    for table, draft in models.items():
        edges[table] = set(draft.tables)
        if draft.model.settings.materialized is Materialized.TABLE:
            # A table may read its own last state; a view or an inlined query that reads itself never ends.
            edges[table].discard(table)
    for path in _cycles(edges):
        draft = models[path[0]]
        message = " -> ".join(work.short(table) for table in path)
        place = work.place_of_table(draft, path[1])
        yield work.error(draft, "CyclicDependency", f"models depend on each other in a circle: {message}", place)
        for table in path:
            models[table].failed = True


def order_tests(work: CompilationState, edges: dict[TableName, set[TableName]]) -> None:
    """A model whose test or check looks at other tables is built after them, so that it sees what will be published.

    Where such a table is itself built from the model, the test sees its last published state. Where such a view is, the
    test sees the model's new rows through it, and the other tables behind it are built first.
    """
    for draft in work.without_errors:
        table = draft.model.table
        if table not in edges or (draft.test is None and not draft.model.checks):
            continue
        if draft.test is None:
            others = {other for _, _, other in tables_named_by_checks(work, draft) if other is not None}
        else:
            others = set(tables_through(work, draft))
        for other in sorted(others):
            edges[table] |= set(_built_first(work, other, table, edges))


def _built_first(work: CompilationState, other: TableName, table: TableName, edges: Graph) -> Iterator[TableName]:
    """`other`, or what is behind it where it is a view; without what is built from `table`."""
    if other == table or other not in edges:
        return
    if table not in _upstream(other, edges):
        yield other
    elif work.models[other].model.settings.materialized is Materialized.VIEW:
        for behind in sorted(edges[other]):
            yield from _built_first(work, behind, table, edges)


def _upstream(table: TableName, edges: Graph) -> set[TableName]:
    upstream: set[TableName] = set()
    waiting = [table]
    while waiting:
        fresh = edges.get(waiting.pop(), set()) - upstream
        upstream |= fresh
        waiting += fresh
    return upstream


def waves_of(edges: Graph) -> tuple[tuple[TableName, ...], ...]:
    """Each wave holds, in order of name, what depends on earlier waves only. Cycles are in no wave."""
    missing, readers = _counted(edges)
    ready = sorted(table for table, count in missing.items() if not count)
    waves = []
    while ready:
        waves.append(tuple(ready))
        ready = sorted(_released(ready, missing, readers))
    return tuple(waves)


def _counted(edges: Graph) -> tuple[dict[TableName, int], dict[TableName, list[TableName]]]:
    """For each table how many it waits for, and which tables wait for it."""
    missing: dict[TableName, int] = dict.fromkeys(edges, 0)
    readers: dict[TableName, list[TableName]] = {table: [] for table in edges}
    for table, upstream in edges.items():
        for other in upstream:
            if other in readers:
                missing[table] += 1
                readers[other].append(table)
    return missing, readers


def _released(
    done: Iterable[TableName], missing: dict[TableName, int], readers: Mapping[TableName, list[TableName]]
) -> Iterator[TableName]:
    for table in done:
        for reader in readers[table]:
            missing[reader] -= 1
            if not missing[reader]:
                yield reader


def _cycles(edges: Graph) -> Iterator[tuple[TableName, ...]]:
    """One shortest cycle for each group of models that depend on each other, from its first name."""
    missing, readers = _counted(edges)
    ready = [table for table, count in missing.items() if not count]
    while ready:
        ready = list(_released(ready, missing, readers))
    left = {table: {other for other in edges[table] if missing.get(other)} for table, count in missing.items() if count}
    left = _without_ends(left)
    reported: set[TableName] = set()
    for table in sorted(left):
        if table not in reported and (path := _path_back(table, left)):
            reported.update(path)
            yield path


def _without_ends(edges: Graph) -> dict[TableName, set[TableName]]:
    """Without tables that are only downstream of a cycle."""
    readers = dict.fromkeys(edges, 0)
    for upstream in edges.values():
        for other in upstream:
            readers[other] += 1
    ends = [table for table, count in readers.items() if not count]
    while ends:
        for other in edges[ends.pop()]:
            readers[other] -= 1
            if not readers[other]:
                ends.append(other)
    return {table: set(upstream) for table, upstream in edges.items() if readers[table]}


def _path_back(start: TableName, edges: Graph) -> tuple[TableName, ...] | None:
    paths: list[tuple[TableName, ...]] = [(start,)]
    visited: set[TableName] = set()
    while paths:
        longer = []
        for path in paths:
            for other in sorted(edges.get(path[-1], ())):
                if other == start:
                    return (*path, start)
                if other not in visited:
                    visited.add(other)
                    longer.append((*path, other))
        paths = longer
    return None
