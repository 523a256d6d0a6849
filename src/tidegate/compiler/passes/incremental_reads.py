"""Queries whose inputs cannot be read incrementally, as their strategy needs.

A table that only gains rows takes those that its inputs gained. The rows of the first item in FROM become rows of the
result ("driving"); all other tables are looked up. Where a query does not have that shape, rows would be lost
or doubled, so it is reported here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tidegate.compiler.compiled import Diagnostic
from tidegate.compiler.drafts import CompilationState, Draft, Rendering
from tidegate.compiler.inlining import zones_through
from tidegate.compiler.query_facts import JoinFact, QueryFacts
from tidegate.names import TableName
from tidegate.project import Materialized
from tidegate.project.strategies import Deltas
from tidegate.project.template_names import WATERMARK_NAMES

__all__ = ["check_archives", "check_reading"]


@dataclass(slots=True)
class _Reads:
    """The tables and zones that a query reads, through ephemeral models."""

    driving: set[TableName | str] = field(default_factory=set)
    looked_up: set[TableName | str] = field(default_factory=set)
    drivers: list[tuple[Draft, Rendering, QueryFacts]] = field(default_factory=list)
    """The queries whose rows become rows of the result, the model's own first."""

    @property
    def joins(self) -> Iterator[tuple[Draft, Rendering, JoinFact]]:
        return ((draft, rendering, join) for draft, rendering, facts in self.drivers for join in facts.joins)


def check_reading(work: CompilationState, draft: Draft) -> Iterator[Diagnostic]:
    if not draft.is_table:
        return
    reads, traits = _collected(work, draft), draft.model.settings.traits
    yield from _intervals(work, draft, reads)
    if draft.python is not None:
        return
    if draft.content.names & WATERMARK_NAMES or traits.reads_all_files:
        return
    appends = traits.deltas is Deltas.INSERTED
    piecewise = appends or any(isinstance(name, str) for name in reads.driving)
    wrong = [*_outer_joins(work, draft, reads), *_both_ways(work, draft, reads)] if piecewise else []
    yield from wrong
    if appends and not draft.failed:
        yield from _appending(work, draft, reads)
    if piecewise:
        yield from _groups(work, draft, reads)


def looked_up_zones(work: CompilationState, draft: Draft) -> frozenset[str]:
    """The zones whose files are all read by every run."""
    reads = _collected(work, draft)
    return frozenset(name for name in reads.looked_up if isinstance(name, str))


def _intervals(work: CompilationState, draft: Draft, reads: _Reads) -> Iterator[Diagnostic]:
    zones = {name for name in reads.driving | reads.looked_up if isinstance(name, str)}
    if zones and draft.model.settings.traits.by_intervals:
        why = "a late file may belong to any interval"
        message = f"strategy {draft.model.settings.strategy} cannot read landing zone '{min(zones)}': {why}"
        place = work.project.origin(draft.model, "strategy")
        fix = "read the zone with an append_only model, and that model here"
        yield work.error(draft, "IntervalOverLandingZone", message, place, fix)


def _outer_joins(work: CompilationState, draft: Draft, reads: _Reads) -> Iterator[Diagnostic]:
    for part, rendering, join in reads.joins:
        if join.side in ("RIGHT", "FULL"):
            message = f"only what is new in the first table of FROM is read, which a {join.side} JOIN does not keep to"
            place = work.place(part, rendering.later, join.offset)
            yield work.error(draft, "OuterJoinOfNewRows", message, place, "put that table first and use LEFT JOIN")
            return


def _both_ways(work: CompilationState, draft: Draft, reads: _Reads) -> Iterator[Diagnostic]:
    """A CTE that drives the query and is also looked up: its new rows are not all its rows."""
    for part, rendering, facts in reads.drivers:
        if facts.both_ways:
            name, offset = facts.both_ways
            message = f"'{name}' gives the rows that are new and is looked up as well, where it would need all"
            place = work.place(part, rendering.later, offset)
            fix = "write what is looked up as a CTE of its own, or make it a model"
            yield work.error(draft, "AmbiguousDriver", message, place, fix)
            return


def _groups(work: CompilationState, draft: Draft, reads: _Reads) -> Iterator[Diagnostic]:
    """An aggregate over new rows alone differs from one over all rows.

    A key makes one row of many whichever came first, so only choosing among rows is harmless there.
    """
    keyed = draft.model.settings.traits.deltas is not Deltas.INSERTED
    for part, rendering, facts in reads.drivers:
        for grouping in facts.groupings:
            if (keyed and grouping.picks) or not reads.driving:
                continue
            first = _name(work, min(reads.driving, key=str))
            message = f"{grouping.what} sees only the rows that {first} gained since the last run"
            place = work.place(part, rendering.later, grouping.offset)
            fix = "if all rows are meant, read them with an append_only model and group that in a full_refresh model"
            yield work.warning(draft, "GroupOfNewRows", message, place, fix)
            return


