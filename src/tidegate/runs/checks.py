"""The checks of a run: those that must pass before a table is published, and the warnings after it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from tidegate.checks.check_values import Check, Stage
from tidegate.compiler.compiled import CompiledModel
from tidegate.compiler.hidden_columns import touches_hidden_columns
from tidegate.errors import QualityError
from tidegate.lake.metadata import TableMetadata
from tidegate.names import TableName
from tidegate.quality.check_answers import redact_message
from tidegate.results import CheckResult
from tidegate.runs.builder import TableWork
from tidegate.runs.context import RunContext
from tidegate.spark.spark_errors import read_failure

__all__ = ["check_before_publish", "check_not_run", "check_published", "failure_of", "kind_of_check"]

_CHANGE_IT = (
    "Change the check: correct {}, or the column that it reads, so that it can run, and run again: main stays as it is "
    "until then."
)


def check_before_publish(
    run: RunContext,
    model: CompiledModel,
    work: TableWork,
    results: list[CheckResult],
    before: TableMetadata | None = None,
    settled: Collection[CheckResult] = (),
) -> None:
    """Append a result per constraint, audit and test; raise QualityError if one of severity error did not pass.

    `before`: the table that this run added to; None where all of its rows are this run's. `settled`: results of
    constraints that were already evaluated while the rows were written.
    """
    checks = [check for check in model.checks if check.stage is not Stage.AFTER_PUBLISH]
    if not checks:
        return
    name = run.short(model.model.table)
    run.emit("before_checks", name, {"checks": len(checks), "phase": "quality_tests"})
    settled_by_name = {result.name: result for result in settled}
    unsettled = [c for c in checks if c.stage is not Stage.BEFORE_WRITE or c.name not in settled_by_name]
    answers = iter(work.answer(unsettled, before))
    check_results = [next(answers) if check in unsettled else settled_by_name[check.name] for check in checks]
    run.cancellation.check()
    _emit_results(run, name, check_results)
    results.extend(check_results)
    run.emit("after_checks", name, {})
    if failure := failure_of(check_results, checks):
        raise failure


def check_published(run: RunContext, tables: Iterable[TableName]) -> tuple[CheckResult, ...]:
    """The warnings of tables that have just been published, read from main. Never raises for what they find."""
    all_results: list[CheckResult] = []
    for table in sorted(tables):
        model = run.compiled.models.get(table)
        checks = [c for c in model.checks if c.stage is Stage.AFTER_PUBLISH] if model else []
        if model is None or not checks:
            continue
        name = run.short(table)
        try:
            run.cancellation.check()
            results = run.builder.answer_published(run, model, checks)
            run.cancellation.check()
        except Exception as error:
            why = read_failure(error).message
            why = redact_message(why) if touches_hidden_columns(run.compiled, model) else why
            run.emit("warning", name, {"message": f"{name}: its warnings could not be checked: {why}"})
            results = tuple(check_not_run(name, check, why) for check in checks)
        _emit_results(run, name, results)
        all_results += results
    return tuple(all_results)


def failure_of(results: Collection[CheckResult], checks: Sequence[Check]) -> QualityError | None:
    """The error that keeps the table from being published: the first failure, and how many more there are."""
    places = {(check.stage, check.name): check.place for check in checks}
    blocking = [result for result in results if result.blocks]
    if not blocking:
        return None
    first = blocking[0]
    place = places[Stage(first.stage), first.name]
    more = f" (and {len(blocking) - 1} more)" if len(blocking) > 1 else ""
    where = place.file if first.kind == "test" else f"{place.file}:{place.line}"
    change = _CHANGE_IT.format(where) if first.status == "error" else None
    return QualityError(f"{first.message}{more}", where=where, remedy=first.remediation or change)


def _emit_results(run: RunContext, name: str, results: Iterable[CheckResult]) -> None:
    for result in results:
        run.emit("check_result", name, {"result": result})


def kind_of_check(check: Check) -> str:
    """Its kind as users know it."""
    if check.call is None:
        return "test"
    if check.call.keyed:
        return "check"
    return {Stage.BEFORE_WRITE: "constraint", Stage.BEFORE_PUBLISH: "audit", Stage.AFTER_PUBLISH: "warning"}[
        check.stage
    ]


def check_not_run(model: str, check: Check, why: str, remedy: str | None = None) -> CheckResult:
    """The result of a check that could not be run."""
    return CheckResult(
        model,
        check.name,
        str(check.stage),
        str(check.severity),
        "error",
        None,
        "",
        0,
        description=check.description,
        remediation=remedy or check.remediation,
        error=why,
        kind=kind_of_check(check),
    )
