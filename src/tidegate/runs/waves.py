"""Builds models wave by wave: the models of a wave in parallel, and none downstream of a failed one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace

from tidegate.errors import TidegateError
from tidegate.names import TableName
from tidegate.planner.inputs import tables_behind
from tidegate.results import ModelResult
from tidegate.runs.context import RunContext
from tidegate.runs.model_run import run_model
from tidegate.runs.reads import tables_read_by_checks
from tidegate.runs.tally import ModelOutcome, Outcomes

__all__ = ["downstream_of", "run_waves"]

_FAIL_FAST = "blocked: an earlier model failed (fail-fast)"
_NOT_TRIED = "blocked: not tried, Spark's JVM ended too often (raise [spark] memory, or lower [run] concurrency)"
_POLL_SECONDS = 0.1
_CANCEL_SECONDS = 1.5
"""How long a cancelled model may take to end: Spark cannot interrupt a query while it plans it."""


def run_waves(
    run: RunContext,
    tables: Collection[TableName],
    concurrency: int,
    after_model: Callable[[TableName, ModelOutcome], ModelOutcome] = lambda table, outcome: outcome,
    after_wave: Callable[[Outcomes], Iterable[TableName]] = lambda outcomes: (),
) -> Outcomes:
    """Build `tables` in order. `after_model` may replace an outcome; `after_wave` returns tables that are held back."""
    outcomes: Outcomes = {}
    held: set[TableName] = set()
    pool = ThreadPoolExecutor(max_workers=concurrency, thread_name_prefix="model")
    try:
        for wave in run.compiled.waves:
            ready, done = [], Outcomes()
            for table in (table for table in wave if table in tables):
                reason = _blocked(run, table, outcomes, held)
                if reason:
                    done[table] = _not_run(run, table, reason)
                else:
                    ready.append(table)
            done.update(_run_though_spark_dies(run, pool, ready, after_model))
            held.update(after_wave(done))
            outcomes.update(done)
    finally:
        # A cancelled model that does not end is abandoned; the process is about to end.
        pool.shutdown(wait=not run.cancellation.requested, cancel_futures=True)
    return outcomes


def _run_wave(
    run: RunContext,
    pool: ThreadPoolExecutor,
    tables: Collection[TableName],
    after_model: Callable[[TableName, ModelOutcome], ModelOutcome],
) -> Outcomes:
    failed = threading.Event()

    started: dict[TableName, float] = {}

    def work(table: TableName) -> ModelOutcome:
        started[table] = run.clock.monotonic()
        if failed.is_set() and _fails_fast(run):
            return _not_run(run, table, _FAIL_FAST)
        if stop := run.guard.reason_to_stop():
            return _not_run(run, table, f"blocked: {stop}")
        if (failure := run.unreadable.get(table)) is not None:
            failed.set()
            return _failed(run, table, failure)
        if run.builder.died:
            return ModelOutcome(_blocked_result(run, table, _NOT_TRIED), lost=True)
        with run.use.building():
            built = run_model(run, table)
        if built.lost:
            return built
        outcome = after_model(table, built)
        run.guard.add_result(outcome.result)
        if outcome.result.status == "failed":
            failed.set()
        return outcome

    futures: dict[Future[ModelOutcome], TableName] = {pool.submit(work, table): table for table in tables}
    pending = set(futures)
    patience = _CANCEL_SECONDS
    while pending and patience > 0:
        # A short wait: signal handlers run only between waits, and interrupting is repeated until all have ended.
        _, pending = wait(pending, timeout=_POLL_SECONDS)
        run.guard.enforce()
        if run.cancellation.requested:
            run.cancellation.interrupt_all()
            patience -= _POLL_SECONDS
    return {
        table: _not_run(run, table, "cancelled", started.get(table)) if future in pending else future.result()
        for future, table in futures.items()
    }


def _run_though_spark_dies(
    run: RunContext,
    pool: ThreadPoolExecutor,
    tables: Collection[TableName],
    after_model: Callable[[TableName, ModelOutcome], ModelOutcome],
) -> Outcomes:
    """A wave. Where the builder dies under several models, any of them may be the cause, so each is tried again alone.
    One that was alone when it died has failed. Where it died too often, the rest is not tried."""
    done, waiting, suspects = Outcomes(), list(tables), list[TableName]()
    while waiting or suspects:
        cancelled = run.cancellation.requested
        if run.builder.died and (cancelled or not run.builder.restart()):
            for table in (*suspects, *waiting):
                done[table] = _not_run(run, table, "cancelled" if cancelled else _NOT_TRIED)
            break
        batch, waiting, suspects = ([suspects[0]], waiting, suspects[1:]) if suspects else (waiting, [], [])
        outcomes = _run_wave(run, pool, batch, after_model)
        lost = [table for table in batch if outcomes[table].lost]
        under_way = [table for table in lost if outcomes[table].result.status == "failed"]
        done.update({table: outcomes[table] for table in batch if table not in lost})
        waiting += [table for table in lost if table not in under_way]
        if len(under_way) == 1:
            error = run.builder.error(f"Spark's JVM ended while this model was built ({run.builder.why})")
            done[under_way[0]] = _died_under(run, outcomes[under_way[0]], error)
            run.guard.add_result(done[under_way[0]].result)
        else:
            suspects += under_way
    return done


def _blocked(run: RunContext, table: TableName, outcomes: Outcomes, held: set[TableName]) -> str | None:
    upstreams = tables_behind(run.compiled.models[table].depends_on, run.compiled)
    failed = [name for name in upstreams if name in outcomes and not outcomes[name].usable]
    if run.cancellation.requested:
        return "cancelled"
    if failed:
        return f"blocked: upstream failed ({', '.join(run.short(name) for name in failed)})"
    waiting = [name for name in _tables_seen_by(run, table) if name in held] if held else []
    if waiting:
        return f"blocked: upstream not published ({', '.join(run.short(name) for name in waiting)})"
    if _fails_fast(run) and any(outcome.result.status == "failed" for outcome in outcomes.values()):
        return _FAIL_FAST
    return None


def _fails_fast(run: RunContext) -> bool:
    return run.options.fail_fast or run.settings.run.fail_fast


def _not_run(run: RunContext, table: TableName, reason: str, since: float | None = None) -> ModelOutcome:
    """`since`: when it was started, if it was, by the run's clock."""
    duration = 0 if since is None else round((run.clock.monotonic() - since) * 1000)
    result = replace(_blocked_result(run, table, reason), duration_ms=duration)
    run.emit("after_model_run", run.short(table), {"result": result})
    return ModelOutcome(result)


