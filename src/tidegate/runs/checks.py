"""The SQL tests of one model, run on the branch before anything is published."""

from __future__ import annotations

from tidegate.compiler import bind_test
from tidegate.compiler.values import CompiledModel, RunValues
from tidegate.errors import QualityError, TidegateError
from tidegate.project.model import QualityTest
from tidegate.quality import TestOutcome, run_sql_test
from tidegate.runs.context import RunContext
from tidegate.runs.result import CheckResult

__all__ = ["run_checks"]


def run_checks(run: RunContext, model: CompiledModel, values: RunValues, results: list[CheckResult]) -> None:
    """Append a result per test; raise QualityError if one of severity error did not pass."""
    tests = model.model.tests
    if not tests:
        return
    name = run.short(model.model.table)
    run.emit("before_checks", name, {"checks": len(tests), "phase": "quality_tests"})
    for test in tests:
        run.cancellation.check()
        result = _result(name, test, _run(run, model, test, values))
        results.append(result)
        run.emit("check_result", name, {"result": result})
    run.emit("after_checks", name, {})
    blocking = [result for result in results if result.status in ("failed", "error") and result.severity == "error"]
    if blocking:
        first = blocking[0]
        what = f"{first.value} row{'' if first.value == 1 else 's'}" if first.status == "failed" else first.error
        more = f" (and {len(blocking) - 1} more)" if len(blocking) > 1 else ""
        path = next(test.path for test in tests if test.name == first.name)
        raise QualityError(
            f"test {first.name} {'failed' if first.status == 'failed' else 'could not run'}: {what}{more}",
            where=str(path),
            remedy=first.remediation or None,
        )


def _run(run: RunContext, model: CompiledModel, test: QualityTest, values: RunValues) -> TestOutcome:
    try:
        query = bind_test(run.compiled, run.settings, run.project, test, model.model.table, values)
    except TidegateError as error:
        return TestOutcome("error", None, 0, error=str(error))
    with run.session(model.model.table) as session:
        outcome = run_sql_test(
            test, query.sql, session, run.settings.run.test_timeout, lambda: run.cancellation.requested
        )
    run.cancellation.check()
    return outcome


def _result(model: str, test: QualityTest, outcome: TestOutcome) -> CheckResult:
    return CheckResult(
        model=model,
        name=test.name,
        stage="before_publish",
        severity=str(test.severity),
        status=outcome.status,
        value=outcome.value,
        expected="0 rows",
        duration_ms=outcome.duration_ms,
        samples=outcome.samples,
        description=test.description,
        remediation=test.remediation,
        error=outcome.error,
    )
