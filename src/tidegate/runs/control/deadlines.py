"""Ending what takes too long: work says until when it may run, and whoever waits for it looks now and then."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tidegate.errors import RunCancelledError
from tidegate.runs.control.limits import Deadline
from tidegate.spark.session import interrupt

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Overdue"]


class Overdue:
    """Thread-safe."""

    def __init__(self, monotonic: Callable[[], float], end: Callable[[SparkSession], None] = interrupt) -> None:
        self._monotonic = monotonic
        self._end = end
        self._lock = threading.Lock()
        self._running: dict[int, tuple[SparkSession, Deadline]] = {}
        self._asking: threading.Thread | None = None

    @contextlib.contextmanager
    def limiting(self, session: SparkSession, deadline: Deadline) -> Iterator[None]:
        """What fails after the deadline failed because of it: raises ModelTimeoutError."""
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
        """End the jobs of all that are late. To be repeated: what is between two jobs has none to end.

        The JVM may be too busy to answer, so the asking is left to a thread that nobody waits for.
        """
        now = self._monotonic()
        with self._lock:
            late = [session for session, deadline in self._running.values() if deadline.passed(now)]
        if late and (self._asking is None or not self._asking.is_alive()):
            self._asking = threading.Thread(target=self._end_all, args=(late,), name="overdue", daemon=True)
            self._asking.start()

    def _end_all(self, sessions: list[SparkSession]) -> None:
        for session in sessions:
            self._end(session)
