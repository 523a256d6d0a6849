"""One job, seen from outside: answers its calls, bounds all that it sends, and ends it when its time is over.

Whatever comes over the link may have been made up by the code of the job.
"""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tidegate.amounts import size
from tidegate.python_models.sandbox.link import FrameKind, FrameTooLargeError, Link, LinkFrame
from tidegate.python_models.sandbox.printable_text import printable
from tidegate.python_models.sandbox.sandbox_job import CallHandler, CallRefusedError, JobResult, SandboxJob

__all__ = ["JobEnd", "JobRun"]

_LINK_ROOM = 1 << 20
_MOST_LOG_LINES = 1000
_MOST_LOG_TEXT = 256 * 1024
_LONGEST_LOG = 8 * 1024
_TICK_SECONDS = 0.1
_RESULT_KINDS = ("plan", "arrow", "value")


@dataclass
class JobEnd:
    """How it ended. At most one of `result`, `failure`, `nonsense` and `stopped` counts, in this order reversed."""

    result: JobResult | None = None
    failure: Mapping[str, Any] | None = None
    nonsense: str | None = None
    stopped: str | None = None
    """`timeout`, `cancelled` or `local_rows`."""

    wall: Mapping[str, Any] | None = None
    """The wall that could not be put up."""

    process: Mapping[str, Any] = field(default_factory=dict)
    """What the warden reported: `signal`, `code`, `cpu`, `memory`, `output`, `dropped`."""


class JobRun:
    def __init__(
        self,
        link: socket.socket,
        status: socket.socket,
        arrow: Path,
        local_rows: int,
        on_log: Callable[[str], None],
    ) -> None:
        self._link = Link(link, local_rows + _LINK_ROOM)
        self._status_socket = status
        self._status = Link(status, _LINK_ROOM)
        self._arrow = arrow
        self._local_rows = local_rows
        self._log = _BoundedLog(on_log)
        self._end = JobEnd()
        self._answered = threading.Event()
        self._watch_error: BaseException | None = None

    def run(
        self, job: SandboxJob, calls: CallHandler, deadline: float | None, cancelled: Callable[[], bool] | None
    ) -> JobEnd:
        """Returns when nothing of the job runs any more."""
        watcher = threading.Thread(
            target=self._keep_watch, args=(calls, deadline, cancelled), name="sandbox-watch", daemon=True
        )
        watcher.start()
        try:
            self._converse(job, calls)
            self._answered.set()
            if self._end.result is None and self._end.failure is None and self._end.nonsense is None:
                watcher.join()
        finally:
            self._answered.set()
            self._kill()
            watcher.join()
            self._link.close()
            self._status.close()
        if self._watch_error is not None:
            raise self._watch_error
        self._log.finish(self._end.process.get("dropped", 0))
        return self._end

    def _converse(self, job: SandboxJob, calls: CallHandler) -> None:
        header = {"kind": job.kind, "file": job.file, "values": dict(job.values)}
        try:
            self._send(FrameKind.JOB, header, job.source.encode())
            with _Pieces(self._arrow, self._local_rows) as pieces:
                while (frame := self._receive()) is not None:
                    if not self._take(frame, calls, pieces):
                        break
        except _NonsenseError as error:
            self._end.nonsense = printable(f"{error}", 200)
        except _GoneError:
            return  # the warden reports how

    def _send(self, kind: FrameKind, header: Mapping[str, Any] | None = None, body: bytes = b"") -> None:
        try:
            self._link.send(kind, header, body)
        except OSError as error:
            raise _GoneError from error

    def _receive(self) -> LinkFrame | None:
        try:
            return self._link.receive()
        except (FrameTooLargeError, ValueError, RecursionError) as error:
            raise _NonsenseError(f"{error}") from error
        except OSError as error:
            raise _GoneError from error

    def _take(self, frame: LinkFrame, calls: CallHandler, pieces: _Pieces) -> bool:
        """False for the last frame."""
        if self._end.stopped is not None:
            return False
        if frame.kind is FrameKind.CALL:
            self._answer(frame, calls)
        elif frame.kind is FrameKind.LOG:
            self._log.add(_text(frame.header.get("message")))
        elif frame.kind is FrameKind.DATA:
            if not pieces.add(frame.body):
                self._give_up("local_rows")
                return False
        elif frame.kind is FrameKind.RESULT:
            self._end.result = _result(frame, pieces)
            return False
        elif frame.kind is FrameKind.FAILURE:
            self._end.failure = frame.header
            return False
        else:
            raise _NonsenseError(f"a frame of kind {frame.kind.name}, which only goes the other way")
        return True

    def _answer(self, frame: LinkFrame, calls: CallHandler) -> None:
        method = frame.header.get("method")
        if not isinstance(method, str) or len(method) > 100:
            raise _NonsenseError("a call without a method")
        try:
            for response in calls.call(method, frame.body):
                self._send(FrameKind.REPLY, body=response)
        except CallRefusedError as error:
            header = {"code": error.code, "details": error.details}
            self._send(FrameKind.REPLY_ERROR, header, error.status)
        else:
            self._send(FrameKind.REPLY_END)

    def _keep_watch(self, calls: CallHandler, deadline: float | None, cancelled: Callable[[], bool] | None) -> None:
        try:
            self._watch(deadline, cancelled)
        except BaseException as error:  # of `on_log` or `cancelled`: without a watch nothing may run on
            self._watch_error = error
            self._kill()
        while not self._answered.wait(_TICK_SECONDS):  # no one waits for the answer of a call that goes on
            calls.interrupt()

    def _watch(self, deadline: float | None, cancelled: Callable[[], bool] | None) -> None:
        """Until the warden has ended, which it does last."""
        poll = select.poll()
        poll.register(self._status_socket, select.POLLIN)
        while True:
            if self._end.stopped is None:
                if deadline is not None and time.monotonic() >= deadline:
                    self._give_up("timeout")
                elif cancelled is not None and cancelled():
                    self._give_up("cancelled")
            if not poll.poll(self._pause(deadline) * 1000):
                continue
            try:
                frame = self._status.receive()
            except OSError:
                frame = None
            if frame is None:
                break
            if frame.kind is FrameKind.LOG:
                self._log.add(_text(frame.header.get("message")))
            elif frame.kind is FrameKind.FAILURE:
                self._end.wall = frame.header
            else:
                self._end.process = frame.header

    def _pause(self, deadline: float | None) -> float:
        if deadline is None or self._end.stopped is not None:
            return _TICK_SECONDS
        return min(_TICK_SECONDS, max(0.0, deadline - time.monotonic()))

    def _give_up(self, why: str) -> None:
        self._end.stopped = why
        self._kill()

    def _kill(self) -> None:
        """The warden kills all of the job when it reads the end of the status socket; its reports still arrive."""
        with contextlib.suppress(OSError):
            self._status_socket.shutdown(socket.SHUT_WR)