def _appending(work: CompilationState, draft: Draft, reads: _Reads) -> Iterator[Diagnostic]:
    place = work.project.origin(draft.model, "strategy")
    if not reads.driving and reads.looked_up:
        message = "append_only takes the rows that the first table in FROM gains, and the query has no table there"
        yield work.error(draft, "AppendWithoutDriver", message, place, "put the table whose rows are appended first")
    for name in sorted(name for name in reads.driving if isinstance(name, TableName)):
        upstream = work.models.get(name)
        if upstream and upstream.model.settings.materialized is Materialized.VIEW:
            message = f"append_only cannot tell which rows of the view {work.short(name)} are new"
            yield work.error(draft, "AppendOverView", message, place, "make it ephemeral, or read what it reads")
        elif upstream is None and _cannot_tell_new_rows(work, name):
            what = "Delta table" if name in work.external.chunk_tables else "source"
            message = f"append_only cannot tell which rows of the {what} {work.short(name)} are new"
            fix = "use merge_strategy incremental with a unique_key, or filter by watermark_value"
            yield work.error(draft, "AppendOverSource", message, place, fix)
    inner = any(join.inner for _, _, join in reads.joins)
    if inner and reads.driving and reads.looked_up - reads.driving:
        first, other = _name(work, min(reads.driving, key=str)), _name(work, min(reads.looked_up, key=str))
        message = f"append_only takes the rows that {first} gains; rows that {other} gains later add none"
        fix = "use LEFT JOIN if that is meant, or merge_strategy incremental with a unique_key"
        yield work.warning(draft, "AppendLookup", message, place, fix)


def _cannot_tell_new_rows(work: CompilationState, table: TableName) -> bool:
    """True for a source outside the lake, also where the lake has a table of the same name."""
    if work.is_outside_lake(table):
        return True
    return table.namespace in work.settings.sources and table not in work.external.heads


def _collected(work: CompilationState, draft: Draft) -> _Reads:
    reads = _Reads()
    waiting = [(draft, True)]
    visited = {(draft.model.table, True)}
    while waiting:
        part, driving = waiting.pop(0)
        if part.python is not None:
            # Of a zone the code is given the files that are new.
            reads.driving |= part.landings
        for rendering, facts in part.facts:
            if driving:
                reads.drivers.append((part, rendering, facts))
            zones = {call.placeholder: call.zone for call in facts.landings}
            for reference in facts.references:
                drives = driving and reference.driving
                if len(reference.parts) == 1 and reference.parts[0] in zones:
                    (reads.driving if drives else reads.looked_up).add(zones[reference.parts[0]])
                    continue
                table = work.tables.find(reference.parts)
                upstream = work.models.get(table) if table else None
                if table is None or table == part.model.table:
                    continue
                if upstream is None or upstream.model.settings.materialized is not Materialized.EPHEMERAL:
                    (reads.driving if drives else reads.looked_up).add(table)
                elif (table, drives) not in visited:
                    visited.add((table, drives))
                    waiting.append((upstream, drives))
    return reads


def _name(work: CompilationState, name: TableName | str) -> str:
    return f"landing zone '{name}'" if isinstance(name, str) else work.short(name)


def check_archives(work: CompilationState) -> Iterator[Diagnostic]:
    archiving = [d for d in work.without_errors if d.is_table and d.model.settings.archive_landing_zones]
    if not archiving:
        return
    readers = [
        (draft, zones) for draft in work.without_errors if draft.is_table and (zones := zones_through(work, draft))
    ]
    looked_up = {zone for draft, _ in readers for zone in looked_up_zones(work, draft)}
    for draft in archiving:
        zones = zones_through(work, draft)
        yield from _shared(work, draft, readers)
        if needed := zones & looked_up:
            message = f"landing zone '{min(needed)}' is looked up by every run, so its files cannot be archived"
            place = work.project.origin(draft.model, "archive_landing_zones")
            fix = "read the zone with a model of its own, and that model here"
            yield work.error(draft, "ArchivedLookup", message, place, fix)


def _shared(work: CompilationState, draft: Draft, readers: list[tuple[Draft, frozenset[str]]]) -> Iterator[Diagnostic]:
    for zone in sorted(zones_through(work, draft)):
        others = [other for other, zones in readers if other is not draft and zone in zones]
        if others:
            name, at = work.short(others[0].model.table), work.project.origin(draft.model, "archive_landing_zones")
            message = f"landing zone '{zone}' is also read by {name}: its files stay until both have read them"
            yield work.warning(draft, "SharedArchivedZone", message, at)
