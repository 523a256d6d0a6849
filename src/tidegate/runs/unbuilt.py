"""The outcomes of models that were not built, each reported as those of other models are."""

from __future__ import annotations

from dataclasses import replace

from tidegate.errors import TidegateError
from tidegate.names import TableName
from tidegate.results import ModelResult
from tidegate.runs.context import RunContext
from tidegate.runs.tally import ModelOutcome

__all__ = ["CANCELLED", "died_under", "not_built", "unbuildable"]

CANCELLED = "cancelled"
"""The reason of a model that a cancel kept from being built."""


def not_built(run: RunContext, table: TableName, reason: str, since: float | None = None) -> ModelOutcome:
    """`since`: when it was started, if it was, by the run's clock."""
    duration = 0 if since is None else round((run.clock.monotonic() - since) * 1000)
    status = "cancelled" if reason == CANCELLED else "blocked"
    result = ModelResult(run.short(table), status, _strategy(run, table), None, reason, duration_ms=duration)
    run.emit("after_model_run", result.model, {"result": result})
    return ModelOutcome(result)


def unbuildable(run: RunContext, table: TableName, error: TidegateError) -> ModelOutcome:
    """Of a model that cannot be tried."""
    result = ModelResult(run.short(table), "failed", _strategy(run, table), None, "").failed(error)
    run.emit("before_model_run", result.model, {})
    _report_failure(run, result)
    return ModelOutcome(result)


def died_under(run: RunContext, outcome: ModelOutcome) -> ModelOutcome:
    """Of a model that was being built when the JVM ended: with its time and phases until then."""
    result = outcome.result.failed(
        run.builder.error(f"Spark's JVM ended while this model was built ({run.builder.why})")
    )
    last = [{**attempt, "failure_kind": result.failure_kind, "error": result.error} for attempt in result.attempts[-1:]]
    result = replace(result, attempts=(*result.attempts[:-1], *last))
    _report_failure(run, result)
    return replace(outcome, result=result, lost=False)


def _strategy(run: RunContext, table: TableName) -> str:
    return run.compiled.models[table].model.settings.written_as


def _report_failure(run: RunContext, result: ModelResult) -> None:
    run.emit("model_error", result.model, {"error": result.error, "failure_kind": result.failure_kind})
    run.emit("after_model_run", result.model, {"result": result})
