"""Settings that contradict each other or the query, quarantine included."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import PurePosixPath

from tidegate.checks.check_registry import row_constraints
from tidegate.compiler.compiled import Diagnostic
from tidegate.compiler.drafts import CompilationState, Draft, refuses_rows
from tidegate.compiler.inlining import (
    ephemeral_through,
    is_deterministic,
    reads_bad_records,
    sources_through,
    tables_through,
    template_names_through,
    zones_through,
)
from tidegate.compiler.newest_arrival import Reading, arrival_obstacle
from tidegate.compiler.sql.row_by_row import Obstacle
from tidegate.compiler.table_columns import columns_of_quarantine, shared_columns
from tidegate.datatypes import NOTHING_KNOWN
from tidegate.names import TableName
from tidegate.project import Materialized, Model, Place
from tidegate.project.template_names import WATERMARK_NAMES

__all__ = ["check_quarantine", "check_quarantine_names", "check_query", "check_settings", "dates_of"]


def check_query(work: CompilationState, draft: Draft) -> Iterator[Diagnostic]:
    yield from _dates(work, draft)
    if draft.test is None:
        yield from _latest(work, draft)
        yield from _landing(work, draft)
        yield from _outside(work, draft)
    else:
        yield from _test(work, draft)


def check_settings(work: CompilationState, draft: Draft) -> Iterator[Diagnostic]:
    """Errors of a model's settings that do not depend on its query."""
    if draft.test is not None or work.short(draft.model.table) in work.unread_settings:
        return
    settings, place = draft.model.settings, work.project.origin(draft.model, "strategy")
    for name in settings.traits.required_settings:
        if not getattr(settings, name):
            message = f"strategy {settings.strategy} needs {name}"
            yield work.error(draft, "MissingKey", message, place, f"add -- @{name}: … to the top of the file")
    if settings.traits.replaces_partitions and settings.partitioned_by:
        replaces = f"strategy {settings.strategy} replaces partitions of partition_column"
        message = f"{replaces}, so partitioned_by cannot be set as well"
        at = work.project.origin(draft.model, "partitioned_by")
        yield work.error(draft, "SnapshotPartitioning", message, at, "remove partitioned_by")
    if settings.materialized is Materialized.VIEW:
        used = sorted(WATERMARK_NAMES & draft.content.names)
        if used:
            message = f"a view keeps no rows, so {used[0]} has no meaning in it"
            at = work.project.origin(draft.model, "materialized")
            yield work.error(draft, "ViewWithWatermark", message, at, f"remove {used[0]}, or make it a table")
    if settings.materialized is Materialized.EPHEMERAL and draft.model.sql_tests:
        message = "an ephemeral model has no table, so its quality tests cannot run"
        at = work.project.origin(draft.model, "materialized")
        yield work.error(draft, "TestOfEphemeral", message, at, "move the tests to a model that reads it")


def _latest(work: CompilationState, draft: Draft) -> Iterator[Diagnostic]:
    """Without a watermark the latest row is the one that arrived last, so the order of arrival must be known."""
    settings = draft.model.settings
    if settings.on_duplicate != "latest" or settings.watermark_column is not None:
        return
    obstacle = arrival_obstacle(settings, _reading(work, draft), lambda: _shape(work, draft))
    if obstacle is None:
        return
    message = f"on_duplicate 'latest' cannot take the row that arrived last: {obstacle.reason}"
    at = work.project.origin(draft.model, "on_duplicate")
    remedies = filter(None, (obstacle.remedy, "add -- @watermark_column: …"))
    yield work.error(draft, "LatestWithoutWatermark", message, at, "; or ".join(remedies))


def _reading(work: CompilationState, draft: Draft) -> Reading:
    own = draft.model.table
    read = tables_through(work, draft)
    tables = (read - {own}) | sources_through(work, draft)
    models = [work.models[table] for table in tables if table in work.models]
    return Reading(
        tables=sorted(map(work.short, tables)),
        zones=zones_through(work, draft),
        upstream=models[0].model.settings.written_as if models else "",
        manual=bool(template_names_through(work, draft) & WATERMARK_NAMES),
        reads_itself=own in read,
        deterministic=is_deterministic(work, draft),
        by_code=draft.python is not None,
    )


def _shape(work: CompilationState, draft: Draft) -> Obstacle | None:
    queries = (draft, *ephemeral_through(work, draft))
    return next((one.obstacle for query in queries for one in query.content.renderings if one.obstacle), None)


def _landing(work: CompilationState, draft: Draft) -> Iterator[Diagnostic]:
    settings, zones = draft.model.settings, zones_through(work, draft)
    if not zones:
        return
    if settings.materialized is Materialized.VIEW:
        message = f"a view cannot read landing zone '{min(zones)}': its files are gone when the view is read"
        at = work.project.origin(draft.model, "materialized")
        yield work.error(draft, "ViewOverLandingZone", message, at, "make it a table")
    is_table = settings.materialized is Materialized.TABLE and work.short(draft.model.table) not in work.unread_settings
    if is_table and settings.archive_landing_zones and settings.traits.reads_all_files:
        message = f"archive_landing_zones with {settings.strategy} would leave the next run nothing to read"
        at = work.project.origin(draft.model, "archive_landing_zones")
        yield work.error(draft, "ArchiveWithFullRefresh", message, at, "use append_only or another keeping strategy")


