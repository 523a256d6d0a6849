"""In which order models are built: each when those that it waits for have ended, and first what most work waits for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from graphlib import TopologicalSorter
from heapq import heappop, heappush
from statistics import median

from tidegate.compiler.compiled import Compiled
from tidegate.names import TableName
from tidegate.planner.decide import RunType
from tidegate.planner.make_plan import ModelPlan
from tidegate.project.model import Materialized

__all__ = ["BuildOrder", "expected_seconds", "upstreams_among"]

Upstreams = Mapping[TableName, Collection[TableName]]


class BuildOrder:
    """Gives each model once: of those that are ready the one with the longest path to the end, then by name."""

    def __init__(self, upstreams: Upstreams, seconds: Mapping[TableName, float]) -> None:
        """`upstreams`: those that each model waits for. `seconds`: how long each is expected to take."""
        self._paths = _longest_paths(upstreams, seconds)
        self._sorter = TopologicalSorter(upstreams)
        self._sorter.prepare()
        self._ready: list[tuple[float, TableName]] = []

    def take(self) -> TableName | None:
        """The next model that waits for nothing; None: there is none before another one ends."""
        for table in self._sorter.get_ready():
            heappush(self._ready, (-self._paths[table], table))
        return heappop(self._ready)[1] if self._ready else None

    def end(self, table: TableName) -> None:
        """One that was taken has ended, in whatever way."""
        self._sorter.done(table)


def upstreams_among(compiled: Compiled, tables: Collection[TableName]) -> dict[TableName, set[TableName]]:
    """For each of `tables` those of them that are built before it, also where it reads them through views that are
    not among them."""
    among = frozenset(tables)
    return {table: _with_those_behind_views(compiled, table, among) & among for table in tables}


def _with_those_behind_views(compiled: Compiled, table: TableName, among: frozenset[TableName]) -> set[TableName]:
    upstreams, pending = set[TableName](), [*compiled.upstreams[table]]
    while pending:
        upstream = pending.pop()
        if upstream in upstreams:
            continue
        upstreams.add(upstream)
        model = compiled.models.get(upstream) if upstream not in among else None
        if model is not None and model.model.settings.materialized is Materialized.VIEW:
            pending += compiled.upstreams[upstream]
    return upstreams


def expected_seconds(plans: Mapping[TableName, ModelPlan], tables: Collection[TableName]) -> dict[TableName, float]:
    """By how long the table remembers that it took; others take as long as most, or 1 where no table remembers."""
    remembered = {table: seconds for table in tables if (seconds := _remembered(plans.get(table)))}
    usual = median(remembered.values()) if remembered else 1.0
    return {table: remembered.get(table, usual) for table in tables}


def _remembered(plan: ModelPlan | None) -> float | None:
    if plan is None or plan.progress is None:
        return None
    last, whole = plan.progress.duration_ms, plan.progress.full_ms
    return (whole or last if plan.decision.run_type is RunType.FULL else last) / 1000


def _longest_paths(upstreams: Upstreams, seconds: Mapping[TableName, float]) -> dict[TableName, float]:
    """The seconds from the start of each model to the end of the last one that waits for it."""
    paths = dict(seconds)
    for table in reversed(tuple(TopologicalSorter(upstreams).static_order())):
        for upstream in upstreams[table]:
            paths[upstream] = max(paths[upstream], seconds[upstream] + paths[table])
    return paths
