"""The services that a run asks: each has a pace of its own, and a circuit breaker."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

from tidegate.config import RunSection
from tidegate.errors import FailureKind
from tidegate.runs.control.breaker import CircuitBreaker, Guarded
from tidegate.runs.control.limits import Deadline
from tidegate.runs.control.throttling import Level, Pace, Turn

__all__ = ["Asked", "Services"]


class Asked:
    """For callers whose failures are values and not exceptions."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.calls: list[Guarded] = []

    def failed(self, kind: FailureKind, retry_after: float | None = None) -> None:
        for turn in self.turns:
            turn.failed(kind, retry_after)
        for call in self.calls:
            call.failed(kind)


class Services:
    """Thread-safe; a service is known from the first time it is asked."""

    def __init__(
        self,
        settings: RunSection,
        cancelled: Callable[[], bool] = lambda: False,
        told: Callable[[Level], None] = lambda level: None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._cancelled = cancelled
        self._told = told
        self._monotonic = monotonic
        self._known: dict[str, tuple[Pace, CircuitBreaker]] = {}
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def asking(self, *names: str, deadline: Deadline | None = None) -> Iterator[Asked]:
        """Waits for a turn at each of them. Raises CircuitOpenError, RunCancelledError when the run is cancelled, or
        ModelTimeoutError after the deadline."""
        asked = Asked()
        # In one order for all, so that no two wait for each other.
        services = [self._of(name) for name in sorted(set(names))]
        with contextlib.ExitStack() as stack:
            asked.turns += [stack.enter_context(pace.turn(deadline)) for pace, _ in services]
            asked.calls += [stack.enter_context(breaker.guarding()) for _, breaker in services]
            yield asked

    def pace(self, name: str) -> Pace:
        return self._of(name)[0]

    def breaker(self, name: str) -> CircuitBreaker:
        return self._of(name)[1]

    def _of(self, name: str) -> tuple[Pace, CircuitBreaker]:
        run = self._settings
        with self._lock:
            if name not in self._known:
                pause = run.breaker_pause.total_seconds()
                self._known[name] = (
                    Pace(name, run.max_concurrency, run.cooldown_seconds, self._cancelled, self._told, self._monotonic),
                    CircuitBreaker(name, run.breaker_failures, pause, self._monotonic),
                )
            return self._known[name]
