"""Cancelling a run: a flag that is checked between steps, and the Spark sessions to interrupt within them."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any

from tidegate.errors import RunCancelledError
from tidegate.spark.session import interrupt

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Cancellation", "cancelled_by_signals", "without_signals"]

_AGAIN_SECONDS = 0.1
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Cancellation:
    """Thread-safe. A model registers its session while it works.

    `orderly` False: there is nothing to clean up (no branch yet, or all is published), so a signal ends the main
    thread at once with KeyboardInterrupt.
    """

    def __init__(self) -> None:
        self.orderly = False
        self._receives_signals = False
        self.why = "The run was cancelled"
        self._requested = threading.Event()
        self._lock = threading.Lock()
        self._interrupter: threading.Thread | None = None
        self._pause = threading.Event()
        self._sessions: dict[int, SparkSession] = {}

    @property
    def requested(self) -> bool:
        return self._requested.is_set()

    def request(self, why: str | None = None) -> None:
        """`why`: for the error of what is cancelled; the first reason counts."""
        if why and not self.requested:
            self.why = why
        self._requested.set()

    def request_from_outside(self, why: str) -> None:
        """As a signal does, but from another thread."""
        self.request(why)
        with self._lock:
            if self._receives_signals and not self.orderly:
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    @contextlib.contextmanager
    def receiving_signals(self) -> Iterator[None]:
        """While the main thread does the work, and receives signals."""
        self._receives_signals = True
        try:
            yield
        finally:
            with self._lock:
                self._receives_signals = False

    def wait(self, seconds: float) -> bool:
        """Pause; True, and at once, when a cancel was requested."""
        return self._requested.wait(seconds)

    def check(self) -> None:
        if self.requested:
            raise RunCancelledError(self.why)

    @contextlib.contextmanager
    def watching(self, session: SparkSession) -> Iterator[SparkSession]:
        self.check()
        with self._lock:
            self._sessions[id(session)] = session
        try:
            yield session
        finally:
            with self._lock:
                self._sessions.pop(id(session), None)

    def interrupt_all(self) -> None:
        """Repeat until every model has released its session: one between two jobs has no job to interrupt.

        The JVM may be too busy to answer, so a thread of its own does it, and no caller waits for that.
        """
        if self._interrupter is None or not self._interrupter.is_alive():
            self._interrupter = threading.Thread(target=self._interrupt, name="interrupt", daemon=True)
            self._interrupter.start()

    def _interrupt(self) -> None:
        while sessions := self._watched():
            for session in sessions:
                interrupt(session)
            self._pause.wait(_AGAIN_SECONDS)

    def _watched(self) -> list[SparkSession]:
        with self._lock:
            return list(self._sessions.values())


@contextlib.contextmanager
def cancelled_by_signals(cancellation: Cancellation) -> Iterator[None]:
    """SIGINT, SIGTERM and SIGHUP request a cancel; only the main thread receives them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        cancellation.request()
        if not cancellation.orderly:
            raise KeyboardInterrupt

    former: dict[int, Any] = {number: signal.getsignal(number) for number in _SIGNALS}
    if former[signal.SIGHUP] is signal.SIG_IGN:  # as `nohup` leaves it
        del former[signal.SIGHUP]
    for number in former:
        signal.signal(number, handle)
    try:
        with cancellation.receiving_signals():
            yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def without_signals() -> Iterator[None]:
    """For the last steps of a process, which are quick: a second Ctrl-C must not interrupt them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former: dict[int, Any] = {number: signal.signal(number, signal.SIG_IGN) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
