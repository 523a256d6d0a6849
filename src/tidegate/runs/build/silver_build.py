"""A contract's silver table: new rows of bronze through the stages of the contract, to the table and its quarantine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from tidegate.amounts import plural
from tidegate.compiler import bind
from tidegate.compiler.table_columns import ROW_IDENTITY
from tidegate.contracts.ingestion import COMMIT_TIME, SEQUENCE, Ingestion
from tidegate.errors import FailureKind, QualityError, TidegateError
from tidegate.faults import fault
from tidegate.lake.metadata import TableMetadata
from tidegate.names import TableName, quote
from tidegate.planner.decide import SHAPE_PROPERTY
from tidegate.results import CheckResult
from tidegate.transform import Sources
from tidegate.transform.frames import new_rows
from tidegate.transform.silver import STAGE, STAGES, StageCounts, ValidatedRows, mark_rows, validated
from tidegate.transform.silver.replayed_rows import replayed_rows
from tidegate.transform.silver.row_uniqueness import deduplicated_by
from tidegate.write import WriteOutcome
from tidegate.write.quarantine_status import Replayed, StatusChange
from tidegate.write.quarantine_table import write_beside_refused
from tidegate.write.request import DELETED, SNAPSHOT, DeleteRequest, Snapshot
from tidegate.write.staging import persisted_view

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tidegate.runs.build.table_build import TableBuild

__all__ = ["write_silver"]

_IDENTITY = (*ROW_IDENTITY, "_contract_version")
"""Columns of the quarantine by which a row that was refused before is recognised."""

_MOST_RULES = 6
_EPOCH = datetime.fromtimestamp(0, UTC)
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
    with build.phases.timed("iceberg_write"), rows_judged as rows, _shown_if_refused(build, ingestion, rows):
        build.attempt.stages = _stages(rows.counts)
        _require_rules(build, ingestion, rows)
        run.emit("before_materialize", build.name, {"phase": "iceberg_write"})
        with _deletions(build, ingestion, rows, delivered if exists else None, bronze) as deletion:
            request = build.request(rows.valid, dropped=_dropped(build), rebuild=decision.rebuild)
            fault("before_write", build.table)
            with _marks(build, delivered) as replayed:
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
def _marks(build: TableBuild, delivered: DataFrame) -> Iterator[Replayed | None]:
    run, replay = build.run, build.run.options.replay
    if not build.decision.replay or replay is None:
        yield None
        return
    delivered.createOrReplaceTempView(_REPLAYED)
    try:
        yield Replayed(_REPLAYED, StatusChange(replay.by, run.started_at, run.run_id))
    finally:
        build.session.catalog.dropTempView(_REPLAYED)


@contextmanager
def _shown_if_refused(build: TableBuild, ingestion: Ingestion, rows: ValidatedRows) -> Iterator[None]:
    """Where a gate closes no table holds the rows that it refused, so the run shows some."""
    try:
        yield
    except TidegateError as error:
        if error.kind is FailureKind.QUALITY_FAILED:
            for note in (*build.notes, *_notes(ingestion, rows)):
                build.run.emit("warning", build.name, {"message": f"{build.name}: {note}"})
        raise


def _require_rules(build: TableBuild, ingestion: Ingestion, rows: ValidatedRows) -> None:
    """Rules about the whole table, which blame no row, let all rows in or none."""
    if not rows.failures:
        return
    build.attempt.failed_rules = tuple(
        CheckResult(
            build.name,
            failure.rule.name,
            stage="before_write",
            severity="error",
            status="failed",
            value=failure.value if isinstance(failure.value, (int, float, str, bool)) else str(failure.value),
            expected=failure.expected,
            duration_ms=0,
            description=failure.rule.query.strip(),
        )
        for failure in rows.failures
    )
    bronze = f"bronze.{ingestion.source.table}"
    corrected = "Deliver rows that correct it: a row replaces an older one with its key. Or change"
    raise QualityError(
        f"{'; '.join(map(str, rows.failures))}: the table takes none of {plural(rows.counts.valid, 'valid row')}",
        where=str(build.model.model.path),
        remedy=f"{corrected if deduplicated_by(ingestion.silver) else 'Change'} the rule in the contract, or move the "
        f"file that is wrong out of landing zone {ingestion.source.zone} and run `tidegate run {bronze} {build.name} "
        f"--full-refresh`. Until then the rows stay in {bronze}, and each run judges them again, with new ones.",
    )


def _dropped(build: TableBuild) -> Mapping[str, str]:
    return dict(build.former.dropped_columns) if build.former else {}


@contextmanager
def _deletions(
    build: TableBuild, ingestion: Ingestion, rows: ValidatedRows, delivered: DataFrame | None, bronze: TableName
) -> Iterator[DeleteRequest | None]:
    """What the writer must know of keys that are gone. `delivered`: the rows of bronze that are new to the table; None
    where it is built from all of them, so that every delete signal is among them."""
    rules, session = ingestion.silver.deletion, build.session
    if rules is None:
        yield None
        return
    with ExitStack() as stack:
        request = DeleteRequest(rules)
        if rules.inferred:
            if build.decision.replay and delivered is not None:
                keys, snapshots = _snapshots_after(build, ingestion, rows, delivered, bronze)
            else:
                keys, snapshots = _snapshots(build, ingestion, rows, bronze)
            if any(snapshot.whole for snapshot in snapshots):
                present = stack.enter_context(persisted_view(session, keys, _PRESENT, on_disk=True))
                request = replace(request, present=present, snapshots=snapshots)
        elif delivered is not None:
            signals = _tombstones(build, ingestion, delivered, bronze)
            if signals is not None:
                signals.createOrReplaceTempView(_TOMBSTONES)
                stack.callback(session.catalog.dropTempView, _TOMBSTONES)
                request = replace(request, tombstones=_TOMBSTONES)
        yield request


def _tombstones(build: TableBuild, ingestion: Ingestion, delivered: DataFrame, bronze: TableName) -> DataFrame | None:
    """The delete signals of bronze that a new row may be older than: it must not come back to life. None: there are
    none, as no new row is about a key that lives.

    Rows mostly come in the order of their times, and then Iceberg leaves out all files but the new ones.
    """
    deletion = ingestion.silver.deletion
    assert deletion is not None
    live = delivered.where("coalesce(_op <> 'delete', true)").selectExpr(f"unix_micros(min({COMMIT_TIME})) AS first")
    oldest = live.collect()[0]["first"]
    if oldest is None:
        return None
    rows = build.session.table(bronze.quoted).where(f"{COMMIT_TIME} >= timestamp_micros({oldest})")
    if deletion.indicator_column is None:
        rows = rows.where("_op = 'delete'")  # Iceberg leaves out files without one
    keys = [quote(name) for name in ingestion.silver.key]
    signals = mark_rows(rows, ingestion.silver).where(f"{DELETED} AND {STAGE} IS NULL")
    return signals.select(*keys, COMMIT_TIME, SEQUENCE)


def _snapshots(
    build: TableBuild, ingestion: Ingestion, rows: ValidatedRows, bronze: TableName
) -> tuple[DataFrame, tuple[Snapshot, ...]]:
    """The keys of each complete snapshot that rows are of, those of refused rows included; and the snapshots.

    From one in which a row has no valid key or a record could not be read nothing can be inferred, because the key that
    seems to be gone may be that one's. What those before it lack is gone nevertheless, as it was when they were read
    alone.
    """
    from pyspark.sql import functions as f

    snapshot = f.col("_run_id")
    if ingestion.source.connector.reads_source:
        # A connector names the folder of its files after its run.
        snapshot = f.element_at(f.split(f.col("_source_file"), "/"), -2)
    keys = [f.col(quote(name)) for name in ingestion.silver.key]
    has_no_key = f.greatest(*(key.isNull() for key in keys), f.lit(False))
    found = rows.marked.groupBy(snapshot.alias("name")).agg(
        f.max("_ingested_at").alias("ingested"),
        f.unix_micros(f.max(COMMIT_TIME)).alias("taken"),
        f.count_if(has_no_key).alias("keyless"),
    )
    by_time = found.orderBy("ingested", "name").collect()
    unreadable = {row["name"]: row["keyless"] for row in by_time}
    if by_time and build.run.lake.table(bronze.quarantine) is not None:
        refused = build.session.table(bronze.quarantine.quoted).where(snapshot.isin(list(unreadable)))
        for name, records in refused.groupBy(snapshot).count().collect():
            unreadable[name] += records
    if by_time and (count := unreadable[by_time[-1]["name"]]):
        message = (
            f"no deletion was inferred, because {plural(count, 'row')} of the snapshot cannot be read or have no "
            "valid key, and may be those that seem to be gone. `tidegate quarantine list` counts them"
        )
        build.notes.append(message)
    newest = f.max(f.struct(COMMIT_TIME, SEQUENCE)).alias("newest")
    present = rows.marked.groupBy(*keys, snapshot.alias(SNAPSHOT)).agg(newest).select(*keys, SNAPSHOT, "newest.*")
    snapshots = (
        Snapshot(row["name"], _EPOCH + timedelta(microseconds=row["taken"]), not unreadable[row["name"]])
        for row in by_time
    )
    return present, tuple(snapshots)


def _snapshots_after(
    build: TableBuild, ingestion: Ingestion, rows: ValidatedRows, delivered: DataFrame, bronze: TableName
) -> tuple[DataFrame, tuple[Snapshot, ...]]:
    """The same for replayed rows: those of their keys that the newest whole snapshot of bronze lacks are gone since."""
    from pyspark.sql import functions as f

    every = mark_rows(build.session.table(bronze.quoted), ingestion.silver)
    present, snapshots = _snapshots(build, ingestion, replace(rows, marked=every), bronze)
    newest = next((snapshot for snapshot in reversed(snapshots) if snapshot.whole), None)
    if newest is None:
        return present, ()
    replayed = Snapshot(_REPLAYED, newest.taken, whole=False)
    own = mark_rows(delivered, ingestion.silver).withColumn(SNAPSHOT, f.lit(replayed.name)).select(*present.columns)
    return own.unionByName(present.where(f.col(SNAPSHOT) == newest.name)), (replayed, newest)


def _stages(counts: StageCounts, outcome: WriteOutcome | None = None) -> Mapping[str, int]:
    found = {"read": counts.read, "valid": counts.valid}
    found |= {f"quarantined_{stage}": rows for stage, rows in counts.quarantined.items()}
    found |= {"deduplicated": counts.deduplicated, "delete_signals": counts.delete_signals}
    deletions = outcome.deletions if outcome else None
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
