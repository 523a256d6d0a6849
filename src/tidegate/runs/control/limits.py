"""When to give up: time, memory of the driver, and the share of models that failed; and ending what is overdue."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from tidegate.config import format_duration
from tidegate.errors import FailureKind, ModelTimeoutError, RunAbortedError, RunCancelledError
from tidegate.results import ModelResult
from tidegate.spark.session import interrupt

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "Deadline",
    "Overdue",
    "error_rate_exceeded",
    "memory_exceeded",
    "reason_to_stop",
    "time_exceeded",
]

_GIB = 2**30


@dataclass(frozen=True, slots=True)
class Deadline:
    """When a model or a run must have ended."""

    at: float | None = None
    """Seconds of a monotonic clock; None: never."""

    limit: timedelta | None = None
    """What the user set."""

    @staticmethod
    def after(limit: timedelta | None, now: float) -> Deadline:
        return Deadline() if limit is None else Deadline(now + limit.total_seconds(), limit)

    def left(self, now: float) -> float | None:
        """Seconds, at least 0; None: no limit."""
        return None if self.at is None else max(0.0, self.at - now)

    def passed(self, now: float) -> bool:
        return self.at is not None and now >= self.at

    def or_sooner(self, other: Deadline) -> Deadline:
        if self.at is None or other.at is None:
            return other if self.at is None else self
        return min(self, other, key=lambda deadline: deadline.at or 0.0)

    def model_error(self) -> ModelTimeoutError:
        return ModelTimeoutError(
            f"it took longer than {_text_of(self.limit)}",
            remedy="Raise `timeout` of the model, or model_timeout in [run] of tidegate.toml.",
        )


def time_exceeded(deadline: Deadline, now: float) -> RunAbortedError | None:
    if not deadline.passed(now):
        return None
    return RunAbortedError(
        f"the run took longer than {_text_of(deadline.limit)}",
        kind=FailureKind.TIMEOUT,
        remedy="Raise timeout in [run] of tidegate.toml, or run fewer models at once.",
    )


def _text_of(limit: timedelta | None) -> str:
    return format_duration(limit or timedelta())


def memory_exceeded(used: int | None, limit: int | None) -> RunAbortedError | None:
    """In bytes. `used` None: unknown, so never exceeded."""
    if used is None or limit is None or used <= limit:
        return None
    return RunAbortedError(
        f"the driver uses {used / _GIB:.1f} GiB of memory, and {limit / _GIB:.1f} GiB are allowed",
        kind=FailureKind.QUOTA_EXCEEDED,
        remedy="Raise memory_limit in [run] of tidegate.toml, or lower concurrency there or memory in [spark].",
    )


def error_rate_exceeded(failed: int, ended: int, share: float | None, least: int) -> RunAbortedError | None:
    """At least `share` of the models that ended failed; not judged before `least` of them ended."""
    # Divided, not multiplied: 0.07 * 100 is more than 7.
    if share is None or not failed or ended < least or failed / ended < share:
        return None
    return RunAbortedError(
        f"{failed} of {ended} models failed, and error_rate_abort is {share:g}",
        kind=FailureKind.UNKNOWN,
        remedy="Look at the first failures: they may have one cause.",
    )


def reason_to_stop(
    results: Iterable[ModelResult], share: float | None = None, least: int = 1
) -> RunAbortedError | None:
    """Why the remaining models are not to be tried, by the results so far."""
    ended = [result for result in results if result.status in ("completed", "skipped", "failed")]
    failed = [result for result in ended if result.status == "failed"]
    for result in failed:
        if result.failure_kind and FailureKind(result.failure_kind).stops_run:
            return RunAbortedError(
                f"{result.model}: {result.error}", kind=FailureKind(result.failure_kind), remedy=result.remedy
            )
    return error_rate_exceeded(len(failed), len(ended), share, least)


class Overdue:
    """Thread-safe."""

    def __init__(self, monotonic: Callable[[], float], end: Callable[[SparkSession], None] = interrupt) -> None:
        self._monotonic = monotonic
        self._end = end
        self._lock = threading.Lock()
        self._running: dict[int, tuple[SparkSession, Deadline]] = {}
        self._interrupter: threading.Thread | None = None

    @contextlib.contextmanager
    def limiting(self, session: SparkSession, deadline: Deadline) -> Iterator[None]:
        """Whatever fails after the deadline raises ModelTimeoutError."""
        if deadline.at is None:
            yield
            return
        with self._lock:
            self._running[id(session)] = (session, deadline)
        try:
            yield
        except RunCancelledError:
            raise
        except Exception as error:
            if deadline.passed(self._monotonic()):
                raise deadline.model_error() from error
            raise
        finally:
            with self._lock:
                self._running.pop(id(session), None)

    def end_late(self) -> None:
        """Cancel the jobs of all that are overdue. To be repeated: one between two jobs has no job to cancel.

        The JVM may be too busy to answer, so a thread of its own does it, and no caller waits for that.
        """
        now = self._monotonic()
        with self._lock:
            late = [session for session, deadline in self._running.values() if deadline.passed(now)]
        if late and (self._interrupter is None or not self._interrupter.is_alive()):
            self._interrupter = threading.Thread(target=self._end_all, args=(late,), name="overdue", daemon=True)
            self._interrupter.start()

    def _end_all(self, sessions: list[SparkSession]) -> None:
        for session in sessions:
            self._end(session)
