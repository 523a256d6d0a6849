"""The services that a run calls: how many calls at once (AIMD), and a circuit breaker for each."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tidegate.config import RunSection
from tidegate.errors import CircuitOpenError, FailureKind, RunCancelledError
from tidegate.runs.control.breaker import CircuitBreaker, GuardedCall
from tidegate.runs.control.limits import Deadline
from tidegate.spark.spark_errors import read_failure

__all__ = ["ConcurrencyLevel", "ServiceCalls", "Services", "Throttle", "Turn"]


_POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class ConcurrencyLevel:
    """How many calls to `service` may run at once now, and how many at most."""

    service: str
    level: int
    most: int


class Turn:
    """One call; it reports its failure before it ends, or nothing where it succeeded."""

    def __init__(self, age: int) -> None:
        self.age = age
        self.failure_kind: FailureKind | None = None
        self.retry_after: float | None = None

    def failed(self, kind: FailureKind, retry_after: float | None = None) -> None:
        self.failure_kind, self.retry_after = kind, retry_after


class Throttle:
    """Thread-safe. Starts with one call at a time; a call waits while that many run, or while the service is paused."""

    def __init__(
        self,
        service: str,
        most: int,
        cooldown_seconds: float,
        cancelled: Callable[[], bool] = lambda: False,
        on_level: Callable[[ConcurrencyLevel], None] = lambda level: None,
        monotonic: Callable[[], float] = time.monotonic,
        poll_seconds: float = _POLL_SECONDS,
    ) -> None:
        """`on_level` receives each new level; it must not wait for a turn itself."""
        self.service = service
        self.most = most
        self._cooldown = cooldown_seconds
        self._cancelled = cancelled
        self._on_level = on_level
        self._monotonic = monotonic
        self._poll = poll_seconds
        self._changed = threading.Condition()
        self._report_lock = threading.Lock()
        self._level = self._last_reported = 1
        self._running = 0
        self._age = 0
        self._paused_until: float | None = None

    @property
    def level(self) -> int:
        return self._level

    @property
    def running(self) -> int:
        return self._running

    @property
    def pause(self) -> float:
        """For how many seconds no call may start."""
        with self._changed:
            return self._pause_left()

    @contextlib.contextmanager
    def turn(self, deadline: Deadline | None = None) -> Iterator[Turn]:
        """Waits until it is allowed; raises RunCancelledError if the run is cancelled meanwhile, and ModelTimeoutError
        after the deadline.

        An exception of kind QuotaExceeded lowers the level; any other does not, nor does an open circuit of another
        service.
        """
        turn = self._begin(deadline or Deadline())
        try:
            yield turn
        except BaseException as error:
            if isinstance(error, CircuitOpenError) and error.service != self.service:
                turn.failed(FailureKind.CANCELLED)
            else:
                failure = read_failure(error)
                turn.failed(failure.kind, failure.retry_after)
            raise
        finally:
            self._end(turn)
            self._report_level()

    def _begin(self, deadline: Deadline) -> Turn:
        with self._changed:
            while True:
                if self._cancelled():
                    raise RunCancelledError("The run was cancelled")
                if deadline.passed(self._monotonic()):
                    raise deadline.model_error()
                pause = self._pause_left()
                if not pause and self._running < self._level:
                    self._running += 1
                    return Turn(self._age)
                self._changed.wait(min(pause or self._poll, self._poll))

    def _pause_left(self) -> float:
        if self._paused_until is None:
            return 0.0
        left = self._paused_until - self._monotonic()
        if left <= 0:
            self._paused_until = None
            self._changed.notify_all()
        return max(0.0, left)

    def _end(self, turn: Turn) -> None:
        with self._changed:
            self._running -= 1
            # What began before the level was last lowered does not change it again.
            if turn.failure_kind is FailureKind.QUOTA_EXCEEDED:
                if turn.age == self._age:
                    self._level = max(1, self._level // 2)
                    self._age += 1
                until = self._monotonic() + max(self._cooldown, turn.retry_after or 0.0)
                self._paused_until = max(until, self._paused_until or until)
            elif turn.failure_kind is None and turn.age == self._age:
                self._level = min(self.most, self._level + 1)
            self._changed.notify_all()

    def _report_level(self) -> None:
        """One at a time, so that the last level reported is the one that holds."""
        with self._report_lock:
            level = self._level
            if level != self._last_reported:
                self._last_reported = level
                self._on_level(ConcurrencyLevel(self.service, level, self.most))


class ServiceCalls:
    """The calls to several services. `failed`: for callers whose failures are values, not exceptions."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.calls: list[GuardedCall] = []

    def failed(self, kind: FailureKind, retry_after: float | None = None) -> None:
        for turn in self.turns:
            turn.failed(kind, retry_after)
        for call in self.calls:
            call.failed(kind)


class Services:
    """Thread-safe. A service is added with its first call."""

    def __init__(
        self,
        settings: RunSection,
        cancelled: Callable[[], bool] = lambda: False,
        on_level: Callable[[ConcurrencyLevel], None] = lambda level: None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._cancelled = cancelled
        self._on_level = on_level
        self._monotonic = monotonic
        self._services: dict[str, tuple[Throttle, CircuitBreaker]] = {}
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def calling(self, *names: str, deadline: Deadline | None = None) -> Iterator[ServiceCalls]:
        """Wait for a turn at each of them. Raises CircuitOpenError, RunCancelledError when the run is cancelled, or
        ModelTimeoutError after the deadline."""
        calls = ServiceCalls()
        # In one order for all, so that no two wait for each other.
        services = [self._of(name) for name in sorted(set(names))]
        with contextlib.ExitStack() as stack:
            calls.turns += [stack.enter_context(throttle.turn(deadline)) for throttle, _ in services]
            calls.calls += [stack.enter_context(breaker.guarding()) for _, breaker in services]
            yield calls

    def throttle(self, name: str) -> Throttle:
        return self._of(name)[0]

    def breaker(self, name: str) -> CircuitBreaker:
        return self._of(name)[1]

    def _of(self, name: str) -> tuple[Throttle, CircuitBreaker]:
        run = self._settings
        with self._lock:
            if name not in self._services:
                pause = run.breaker_pause.total_seconds()
                self._services[name] = (
                    Throttle(
                        name,
                        run.max_concurrency,
                        run.cooldown_seconds,
                        self._cancelled,
                        self._on_level,
                        self._monotonic,
                    ),
                    CircuitBreaker(name, run.breaker_failures, pause, self._monotonic),
                )
            return self._services[name]