class _GoneError(Exception):
    """The other end of the link is closed."""


class _NonsenseError(Exception):
    """What came is no frame, or not one that may come."""


class _Pieces:
    """DATA frames, written to a file."""

    def __init__(self, path: Path, limit: int) -> None:
        self.path = path
        self._left = limit
        self._file: Any = None

    def __enter__(self) -> _Pieces:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    @property
    def any(self) -> bool:
        return self._file is not None

    def add(self, piece: bytes) -> bool:
        """False when it is too much."""
        self._left -= len(piece)
        if self._left < 0:
            return False
        if self._file is None:
            self._file = self.path.open("xb")
        self._file.write(piece)
        return True


class _BoundedLog:
    """Of all that a job logs and prints: so many lines, and the number of the rest. Thread-safe."""

    def __init__(self, on_log: Callable[[str], None]) -> None:
        self._on_log = on_log
        self._lines = 0
        self._text = 0
        self._dropped = 0
        self._lock = threading.Lock()

    def add(self, message: str) -> None:
        with self._lock:
            if self._lines >= _MOST_LOG_LINES or self._text + len(message) > _MOST_LOG_TEXT:
                self._dropped += 1
                return
            self._lines += 1
            self._text += len(message)
            self._on_log(message)

    def finish(self, dropped_bytes: int) -> None:
        """`dropped_bytes`: of what it printed, those that never came here."""
        if dropped_bytes:
            self._on_log(f"… and {size(dropped_bytes)} more that are not shown: it printed too much")
        if self._dropped:
            self._on_log(f"… and {self._dropped} more lines that are not shown: it logged too much")


def _text(value: object) -> str:
    return printable(value, _LONGEST_LOG)


def _result(frame: LinkFrame, pieces: _Pieces) -> JobResult:
    kind = frame.header.get("kind")
    if kind not in _RESULT_KINDS or (kind == "arrow") is not pieces.any or (kind != "plan" and frame.body):
        raise _NonsenseError("a result that is none")
    if kind == "plan":
        return JobResult("plan", plan=frame.body)
    if kind == "arrow":
        return JobResult("arrow", arrow=pieces.path)
    return JobResult("value", value=frame.header.get("value"))
