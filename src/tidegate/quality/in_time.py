"""Work on Spark with a time limit, of which the rest of the session hears nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from uuid import uuid4

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Late", "Worker"]

T = TypeVar("T")
_LOOK_SECONDS = 0.1
_INTERRUPTS, _WHEN_CANCELLED = 50, 5


class Late(Exception):
    """The work was not done in time, or nobody wants it any more."""


class Worker:
    """Made in the thread whose pool and properties the work is to have; used by one thread at a time."""

    def __init__(self, session: SparkSession, cancelled: Callable[[], bool] = lambda: False) -> None:
        from pyspark.util import inheritable_thread_target

        # A session's own tags are those of the thread that asks, and cannot be interrupted from another.
        self._jobs = session.sparkContext
        self._cancelled = cancelled
        self._inheriting: Callable[[Callable[[], None]], Callable[[], None]] = inheritable_thread_target(session)

    def do(self, work: Callable[[], T], limit: timedelta) -> T:
        """What `work` gives, or raises. Raises Late after `limit`, or soon after it was cancelled: its jobs are ended,
        and no others of the session."""
        tag = f"check-{uuid4().hex}"
        outcome = _Outcome[T]()

        def tagged() -> None:
            self._jobs.addJobTag(tag)
            outcome.of(work)

        thread = threading.Thread(target=self._inheriting(tagged), name="check", daemon=True)
        thread.start()
        end = time.monotonic() + limit.total_seconds()
        while thread.is_alive() and (left := end - time.monotonic()) > 0 and not self._cancelled():
            thread.join(min(left, _LOOK_SECONDS))
        late = thread.is_alive()
        # What Spark is still planning cannot be interrupted, and is left behind.
        for _ in range(_WHEN_CANCELLED if self._cancelled() else _INTERRUPTS):
            if not thread.is_alive():
                break
            with suppress(Exception):
                self._jobs.cancelJobsWithTag(tag)
            thread.join(0.1)
        if late:
            raise Late
        return outcome.get()


class _Outcome(Generic[T]):
    def __init__(self) -> None:
        self._value: Any = None
        self._error: BaseException | None = None

    def of(self, work: Callable[[], T]) -> None:
        try:
            self._value = work()
        except BaseException as error:
            self._error = error

    def get(self) -> T:
        if self._error is not None:
            raise self._error
        value: T = self._value
        return value
