"""A contract's silver table: new rows of bronze through the stages of the contract, to the table and its quarantine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tidegate.amounts import plural
from tidegate.compiler import bind
from tidegate.compiler.table_columns import ROW_IDENTITY
from tidegate.contracts.ingestion import COMMIT_TIME, SEQUENCE, Ingestion
from tidegate.faults import fault
from tidegate.lake.metadata import TableMetadata
from tidegate.names import TableName, quote
from tidegate.planner.decide import SHAPE_PROPERTY
from tidegate.transform import Sources
from tidegate.transform.frames import new_rows
from tidegate.transform.silver import STAGE, STAGES, StageCounts, ValidatedRows, mark_rows, validated
from tidegate.transform.silver.replayed_rows import replayed_rows
from tidegate.write import WriteOutcome
from tidegate.write.quarantine_status import Replayed, StatusChange
from tidegate.write.quarantine_table import write_beside_refused
from tidegate.write.request import DELETED, DeleteRequest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tidegate.runs.build.table_build import TableBuild

__all__ = ["write_silver"]

_IDENTITY = (*ROW_IDENTITY, "_contract_version")
"""Columns of the quarantine by which a row that was refused before is recognised."""

_MOST_RULES = 6
_TOMBSTONES, _PRESENT, _REPLAYED = "__tidegate_tombstones", "__tidegate_present", "__tidegate_replayed"


def write_silver(build: TableBuild) -> WriteOutcome:
    """Every row that was read is in the table, in the quarantine, or counted as what it was."""
    run, decision, session = build.run, build.decision, build.session
    stage = build.model.model.stage
    assert stage is not None
    ingestion = stage.ingestion
    with build.phases.timed("build_result"):
        run.emit("phase", build.name, {"phase": "build_result", "step": 1, "steps": 1})
        build.query = bind(run.compiled, build.table, build.values())
        build.attempt.sql = build.query.sql
        bronze = build.query.reads[0].table
        assert bronze is not None
        sources = Sources(build.table, run.lake, decision.rebuild, {}, decision.inserted_since)
        delivered = _replayed(build, bronze) if decision.replay else new_rows(session, build.query, sources)
    fault("after_build", build.table)
    exists = not decision.rebuild and isinstance(run.lake.table(build.table), TableMetadata)
    rows_judged = validated(
        session,
        delivered,
        ingestion.silver,
        ingestion.id,
        ingestion.version,
        run.run_id,
        run.started_at,
        target=build.table.quoted if exists else None,
    )
    with build.phases.timed("iceberg_write"), rows_judged as rows:
        run.emit("before_materialize", build.name, {"phase": "iceberg_write"})
        with _deletions(build, ingestion, rows, bronze, exists) as deletion:
            request = build.request(rows.valid, dropped=_dropped(build), rebuild=decision.rebuild)
            fault("before_write", build.table)
            with _marks(build, rows) as replayed:
                outcome = write_beside_refused(
                    replace(request, deletion=deletion),
                    rows.refused,
                    _IDENTITY,
                    whole=decision.rebuild,
                    replayed=replayed,
                )
            fault("after_write", build.table)
        build.attempt.stages = _stages(rows.counts, outcome)
        build.notes += _notes(ingestion, rows)
    properties = outcome.properties if decision.replay else {**outcome.properties, SHAPE_PROPERTY: ingestion.shape}
    return replace(outcome, rows_quarantined=sum(rows.counts.quarantined.values()), properties=properties)


def _replayed(build: TableBuild, bronze: TableName) -> DataFrame:
    replay, quarantine = build.run.options.replay, build.run.lake.table(build.table.quarantine)
    assert replay is not None
    assert quarantine is not None
    return replayed_rows(build.session, bronze, build.table.quarantine, quarantine, replay.rows)


@contextmanager
def _marks(build: TableBuild, rows: ValidatedRows) -> Iterator[Replayed | None]:
    run, replay = build.run, build.run.options.replay
    if not build.decision.replay or replay is None:
        yield None
        return
    rows.marked.createOrReplaceTempView(_REPLAYED)
    try:
        yield Replayed(_REPLAYED, StatusChange(replay.by, run.started_at, run.run_id))
    finally:
        build.session.catalog.dropTempView(_REPLAYED)


def _dropped(build: TableBuild) -> Mapping[str, str]:
    return dict(build.former.dropped_columns) if build.former else {}


@contextmanager
def _deletions(
    build: TableBuild, ingestion: Ingestion, rows: ValidatedRows, bronze: TableName, exists: bool
) -> Iterator[DeleteRequest | None]:
    """What the writer must know of keys that are gone.

    A table that is rebuilt reads all snapshots of bronze, and has no key that only the former ones have.
    """
    rules = ingestion.silver.deletion
    if rules is None:
        yield None
        return
    views: dict[str, DataFrame] = {}
    taken: datetime | None = None
    keys = [quote(name) for name in ingestion.silver.key]
    if rules.inferred:
        # Replayed rows are no snapshot: what is gone is known from all of bronze.
        every = mark_rows(build.session.table(bronze.quoted), ingestion.silver) if build.decision.replay else None
        present = _present(build, ingestion, rows if every is None else replace(rows, marked=every), bronze)
        if present is not None:
            views[_PRESENT], taken = present
    elif exists:
        views[_TOMBSTONES] = _tombstones(build, ingestion, bronze).select(*keys, COMMIT_TIME, SEQUENCE)
    for name, frame in views.items():
        frame.createOrReplaceTempView(name)
    try:
        names = {view: view if view in views else None for view in (_PRESENT, _TOMBSTONES)}
        yield DeleteRequest(rules, names[_PRESENT], names[_TOMBSTONES], taken)
    finally:
        for name in views:
            build.session.catalog.dropTempView(name)


def _tombstones(build: TableBuild, ingestion: Ingestion, bronze: TableName) -> DataFrame:
    """The delete signals of all of bronze: a row that arrives after its own delete must not come back to life."""
    rows = build.session.table(bronze.quoted)
    deletion = ingestion.silver.deletion
    if deletion is not None and deletion.indicator_column is None:
        rows = rows.where("_op = 'delete'")  # Iceberg leaves out files without one
    return mark_rows(rows, ingestion.silver).where(f"{DELETED} AND {STAGE} IS NULL")


def _present(
    build: TableBuild, ingestion: Ingestion, rows: ValidatedRows, bronze: TableName
) -> tuple[DataFrame, datetime] | None:
    """The keys of the newest complete snapshot, those of refused rows included, and when it was taken.

    A snapshot in which a row has no valid key or a record could not be read is none, because the key that seems to be
    gone may be that one's. What the one before it lacks is gone nevertheless, as it was when that was read alone.
    """
    from pyspark.sql import functions as f

    snapshot = f.col("_run_id")
    if ingestion.source.connector.reads_source:
        # A connector names the folder of its files after its run.
        snapshot = f.element_at(f.split(f.col("_source_file"), "/"), -2)
    keys = [f.col(quote(name)) for name in ingestion.silver.key]
    has_no_key = f.greatest(*(key.isNull() for key in keys), f.lit(False))
    newest = f.max(f.struct("_ingested_at", snapshot.alias("name"), "_commit_time"))
    snapshots = rows.marked.groupBy(snapshot).agg(newest.alias("of"), f.count_if(has_no_key).alias("keyless")).collect()
    unreadable = {row["of"]["name"]: row["keyless"] for row in snapshots}
    if build.run.lake.table(bronze.quarantine) is not None:
        for name, records in build.session.table(bronze.quarantine.quoted).groupBy(snapshot).count().collect():
            unreadable[name] = unreadable.get(name, 0) + records
    by_time = sorted((row["of"] for row in snapshots), reverse=True)
    if by_time and (count := unreadable[by_time[0]["name"]]):
        message = (
            f"no deletion was inferred, because {plural(count, 'row')} of the snapshot cannot be read or have no "
            "valid key, and may be those that seem to be gone. `tidegate quarantine list` counts them"
        )
        build.notes.append(message)
    for taken in by_time:
        if not unreadable[taken["name"]]:
            delivered = rows.marked.where(snapshot == taken["name"])
            return delivered.select(*keys).distinct(), taken["_commit_time"].astimezone(UTC)
    return None


def _stages(counts: StageCounts, outcome: WriteOutcome) -> Mapping[str, int]:
    found = {"read": counts.read, "valid": counts.valid}
    found |= {f"quarantined_{stage}": rows for stage, rows in counts.quarantined.items()}
    found |= {"deduplicated": counts.deduplicated, "delete_signals": counts.delete_signals}
    deletions = outcome.deletions
    if deletions is not None:
        found |= {"deletes_applied": deletions.applied, "deletes_ignored": deletions.ignored_late + deletions.unknown}
    return found


def _notes(ingestion: Ingestion, rows: ValidatedRows) -> Iterator[str]:
    if ingestion.silver.not_evaluated and rows.counts.read:
        names = ", ".join(ingestion.silver.not_evaluated)
        yield f"quality rules of other types than sql are not evaluated: {names}"
    if sum(rows.counts.quarantined.values()):
        yield from _refusals(rows.refused)


def _refusals(refused: DataFrame) -> Iterator[str]:
    """A line for each rule that refused rows, with the first of them."""
    from pyspark.sql import functions as f

    failure = f.explode("_failures").alias("failure")
    order = f.array_position(f.lit(list(STAGES)), f.col("failure.stage"))
    first = f.min_by(
        f.struct("failure.message", "_source_file", "_source_row"), f.struct("_source_file", "_source_row")
    )
    rules = (
        refused.select(failure, "_source_file", "_source_row")
        .groupBy("failure.stage", "failure.column", "failure.rule", order.alias("order"))
        .agg(f.count("*").alias("rows"), first.alias("first"))
        .orderBy("order", f.desc("rows"), "column", "rule")
        .limit(_MOST_RULES + 1)
        .collect()
    )
    for rule in rules[:_MOST_RULES]:
        example = rule["first"]
        where = f"{example['_source_file']}, record {example['_source_row']}"
        yield f"{plural(rule['rows'], 'row')} quarantined at {rule['stage']}: {example['message']} ({where})"
    if len(rules) > _MOST_RULES:
        yield "other rules refused rows too; `tidegate quarantine list` names them"