def _outside(work: CompilationState, draft: Draft) -> Iterator[Diagnostic]:
    """The readers of a view have access to the lake only."""
    if draft.model.settings.materialized is not Materialized.VIEW:
        return
    for part in (draft, *ephemeral_through(work, draft)):
        for table in sorted(part.content.sources):
            if work.is_outside_lake(table):
                is_delta = table in work.external.chunk_tables
                what = "the Delta table" if is_delta else f"source '{table.namespace}'"
                message = f"a view cannot read {work.short(table)}: {what} is outside the lake"
                at = work.project.origin(draft.model, "materialized")
                yield work.error(draft, "ViewOverSource", message, at, "make it a table")
                return


def _dates(work: CompilationState, draft: Draft) -> Iterator[Diagnostic]:
    """@start_date and @end_date have a value in a time_interval model only."""
    if draft.test is None and draft.model.settings.traits.by_intervals:
        return
    if draft.test is None and draft.model.settings.materialized is Materialized.EPHEMERAL:
        return
    where = "a quality test" if draft.test else f"a model of strategy {draft.model.settings.strategy}"
    for part in (draft, *ephemeral_through(work, draft)):
        for name, at in dates_of(work, part):
            message = f"{name} has no value in {where}; it is set for strategy time_interval"
            yield work.error(draft, "UnboundDate", message, at())
            return


def dates_of(work: CompilationState, draft: Draft) -> Iterator[tuple[str, Callable[[], Place]]]:
    """Where it uses the start or the end of an interval, as it is written there."""
    for name, place in draft.python.uses.items() if draft.python is not None else ():
        if name in ("start_date", "end_date"):
            yield f"tg.{name}", lambda place=place: place  # type: ignore[misc]
    for rendering, facts in draft.facts:
        for offset, name in facts.dates:
            yield f"@{name}", partial(work.place, draft, rendering.later, offset)


def _test(work: CompilationState, draft: Draft) -> Iterator[Diagnostic]:
    if zones := zones_through(work, draft):
        message = f"a quality test looks at tables, not at landing zone '{min(zones)}'"
        place = work.place(draft, False, 0)
        yield work.error(draft, "TestReadsLandingZone", message, place, "test the table that the zone is read into")


def check_quarantine(work: CompilationState, draft: Draft) -> Iterator[Diagnostic]:
    model = draft.model
    for table in sorted(draft.content.sources):
        if table in work.quarantines and not _is_written(work, table) and table not in work.external.tables:
            message = (
                f"there is no table '{work.short(table)}': {work.short(work.quarantines[table])} quarantines nothing"
            )
            fix = 'give it constraints and quarantine: true, or bad_records = "quarantine" for a zone that it reads'
            place = work.place_of_table(draft, work.quarantines[table])
            yield work.error(draft, "QuarantineOfNothing", message, place, fix)
    bad_records = reads_bad_records(work, draft)
    if draft.test is not None or not (model.settings.quarantine or bad_records):
        return
    place = work.project.origin(model, "quarantine")
    if not draft.is_table:
        if _is_own(model, place):
            kind = "a view" if model.settings.materialized is Materialized.VIEW else "an ephemeral model"
            message = f"{kind} writes no rows, so none can be quarantined"
            yield work.error(draft, "QuarantineWithoutTable", message, place, "make it a table, or remove quarantine")
        return
    relation = draft.relation or NOTHING_KNOWN
    has_rules = bad_records or row_constraints(model.checks, relation, work.settings.project.namespace)
    if not has_rules and _is_own(model, place):
        message = "no constraint of severity error is about single rows, so no row will be quarantined"
        fix = "add one, such as -- @constraint: not_null(…)"
        yield work.warning(draft, "QuarantineWithoutRule", message, place, fix)
    for column in columns_of_quarantine(bad_records):
        if relation.find(column.name) is not None and column.name not in shared_columns(model):
            message = f"the result has a column '{column.name}', which the quarantine fills itself"
            yield work.error(draft, "QuarantineColumn", message, place, "give the column another name in the query")
    if model.table.quarantine in draft.content.sources:
        message = f"the model reads {work.short(model.table.quarantine)}, which it writes itself"
        fix = "read it with a model of its own"
        yield work.error(draft, "QuarantineOfItself", message, work.place_of_table(draft, model.table), fix)


def check_quarantine_names(work: CompilationState) -> Iterator[Diagnostic]:
    """A model's table may not have the name of another's quarantine."""
    if not work.quarantines:
        return
    owners = {str(table).lower(): beside for table, beside in work.quarantines.items() if _is_written(work, table)}
    for table, draft in work.models.items():
        beside = owners.get(str(table).lower())
        if beside is not None:
            message = f"{work.short(table)} is where the rows go that {work.short(beside)} quarantines"
            yield work.error(draft, "QuarantineName", message, Place(draft.file), "rename one of them")


def _is_written(work: CompilationState, quarantine: TableName) -> bool:
    draft = work.models[work.quarantines[quarantine]]
    return refuses_rows(draft) or reads_bad_records(work, draft)


def _is_own(model: Model, place: Place) -> bool:
    """A setting of a whole folder applies only to the models that it fits."""
    written = PurePosixPath(place.file)
    return written.parent == model.path.parent and written.name != "_defaults.toml"
