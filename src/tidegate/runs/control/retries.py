"""Trying again: how often, after which pause, and within which budget."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from tidegate.errors import FailureKind
from tidegate.failures import growing_pause
from tidegate.runs.clock import Clock
from tidegate.runs.control.limits import Deadline

__all__ = ["Attempt", "AttemptFailure", "Retries", "RetryBudget", "RetryOutcome", "RetryPolicy"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Work is tried again at most `most` times, after pauses that grow from `first` to `longest`."""

    most: int = 0
    first: timedelta = timedelta(seconds=30)
    longest: timedelta = timedelta(minutes=5)

    def ceiling(self, retry: int) -> float:
        """The longest pause in seconds before retry number `retry`, from 1."""
        return growing_pause(retry, self.first.total_seconds(), self.longest.total_seconds())

    def pause(self, retry: int, chance: float, retry_after: float | None = None) -> float:
        """Anything up to the ceiling (`chance` is in [0, 1)), so that models that failed together are not
        tried again together; but never before the `retry_after` of the service."""
        return max(self.ceiling(retry) * chance, retry_after or 0.0)


class RetryBudget:
    """The retries that the models of a run share: not each of them retries a service that is down. Thread-safe."""

    def __init__(self, most: int) -> None:
        self._left = most
        self._lock = threading.Lock()

    @property
    def left(self) -> int:
        return self._left

    def take(self) -> bool:
        """Whether there was one left."""
        with self._lock:
            if self._left <= 0:
                return False
            self._left -= 1
            return True


@dataclass(frozen=True, slots=True)
class AttemptFailure:
    """What decides whether a failure is tried again."""

    kind: FailureKind
    error: str
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try, as `attempts[]` of `run --json` shows it; no `failure_kind`: it succeeded."""

    number: int
    started_at: datetime
    duration_ms: int
    failure_kind: str | None = None
    error: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "started_at": self.started_at.isoformat(),
            "duration_ms": self.duration_ms,
            "failure_kind": self.failure_kind,
            "error": self.error,
        }


@dataclass(frozen=True, slots=True)
class RetryOutcome(Generic[T]):
    """The last outcome. `cancelled`: it would have been tried again, had the run not been cancelled."""

    outcome: T
    attempts: tuple[Attempt, ...]
    cancelled: bool = False


@dataclass(frozen=True, slots=True)
class Retries:
    """`wait` pauses for so many seconds and gives True at once when the run is cancelled, as `threading.Event.wait`.
    `over`: the run has given up, and starts nothing more."""

    policy: RetryPolicy
    budget: RetryBudget
    clock: Clock
    wait: Callable[[float], bool]
    chance: Callable[[], float] = random.random
    deadline: Deadline = field(default_factory=Deadline)
    over: Callable[[], bool] = lambda: False

    def until_done(
        self,
        work: Callable[[int], T],
        failure: Callable[[T], AttemptFailure | None],
        on_retry: Callable[[Attempt, float], None] = lambda attempt, pause: None,
    ) -> RetryOutcome[T]:
        """`work` gets the number of the try, from 1, and gives a value that `failure` understands; what it raises goes
        through. `on_retry` receives each failed try that is followed by another, and the pause before that."""
        attempts: list[Attempt] = []
        while True:
            started_at, started = self.clock.now(), self.clock.monotonic()
            outcome = work(len(attempts) + 1)
            failed = failure(outcome)
            took = round((self.clock.monotonic() - started) * 1000)
            kind, error = (str(failed.kind), failed.error) if failed else (None, None)
            attempts.append(Attempt(len(attempts) + 1, started_at, took, kind, error))
            pause = self._pause(failed, len(attempts)) if failed else None
            if pause is None:
                return RetryOutcome(outcome, tuple(attempts))
            on_retry(attempts[-1], pause)
            if self.wait(pause):
                return RetryOutcome(outcome, tuple(attempts), cancelled=True)
            if self.over():
                return RetryOutcome(outcome, tuple(attempts))

    def _pause(self, failed: AttemptFailure, retry: int) -> float | None:
        """None: not again."""
        if not failed.kind.is_transient or retry > self.policy.most or self.over():
            return None
        pause = self.policy.pause(retry, self.chance(), failed.retry_after)
        left = self.deadline.left(self.clock.monotonic())
        if left is not None and pause >= left:
            return None
        return pause if self.budget.take() else None
