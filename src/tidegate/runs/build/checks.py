"""The gates of a run: what must hold on the branch before a table may go out, and what is looked at afterwards."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from tidegate.checks.values import Check, Stage
from tidegate.compiler.values import CompiledModel, RunValues
from tidegate.errors import QualityError
from tidegate.lake.metadata import TableMetadata
from tidegate.lake.port import MAIN
from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.runs.build.answering import Answering
from tidegate.runs.build.masking import sees_hidden, without_values
from tidegate.runs.build.source_checks import unchecked
from tidegate.runs.context import RunContext
from tidegate.runs.result import CheckResult
from tidegate.spark.failures import read_failure
from tidegate.spark.session import child_session, use_pool
from tidegate.write.added import added_rows, newer_snapshots

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["check_before_publish", "check_published", "failure_of"]

_CHANGE_IT = (
    "Change the check: correct {}, or the column that it reads, so that it can run, and run again: main stays as it is "
    "until then."
)
_WRITTEN = "tidegate_written"


def check_before_publish(
    run: RunContext,
    model: CompiledModel,
    values: RunValues,
    session: SparkSession,
    results: list[CheckResult],
    before: TableMetadata | None = None,
    settled: Collection[CheckResult] = (),
) -> None:
    """Append a result per constraint, audit and test; raise QualityError if one of severity error did not pass.

    `before`: the table that this run added to; None where all of its rows are this run's. `settled`: results that are
    known already, of constraints that were asked while the rows were written.
    """
    checks = [check for check in model.checks if check.stage is not Stage.AFTER_PUBLISH]
    if not checks:
        return
    name = run.short(model.model.table)
    run.emit("before_checks", name, {"checks": len(checks), "phase": "quality_tests"})
    known = {result.name: result for result in settled}
    asked = [c for c in checks if c.stage is not Stage.BEFORE_WRITE or c.name not in known]
    constrained = any(check.stage is Stage.BEFORE_WRITE for check in asked)
    written = _written(run, model.model.table, session, before) if before is not None and constrained else None
    answers = iter(_answering(run, run.lake, session, values).answer(model, asked, written))
    found = [next(answers) if check in asked else known[check.name] for check in checks]
    run.cancellation.check()
    _tell(run, name, found)
    results.extend(found)
    run.emit("after_checks", name, {})
    if failure := failure_of(found, checks):
        raise failure


def check_published(run: RunContext, tables: Iterable[TableName]) -> tuple[CheckResult, ...]:
    """The warnings of tables that have just been published, read from main. Never raises for what they find."""
    found: list[CheckResult] = []
    main = BranchView(run.catalog, MAIN)
    for table in sorted(tables):
        model = run.compiled.models.get(table)
        checks = [c for c in model.checks if c.stage is Stage.AFTER_PUBLISH] if model else []
        if model is None or not checks:
            continue
        name = run.short(table)
        try:
            run.cancellation.check()
            conf = {**run.catalog.spark_conf(MAIN), **run.source_conf}
            session = child_session(run.root, conf, run.catalog.spark_catalog(MAIN))
            use_pool(session, name)
            values = RunValues(run.started_at.isoformat(), vars=run.vars)
            with run.cancellation.watching(session):
                results = _answering(run, main, session, values).answer(model, checks)
            run.cancellation.check()
        except Exception as error:
            why = read_failure(error).message
            why = without_values(why) if sees_hidden(run.compiled, model) else why
            run.emit("warning", name, {"message": f"{name}: its warnings could not be checked: {why}"})
            results = tuple(unchecked(name, check, why) for check in checks)
        _tell(run, name, results)
        found += results
    return tuple(found)


def failure_of(results: Collection[CheckResult], checks: Sequence[Check]) -> QualityError | None:
    """What keeps the table from being published: the first, and how many more there are."""
    places = {(check.stage, check.name): check.place for check in checks}
    blocking = [result for result in results if result.blocks]
    if not blocking:
        return None
    first = blocking[0]
    place = places[Stage(first.stage), first.name]
    more = f" (and {len(blocking) - 1} more)" if len(blocking) > 1 else ""
    where = place.file if first.kind == "test" else f"{place.file}:{place.line}"
    change = _CHANGE_IT.format(where) if first.status == "error" else None
    return QualityError(f"{first.told}{more}", where=where, remedy=first.remediation or change)


def _written(run: RunContext, table: TableName, session: SparkSession, before: TableMetadata) -> str | None:
    """A view of the rows that were written since `before`; None where those are all, or only Iceberg can tell."""
    now = run.lake.table(table)
    if now is None or now.uuid != before.uuid or before.current is None:
        return None
    since = before.current.sequence_number
    if newer_snapshots(now, since):
        rows = added_rows(session, table, now, since)
    else:
        rows = session.sql(f"SELECT * FROM {table.quoted} WHERE false")
    if rows is None:
        return None
    rows.createOrReplaceTempView(_WRITTEN)
    return _WRITTEN


def _answering(run: RunContext, lake: BranchView, session: SparkSession, values: RunValues) -> Answering:
    return Answering(
        run.compiled,
        run.settings,
        run.project,
        lake,
        session,
        values,
        run.functions,
        lambda: run.cancellation.requested,
    )


def _tell(run: RunContext, name: str, results: Iterable[CheckResult]) -> None:
    for result in results:
        run.emit("check_result", name, {"result": result})
