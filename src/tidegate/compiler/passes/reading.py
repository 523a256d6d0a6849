"""Queries whose inputs cannot be read piece by piece as their strategy asks for.

A table that only gains rows takes those that its inputs gained. The rows of the first item in FROM become rows of the
result ("driving"); whatever else a query reads is looked up. Where that is not what a query says, rows would be lost or
doubled, so it is told here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sqlglot import exp

from tidegate.compiler.drafts import Draft, Rendering, Workspace
from tidegate.compiler.scopes import cte_of, driving_path
from tidegate.compiler.values import Diagnostic
from tidegate.names import TableName
from tidegate.project import Materialized, Strategy
from tidegate.project.template_names import WATERMARK_NAMES

__all__ = ["check_reading"]


@dataclass(slots=True)
class _Reads:
    """What a query reads, through ephemeral models: what drives it, what is looked up, and the joins on the way.

    `drivers`: the queries whose rows become rows of the result, the model's own first.
    """

    driving: set[TableName | str] = field(default_factory=set)
    looked_up: set[TableName | str] = field(default_factory=set)
    joins: list[tuple[Draft, Rendering, exp.Join]] = field(default_factory=list)
    drivers: list[tuple[Draft, Rendering]] = field(default_factory=list)

    @property
    def zones(self) -> set[str]:
        return {name for name in self.looked_up if isinstance(name, str)}


def check_reading(work: Workspace) -> Iterator[Diagnostic]:
    found: list[tuple[Draft, _Reads]] = []
    for draft in work.sound:
        if draft.test is None and draft.model.settings.materialized is Materialized.TABLE:
            reads = _Reads()
            _collect(work, draft, reads, driving=True, seen=set())
            found.append((draft, reads))
    looked_up = {zone for _, reads in found for zone in reads.zones}
    for draft, reads in found:
        strategy = draft.model.settings.strategy
        yield from _landing(work, draft, reads, looked_up)
        if _is_manual(work, draft) or strategy is Strategy.FULL_REFRESH:
            continue
        piecewise = strategy is Strategy.APPEND_ONLY or any(isinstance(name, str) for name in reads.driving)
        wrong = [*_outer_joins(work, draft, reads), *_both_ways(work, draft, reads)] if piecewise else []
        yield from wrong
        if strategy is Strategy.APPEND_ONLY and not wrong:
            yield from _appending(work, draft, reads)
        if piecewise:
            yield from _groups(work, draft, reads)


def _landing(work: Workspace, draft: Draft, reads: _Reads, looked_up: set[str]) -> Iterator[Diagnostic]:
    settings = draft.model.settings
    zones = {name for name in reads.driving | reads.looked_up if isinstance(name, str)}
    if zones and settings.strategy is Strategy.TIME_INTERVAL:
        message = (
            f"strategy time_interval cannot read landing zone '{min(zones)}': a late file may belong to any interval"
        )
        place = work.project.origin(draft.model, "strategy")
        fix = "read the zone with an append_only model, and that model here"
        yield work.error(draft, "IntervalOverLandingZone", message, place, fix)
    needed = zones & looked_up
    if needed and settings.archive_landing_zones:
        message = f"landing zone '{min(needed)}' is looked up by every run, so its files cannot be archived"
        place = work.project.origin(draft.model, "archive_landing_zones")
        fix = "read the zone with a model of its own, and that model here"
        yield work.error(draft, "ArchivedLookup", message, place, fix)


def _outer_joins(work: Workspace, draft: Draft, reads: _Reads) -> Iterator[Diagnostic]:
    for part, rendering, join in reads.joins:
        if join.side in ("RIGHT", "FULL"):
            message = f"only what is new in the first table of FROM is read, which a {join.side} JOIN does not keep to"
            place = work.place(part, rendering, _offset(join))
            yield work.error(draft, "OuterJoinOfNewRows", message, place, "put that table first and use LEFT JOIN")
            return


def _both_ways(work: Workspace, draft: Draft, reads: _Reads) -> Iterator[Diagnostic]:
    """A CTE whose rows become the result's and that is looked up as well: its new rows are not all its rows."""
    for part, rendering in reads.drivers:
        if (query := rendering.query) is None:
            continue
        driving = [cte for cte in query.path.ctes if driving_path(cte.this).tables]
        for table in query.tree.find_all(exp.Table) if driving else ():
            cte = cte_of(table) if len(table.parts) == 1 else None
            if cte is None or id(table) in query.path.names or not any(cte is found for found in driving):
                continue
            message = f"'{table.name}' gives the rows that are new and is looked up as well, where it would need all"
            place = work.place(part, rendering, _offset(table))
            fix = "write what is looked up as a CTE of its own, or make it a model"
            yield work.error(draft, "AmbiguousDriver", message, place, fix)
            return


