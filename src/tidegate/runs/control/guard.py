"""The limits of one run: shared retries, time, memory, failures, and the calls to services."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta

from tidegate.config import RunSection
from tidegate.errors import RunAbortedError, TidegateError
from tidegate.hooks.events import Emit
from tidegate.process_memory import memory_of
from tidegate.project.model import ModelSettings
from tidegate.results import ModelResult
from tidegate.runs.clock import Clock
from tidegate.runs.control.cancellation import Cancellation
from tidegate.runs.control.limits import (
    Deadline,
    Overdue,
    memory_exceeded,
    reason_to_stop,
    time_exceeded,
)
from tidegate.runs.control.retries import Retries, RetryBudget, RetryPolicy
from tidegate.runs.control.services import ConcurrencyLevel, Services
from tidegate.spark.jvm import spark_processes

__all__ = ["Guard"]

_MEMORY_SECONDS = 1.0


class Guard:
    """Thread-safe. `halt` stops the run; `emit` is the run's."""

    def __init__(
        self,
        settings: RunSection,
        clock: Clock,
        cancellation: Cancellation,
        halt: Callable[[TidegateError], None],
        emit: Emit,
        started: float | None = None,
    ) -> None:
        """`started`: when the run began, by the clock; None: now."""
        self._settings = settings
        self._clock = clock
        self._cancellation = cancellation
        self._halt = halt
        self._emit = emit
        self._budget = RetryBudget(settings.retries)
        self._deadline = Deadline.after(settings.timeout, clock.monotonic() if started is None else started)
        self._results: list[ModelResult] = []
        self._lock = threading.Lock()
        self._memory_checked_at = clock.monotonic()
        self.overdue = Overdue(clock.monotonic)
        self.services = Services(settings, lambda: cancellation.requested, self._emit_level, clock.monotonic)

    def deadline(self, model: ModelSettings) -> Deadline:
        """From now on, for all tries of a model together."""
        return Deadline.after(model.timeout or self._settings.model_timeout, self._clock.monotonic())

    def retries(self, model: ModelSettings, deadline: Deadline) -> Retries:
        policy = RetryPolicy(
            model.max_retries, timedelta(seconds=model.retry_delay_seconds), self._settings.retry_max_delay
        )
        soonest = deadline.or_sooner(self._deadline)
        wait = self._cancellation.wait
        return Retries(
            policy, self._budget, self._clock, wait, deadline=soonest, over=lambda: bool(self.reason_to_stop())
        )

    def add_result(self, result: ModelResult) -> None:
        with self._lock:
            self._results.append(result)

    def reason_to_stop(self) -> RunAbortedError | None:
        """Why the remaining models are not to be tried."""
        with self._lock:
            return reason_to_stop(self._results, self._settings.error_rate_abort, self._settings.error_rate_models)

    def enforce(self) -> None:
        """Stop what is over its limit. To be called now and then while models are built."""
        self.overdue.end_late()
        now = self._clock.monotonic()
        error = time_exceeded(self._deadline, now)
        limit = self._settings.memory_limit
        if error is None and limit is not None and now - self._memory_checked_at >= _MEMORY_SECONDS:
            self._memory_checked_at = now
            error = memory_exceeded(memory_of(*spark_processes()), limit)
        if error is not None and not self._cancellation.requested:
            self._halt(error)

    def _emit_level(self, level: ConcurrencyLevel) -> None:
        self._emit("concurrency", None, asdict(level))
