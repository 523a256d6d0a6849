"""A contract's silver table: new rows of bronze through the stages of the contract, to the table and its quarantine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tidegate.amounts import plural
from tidegate.compiler import bind
from tidegate.compiler.hidden_columns import hidden_columns
from tidegate.compiler.table_columns import ROW_IDENTITY
from tidegate.contracts.ingestion import ContractStage, Ingestion
from tidegate.errors import FailureKind, QualityError, QueryError, TidegateError
from tidegate.faults import fault
from tidegate.lake.metadata import TableMetadata
from tidegate.names import TableName
from tidegate.planner.decide import SHAPE_PROPERTY
from tidegate.project.model import ModelSettings
from tidegate.quality.check_answers import REDACTED, is_about_hidden
from tidegate.quality.check_queries import mentioned
from tidegate.results import CheckResult
from tidegate.runs.build.result_frame import without_values
from tidegate.runs.build.source_deletes import source_deletes
from tidegate.transform import Sources
from tidegate.transform.frames import new_rows
from tidegate.transform.silver import QUALITY, STAGES, StageCounts, ValidatedRows, validated
from tidegate.transform.silver.replayed_rows import replayed_rows
from tidegate.transform.silver.row_uniqueness import deduplicated_by
from tidegate.transform.silver.sql_rules import ScalarFailure
from tidegate.write import WriteOutcome
from tidegate.write.quarantine_status import Replayed, StatusChange
from tidegate.write.quarantine_table import write_beside_refused

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tidegate.runs.build.table_build import TableBuild

__all__ = ["write_silver"]

_IDENTITY = (*ROW_IDENTITY, "_contract_version")
"""Columns of the quarantine by which a row that was refused before is recognised."""

_MOST_RULES = 6
_REPLAYED = "__tidegate_replayed"


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
        sources = Sources(build.table, run.lake, decision.rebuild, {}, decision.inserted_since)
        bronze = build.query.reads[0].table
        assert bronze is not None
        delivered = _replayed(build, bronze) if decision.replay else new_rows(session, build.query, sources)
        build.notes += _without_indicator(ingestion, delivered.columns)
    fault("after_build", build.table)
    former = None if decision.rebuild else run.lake.table(build.table)
    exists = isinstance(former, TableMetadata)
    rows_judged = validated(
        session,
        delivered,
        ingestion.silver,
        ingestion.id,
        ingestion.version,
        run.run_id,
        run.started_at,
        target=_as_it_is(build.table, former) if isinstance(former, TableMetadata) else None,
        written_once=_is_written_once(build.settings, exists),
    )
    with (
        build.phases.timed("iceberg_write"),
        _placed(stage),
        rows_judged as rows,
        _shown_if_refused(build, stage, rows),
    ):
        if rows.marked is not None:  # else they are counted by the write
            build.attempt.stages = _stages(rows.counts)
            _require_rules(build, stage, rows)
        run.emit("before_materialize", build.name, {"phase": "iceberg_write"})
        with source_deletes(build, ingestion, rows, delivered if exists else None, bronze) as deletion:
            request = build.request(rows.valid, dropped=_dropped(build), rebuild=decision.rebuild)
            fault("before_write", build.table)
            with _marks(build, delivered) as replayed:
                outcome = write_beside_refused(
                    replace(request, deletion=deletion),
                    partial(_refused, build, rows),
                    _IDENTITY,
                    whole=decision.rebuild,
                    replayed=replayed,
                )
            fault("after_write", build.table)
        build.attempt.stages = _stages(rows.counts, outcome)
        build.notes += _notes(build, stage, rows)
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


def _as_it_is(table: TableName, metadata: TableMetadata) -> str | None:
    """Rows of the table as SQL that gives the same after the write; None where it has none."""
    snapshot = metadata.current_snapshot_id
    return None if snapshot is None else f"{table.quoted} VERSION AS OF {snapshot}"


def _is_written_once(settings: ModelSettings, exists: bool) -> bool:
    """Whether one statement reads the valid rows, once. Spark computes rows twice to sort them."""
    traits = settings.traits
    stages_rows = traits.writes_rows_as_they_come or traits.keeps_versions
    return not settings.sorted_by and (stages_rows or not exists)


def _refused(build: TableBuild, rows: ValidatedRows, outcome: WriteOutcome) -> DataFrame:
    """Raises QualityError where not each valid row was written, as far as the strategy writes each."""
    build.attempt.stages = _stages(rows.counts)
    valid = rows.counts.valid
    if build.settings.traits.writes_rows_as_they_come and outcome.rows_written != valid:
        raise QualityError(
            f"{plural(valid, 'row')} of {build.name} are valid, but {outcome.rows_written} were written",
            where=build.name,
            remedy="Run again: the rows changed while they were written.",
        )
    hidden = hidden_columns(build.run.compiled, build.table)
    return without_values(rows.refused, {mask.column.lower() for mask in build.model.model.masks}, hidden)


@contextmanager
def _placed(stage: ContractStage) -> Iterator[None]:
    """An error about a quality rule names it by its query: here its place in the contract is known."""
    try:
        yield
    except QueryError as error:
        places = _places(stage)
        named = (rule.name for rule in stage.ingestion.silver.quality if rule.query.strip() == error.where)
        error.where = next((f"{places[name]}: {error.where}" for name in named), error.where)
        raise


@contextmanager
def _shown_if_refused(build: TableBuild, stage: ContractStage, rows: ValidatedRows) -> Iterator[None]:
    """Where a gate closes no table holds the rows that it refused, so the run shows some."""
    try:
        yield
    except TidegateError as error:
        if error.kind is FailureKind.QUALITY_FAILED and rows.are_counted:
            for note in (*build.notes, *_notes(build, stage, rows)):
                build.run.emit("warning", build.name, {"message": f"{build.name}: {note}"})
        raise


def _require_rules(build: TableBuild, stage: ContractStage, rows: ValidatedRows) -> None:
    """Rules about the whole table, which blame no row, let all rows in or none."""
    if not rows.failures:
        return
    hidden = hidden_columns(build.run.compiled, build.table)
    texts = [_gate_failure(failure, hidden) for failure in rows.failures]
    build.attempt.failed_rules = tuple(
        CheckResult(
            build.name,
            failure.rule.name,
            stage="before_write",
            severity="error",
            status="failed",
            value=_gate_value(failure, hidden),
            expected=failure.expected,
            duration_ms=0,
            description=failure.rule.query.strip(),
        )
        for failure in rows.failures
    )
    ingestion, places = stage.ingestion, _places(stage)
    bronze = f"bronze.{ingestion.source.table}"
    corrected = "Deliver rows that correct it: a row replaces an older one with its key. Or change"
    raise QualityError(
        f"{'; '.join(texts)}: the table takes none of {plural(rows.counts.valid, 'valid row')}",
        where=", ".join(dict.fromkeys(places[failure.rule.name] for failure in rows.failures)),
        remedy=f"{corrected if deduplicated_by(ingestion.silver) else 'Change'} the rule in the contract, or move the "
        f"file that is wrong out of landing zone {ingestion.source.zone} and run `tidegate run {bronze} {build.name} "
        f"--full-refresh`. Until then the rows stay in {bronze}, and each run judges them again, with new ones.",
    )


def _reads_hidden(failure: ScalarFailure, hidden: frozenset[str]) -> bool:
    return (failure.rule.column or "").lower() in hidden or bool(mentioned(failure.rule.query, hidden))


def _gate_value(failure: ScalarFailure, hidden: frozenset[str]) -> Any:
    """Of a rule that reads hidden columns, only whether it holds is shown."""
    if _reads_hidden(failure, hidden):
        return REDACTED
    return failure.value if isinstance(failure.value, (int, float, str, bool)) else str(failure.value)


def _gate_failure(failure: ScalarFailure, hidden: frozenset[str]) -> str:
    if _reads_hidden(failure, hidden):
        return f"quality rule '{failure.rule.name}' fails; its value may come from a hidden column"
    return str(failure)


def _dropped(build: TableBuild) -> Mapping[str, str]:
    return dict(build.former.dropped_columns) if build.former else {}


def _stages(counts: StageCounts, outcome: WriteOutcome | None = None) -> Mapping[str, int]:
    found = {"read": counts.read, "valid": counts.valid}
    found |= {f"quarantined_{stage}": rows for stage, rows in counts.quarantined.items()}
    found |= {"deduplicated": counts.deduplicated, "delete_signals": counts.delete_signals}
    deletions = outcome.deletions if outcome else None
    if deletions is not None:
        found |= {"deletes_applied": deletions.applied, "deletes_ignored": deletions.ignored_late + deletions.unknown}
    return found


def _places(stage: ContractStage) -> dict[str, str]:
    """Of the quality rules in the contract, as file and line."""
    rules = zip(stage.ingestion.silver.quality, stage.rule_places, strict=True)
    return {rule.name: f"{place.file}:{place.line}" for rule, place in rules}


def _without_indicator(ingestion: Ingestion, bronze: Sequence[str]) -> Iterator[str]:
    indicator = ingestion.silver.indicator
    known = {name.lower() for name in (*bronze, *(column.name for column in ingestion.silver.columns))}
    if indicator is not None and indicator.column.lower() not in known:
        yield (
            f"no row says that its key is deleted: deletion_indicator_column names column '{indicator.column}', which "
            "neither bronze nor silver has"
        )


def _notes(build: TableBuild, stage: ContractStage, rows: ValidatedRows) -> Iterator[str]:
    ingestion = stage.ingestion
    if ingestion.silver.not_evaluated and rows.counts.read:
        names = ", ".join(ingestion.silver.not_evaluated)
        yield f"not evaluated, of what the contract asks: {names}"
    if sum(rows.counts.quarantined.values()):
        hidden = hidden_columns(build.run.compiled, build.table)
        yield from _refusals(rows.refused, _places(stage), hidden)


def _refusals(refused: DataFrame, places: Mapping[str, str], hidden: frozenset[str]) -> Iterator[str]:
    """A line for each rule that refused rows, with the first of them. `places`: of quality rules.
    `hidden`: columns, in lower case, whose values are not shown, nor the messages that quote them."""
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
        if rule["stage"] == QUALITY:
            where += f"; the rule is in {places[rule['rule']]}"
        message = example["message"]
        if is_about_hidden(rule["column"], hidden):
            message = f"{rule['column']} breaks the rule {rule['rule']}; its values are hidden"
        yield f"{plural(rule['rows'], 'row')} quarantined at {rule['stage']}: {message} ({where})"
    if len(rules) > _MOST_RULES:
        yield "other rules refused rows too; `tidegate quarantine list` names them"
