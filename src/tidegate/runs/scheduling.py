"""Builds models side by side: each when all that it waits for have ended, and none downstream of a failed one."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Collection, Mapping
from functools import partial

from tidegate.names import TableName
from tidegate.planner.inputs import tables_behind
from tidegate.runs.build_order import BuildOrder, expected_seconds, upstreams_among
from tidegate.runs.context import RunContext
from tidegate.runs.model_run import run_model
from tidegate.runs.model_threads import ModelThreads
from tidegate.runs.reads import tables_looked_at
from tidegate.runs.tally import ModelOutcome, Outcomes
from tidegate.runs.unbuilt import CANCELLED, died_under, not_built, unbuildable

__all__ = ["AfterModel", "build_models"]

_FAIL_FAST = "blocked: an earlier model failed (fail-fast)"
_NOT_TRIED = "blocked: not tried, Spark's JVM ended too often (raise [spark] memory, or lower [run] concurrency)"
_POLL_SECONDS = 0.1
_CANCEL_SECONDS = 1.5
"""How long a cancelled model may take to end: Spark cannot interrupt a query while it plans it."""

AfterModel = Callable[[TableName, ModelOutcome], ModelOutcome]


def build_models(
    run: RunContext,
    tables: Collection[TableName],
    concurrency: int,
    after_model: AfterModel = lambda table, outcome: outcome,
    earlier: Mapping[TableName, ModelOutcome] | None = None,
    held: Collection[TableName] = (),
    threads: Callable[[int], ModelThreads] = ModelThreads,
) -> Outcomes:
    """Build `tables`. `after_model` may replace an outcome. `earlier`: the outcomes of models that have ended before;
    `held`: those of them that were built and are not published, which blocks what looks at them."""
    scheduler = _Scheduler(run, tables, concurrency, after_model, earlier or {}, held, threads(concurrency))
    try:
        scheduler.build_all()
    finally:
        scheduler.threads.close(abandon=run.cancellation.requested)
    return scheduler.outcomes


class _Scheduler:
    """Where the builder dies under several models, any of them may be the cause, so each is tried again alone. One that
    was alone when it died has failed. Where it died too often, the rest is not tried."""

    def __init__(
        self,
        run: RunContext,
        tables: Collection[TableName],
        concurrency: int,
        after_model: AfterModel,
        earlier: Mapping[TableName, ModelOutcome],
        held: Collection[TableName],
        threads: ModelThreads,
    ) -> None:
        self.run = run
        self.concurrency = concurrency
        self.after_model = after_model
        self.held = held
        self.threads = threads
        self.order = BuildOrder(upstreams_among(run.compiled, tables), expected_seconds(run.decided, tables))
        self.outcomes: Outcomes = {}
        self.ended = ChainMap(self.outcomes, dict(earlier))
        self.any_failed = any(outcome.result.status == "failed" for outcome in earlier.values())
        self.running: dict[TableName, float] = {}
        """With the time of their start."""
        self.lost: Outcomes = {}
        """Those that were under way when the builder died."""
        self.suspects: list[TableName] = []
        self.alone = False
        """A suspect is under way."""
        self.died = False
        """The builder has died, and nothing is under way."""
        self.error: BaseException | None = None
        """What a thread raised: nothing more is started then."""

    def build_all(self) -> None:
        patience = _CANCEL_SECONDS
        while self._start_ready():
            # A short wait: signal handlers run only between waits, and interrupting is repeated until all have ended.
            ended = self.threads.wait(_POLL_SECONDS)
            for table, outcome in ended.items():
                self._receive(table, outcome)
            self.run.guard.enforce()
            if self.run.cancellation.requested:
                self.run.cancellation.interrupt_all()
                patience -= 0 if ended else _POLL_SECONDS
            if patience <= 0:
                self._abandon()
        if self.error is not None:
            raise self.error

    def _start_ready(self) -> bool:
        """Whether models are under way."""
        while (table := self._next()) is not None:
            if (reason := self._reason_not_to_build(table)) is not None:
                self._end(table, not_built(self.run, table, reason))
            elif (error := self.run.unreadable.get(table)) is not None:
                self._end(table, unbuildable(self.run, table, error))
            elif self.died and not self.run.builder.restart():
                self._end(table, not_built(self.run, table, _NOT_TRIED))
            else:
                self.running[table] = self.run.clock.monotonic()
                self.threads.start(table, partial(self._build, table))
        return bool(self.running)

    def _next(self) -> TableName | None:
        """The model to start now, or not to build at all."""
        builder = self.run.builder
        if self.error is not None:
            return None
        if self.run.cancellation.requested:
            self.suspects += sorted(self.lost)
            self.lost.clear()
            return self.suspects.pop(0) if self.suspects else self.order.take()
        if self.running and (len(self.running) >= self.concurrency or self.alone or self.lost or builder.died):
            return None  # where the builder is dying, all that is under way is going to be lost
        self._judge_lost()
        self.died = builder.died
        self.alone = bool(self.suspects)
        return self.suspects.pop(0) if self.alone else self.order.take()

    def _judge_lost(self) -> None:
        """Once none is under way any more."""
        if len(self.lost) == 1:
            [(table, outcome)] = self.lost.items()
            failed = died_under(self.run, outcome)
            self.run.guard.add_result(failed.result)
            self._end(table, failed)
        else:
            self.suspects += sorted(self.lost)
        self.lost.clear()

    def _build(self, table: TableName) -> ModelOutcome:
        with self.run.use.building():
            built = run_model(self.run, table)
        if built.lost:
            return built
        outcome = self.after_model(table, built)
        self.run.guard.add_result(outcome.result)
        return outcome

    def _receive(self, table: TableName, outcome: ModelOutcome | BaseException) -> None:
        del self.running[table]
        if isinstance(outcome, BaseException):
            self.error = outcome
        elif outcome.lost:
            self.lost[table] = outcome
        else:
            self._end(table, outcome)

    def _abandon(self) -> None:
        """A cancelled model that does not end is left alone."""
        for table, since in sorted(self.running.items()):
            self._end(table, not_built(self.run, table, CANCELLED, since))
        self.running.clear()

    def _end(self, table: TableName, outcome: ModelOutcome) -> None:
        self.outcomes[table] = outcome
        self.any_failed |= outcome.result.status == "failed"
        self.order.end(table)

    def _reason_not_to_build(self, table: TableName) -> str | None:
        run = self.run
        if run.cancellation.requested:
            return CANCELLED
        upstreams = tables_behind(run.compiled.models[table].depends_on, run.compiled)
        if failed := [run.short(name) for name in upstreams if name in self.ended and not self.ended[name].usable]:
            return f"blocked: upstream failed ({', '.join(failed)})"
        looked_at = tables_looked_at(run, table) if self.held else ()
        if unpublished := [run.short(name) for name in looked_at if name in self.held]:
            return f"blocked: upstream not published ({', '.join(unpublished)})"
        if self.any_failed and (run.options.fail_fast or run.settings.run.fail_fast):
            return _FAIL_FAST
        stop = run.guard.reason_to_stop()
        return f"blocked: {stop}" if stop else None