def _blocked_result(run: RunContext, table: TableName, reason: str) -> ModelResult:
    strategy = run.compiled.models[table].model.settings.written_as
    status = "cancelled" if reason == "cancelled" else "blocked"
    return ModelResult(run.short(table), status, strategy, None, reason)


def _failed(run: RunContext, table: TableName, error: TidegateError) -> ModelOutcome:
    """The outcome of a model that cannot be tried."""
    name, strategy = run.short(table), run.compiled.models[table].model.settings.written_as
    result = ModelResult(name, "failed", strategy, None, "").failed(error)
    run.emit("before_model_run", name, {})
    _report_failure(run, result)
    return ModelOutcome(result)


def _died_under(run: RunContext, outcome: ModelOutcome, error: TidegateError) -> ModelOutcome:
    """The outcome of a model that was being built when the JVM ended: with its time and phases until then."""
    result = outcome.result.failed(error)
    last = [{**attempt, "failure_kind": result.failure_kind, "error": result.error} for attempt in result.attempts[-1:]]
    result = replace(result, attempts=(*result.attempts[:-1], *last))
    _report_failure(run, result)
    return replace(outcome, result=result, lost=False)


def _report_failure(run: RunContext, result: ModelResult) -> None:
    run.emit("model_error", result.model, {"error": result.error, "failure_kind": result.failure_kind})
    run.emit("after_model_run", result.model, {"result": result})


def downstream_of(run: RunContext, tables: Iterable[TableName], among: Collection[TableName]) -> set[TableName]:
    """`tables` and everything in `among` that reads them, or whose checks do, however far down."""
    downstream = set(tables)
    for wave in run.compiled.waves:
        downstream |= {t for t in wave if t in among and not downstream.isdisjoint(_tables_seen_by(run, t))}
    return downstream


def _tables_seen_by(run: RunContext, table: TableName) -> tuple[TableName, ...]:
    """Tables that its query and its checks read, also through views, which may not be selected themselves."""
    model = run.compiled.models[table]
    checks = tables_read_by_checks(run, model, run.values)
    return tables_behind({*model.depends_on, *checks} - {table}, run.compiled)