def _groups(work: Workspace, draft: Draft, reads: _Reads) -> Iterator[Diagnostic]:
    """What is counted over new rows alone is not what it is over all of them."""
    keyed = draft.model.settings.strategy is not Strategy.APPEND_ONLY
    for part, rendering in reads.drivers:
        for select in rendering.query.path.selects if rendering.query else ():
            what = _grouping(select, keyed)
            if what is None or not driving_path(select).tables:
                continue
            first = _name(work, min(reads.driving, key=str))
            message = f"{what} sees only the rows that {first} gained since the last run"
            place = work.place(part, rendering, _offset(select))
            fix = "if all rows are meant, read them with an append_only model and group that in a full_refresh model"
            yield work.warning(draft, "GroupOfNewRows", message, place, fix)
            return


def _grouping(select: exp.Select, keyed: bool) -> str | None:
    """A key makes one row of many whichever came first, so picking rows is harmless there."""
    own = [found for item in select.expressions for found in item.find_all(exp.AggFunc, exp.Window)]
    own = [found for found in own if found.find_ancestor(exp.Select) is select]
    if select.args.get("group") or any(isinstance(x, exp.AggFunc) and not x.find_ancestor(exp.Window) for x in own):
        return "an aggregate"
    if keyed:
        return None
    if select.args.get("distinct"):
        return "DISTINCT"
    return "a window function" if any(isinstance(x, exp.Window) for x in own) else None


def _appending(work: Workspace, draft: Draft, reads: _Reads) -> Iterator[Diagnostic]:
    place = work.project.origin(draft.model, "strategy")
    if not reads.driving and reads.looked_up:
        message = "append_only takes the rows that the first table in FROM gains, and the query has no table there"
        yield work.error(draft, "AppendWithoutDriver", message, place, "put the table whose rows are appended first")
    for name in sorted(name for name in reads.driving if isinstance(name, TableName)):
        found = work.models.get(name)
        if found and found.model.settings.materialized is Materialized.VIEW:
            message = f"append_only cannot tell which rows of the view {work.short(name)} are new"
            yield work.error(draft, "AppendOverView", message, place, "make it ephemeral, or read what it reads")
    inner = any(not join.side and join.kind not in ("SEMI", "ANTI") for _, _, join in reads.joins)
    if inner and reads.driving and reads.looked_up - reads.driving:
        first, other = _name(work, min(reads.driving, key=str)), _name(work, min(reads.looked_up, key=str))
        message = f"append_only takes the rows that {first} gains; rows that {other} gains later add none"
        fix = "use LEFT JOIN if that is meant, or merge_strategy incremental with a unique_key"
        yield work.warning(draft, "AppendLookup", message, place, fix)


def _collect(work: Workspace, draft: Draft, reads: _Reads, driving: bool, seen: set[TableName]) -> None:
    for rendering in draft.renderings:
        if rendering.query is None:
            continue
        if driving:
            reads.drivers.append((draft, rendering))
        joins = rendering.query.tree.find_all(exp.Join) if driving else ()
        reads.joins += [(draft, rendering, join) for join in joins if join.find_ancestor(exp.Join) is None]
        zones = {call.placeholder: call.zone for call in rendering.rendered.landings}
        for reference in rendering.query.references:
            drives = driving and reference.driving
            if len(reference.parts) == 1 and reference.parts[0] in zones:
                (reads.driving if drives else reads.looked_up).add(zones[reference.parts[0]])
                continue
            table = work.tables.find(reference.parts)
            found = work.models.get(table) if table else None
            if table is None or table == draft.model.table:
                continue
            if found and found.model.settings.materialized is Materialized.EPHEMERAL and table not in seen:
                _collect(work, found, reads, drives, {*seen, table})
            else:
                (reads.driving if drives else reads.looked_up).add(table)


def _is_manual(work: Workspace, draft: Draft) -> bool:
    return bool(work.templates.names_used(draft.source) & WATERMARK_NAMES)


def _offset(node: exp.Expression) -> int:
    return min((found.meta["start"] for found in node.find_all(exp.Identifier) if "start" in found.meta), default=0)


def _name(work: Workspace, name: TableName | str) -> str:
    return f"landing zone '{name}'" if isinstance(name, str) else work.short(name)
