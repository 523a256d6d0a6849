"""A circuit breaker for each service: after several failed connections in a row no call is made for a while."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from tidegate.errors import CircuitOpenError, FailureKind
from tidegate.spark.spark_errors import read_failure

__all__ = ["Circuit", "CircuitBreaker", "GuardedCall"]


@dataclass(frozen=True, slots=True)
class Circuit:
    """The state as a value: closed, open for a pause, then half open."""

    most: int
    """Failures in a row that open it."""

    pause: float
    """Seconds that it stays open."""

    failures: int = 0
    opened_at: float | None = None
    """None: it is closed."""

    probing: bool = False
    """Half open: one caller tries, and whether that succeeds decides."""

    def state(self, now: float) -> str:
        if self.opened_at is None:
            return "closed"
        return "half_open" if self.probing or not self.wait(now) else "open"

    def allows(self, now: float) -> bool:
        return self.opened_at is None or (not self.probing and not self.wait(now))

    def wait(self, now: float) -> float:
        """Seconds until a call may be tried; a whole pause while one is being tried."""
        if self.opened_at is None:
            return 0.0
        return self.pause if self.probing else min(self.pause, max(0.0, self.opened_at + self.pause - now))

    def entered(self) -> Circuit:
        return self if self.opened_at is None else replace(self, probing=True)

    def answered(self, probe: bool) -> Circuit:
        if self.opened_at is not None and not probe:
            return self
        return Circuit(self.most, self.pause)

    def failed(self, now: float, probe: bool) -> Circuit:
        if probe:
            return replace(self, opened_at=now, probing=False)
        if self.opened_at is not None:
            return self
        failures = self.failures + 1
        return replace(self, failures=failures, opened_at=now if failures >= self.most else None)

    def left(self, probe: bool) -> Circuit:
        """The call ended without showing whether the service answers."""
        return replace(self, probing=False) if probe else self


class GuardedCall:
    """One call. `failed`: for callers whose failures are values, not exceptions."""

    def __init__(self) -> None:
        self.kind: FailureKind | None = None

    def failed(self, kind: FailureKind) -> None:
        self.kind = kind


class CircuitBreaker:
    """Thread-safe."""

    def __init__(
        self, service: str, failures: int, pause_seconds: float, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self.service = service
        self._circuit = Circuit(failures, pause_seconds)
        self._monotonic = monotonic
        self._lock = threading.Lock()

    @property
    def state(self) -> str:
        """closed, open or half_open."""
        return self._circuit.state(self._monotonic())

    @contextlib.contextmanager
    def guarding(self) -> Iterator[GuardedCall]:
        """Raises CircuitOpenError without calling the service. Only a failure to connect counts; any other answer shows
        that the service is there. A cancelled call counts neither way, nor does one that the breaker of another service
        prevented."""
        probe = self._enter()
        call = GuardedCall()
        try:
            yield call
        except BaseException as error:
            called = isinstance(error, Exception) and not isinstance(error, CircuitOpenError)
            call.failed(read_failure(error).kind if called else FailureKind.CANCELLED)
            raise
        finally:
            self._leave(call.kind, probe)

    def _enter(self) -> bool:
        with self._lock:
            now = self._monotonic()
            if not self._circuit.allows(now):
                times = "once" if self._circuit.most == 1 else f"{self._circuit.most} times in a row"
                raise CircuitOpenError(
                    f"{self.service} could not be reached {times}, and is left alone for now",
                    service=self.service,
                    retry_after=self._circuit.wait(now),
                    remedy=f"See that {self.service} answers (`tidegate doctor`), then run again.",
                )
            self._circuit = self._circuit.entered()
            return self._circuit.probing

    def _leave(self, kind: FailureKind | None, probe: bool) -> None:
        with self._lock:
            if kind is FailureKind.CONNECTION_FAILED:
                self._circuit = self._circuit.failed(self._monotonic(), probe)
            elif kind is FailureKind.CANCELLED:
                self._circuit = self._circuit.left(probe)
            else:
                self._circuit = self._circuit.answered(probe)
