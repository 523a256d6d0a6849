"""What a run is held to: the retries its models share, time, memory, failures, and the pace of the services it asks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta

from tidegate.config import RunSection
from tidegate.errors import RunAbortedError, TidegateError
from tidegate.hooks.events import Emit
from tidegate.project.model import ModelSettings
from tidegate.results import ModelResult
from tidegate.runs.clock import Clock
from tidegate.runs.control.cancellation import Cancellation
from tidegate.runs.control.limits import Deadline, Overdue, memory_exceeded, memory_in_use, time_exceeded, why_stop
from tidegate.runs.control.retries import Retries, RetryBudget, RetryPolicy
from tidegate.runs.control.services import Level, Services

__all__ = ["Guard"]

_MEMORY_SECONDS = 1.0


class Guard:
    """Thread-safe. `halt` ends the run from outside; `emit` is the run's."""

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
        self._ended: list[ModelResult] = []
        self._lock = threading.Lock()
        self._memory_looked_at = clock.monotonic()
        self.overdue = Overdue(clock.monotonic)
        self.services = Services(settings, lambda: cancellation.requested, self._tell_level, clock.monotonic)

    def deadline(self, model: ModelSettings) -> Deadline:
        """From now on, for all tries of a model together."""
        return Deadline.after(model.timeout or self._settings.model_timeout, self._clock.monotonic())

    def retries(self, model: ModelSettings, deadline: Deadline) -> Retries:
        policy = RetryPolicy(
            model.max_retries, timedelta(seconds=model.retry_delay_seconds), self._settings.retry_max_delay
        )
        soonest = deadline.or_sooner(self._deadline)
        wait = self._cancellation.wait
        return Retries(policy, self._budget, self._clock, wait, deadline=soonest, over=lambda: bool(self.why_stop()))

    def ended(self, result: ModelResult) -> None:
        with self._lock:
            self._ended.append(result)

    def why_stop(self) -> RunAbortedError | None:
        """What has ended so far tells that the other models need not be tried."""
        with self._lock:
            return why_stop(self._ended, self._settings.error_rate_abort, self._settings.error_rate_models)

    def look(self) -> None:
        """To be called now and then while models are built."""
        self.overdue.end_late()
        now = self._clock.monotonic()
        error = time_exceeded(self._deadline, now)
        limit = self._settings.memory_limit
        if error is None and limit is not None and now - self._memory_looked_at >= _MEMORY_SECONDS:
            self._memory_looked_at = now
            error = memory_exceeded(memory_in_use(), limit)
        if error is not None and not self._cancellation.requested:
            self._halt(error)

    def _tell_level(self, level: Level) -> None:
        self._emit("concurrency", None, asdict(level))
