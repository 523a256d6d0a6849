"""What code of the project prints in Tidegate's own process goes to its log, also where a library prints it."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TextIO, cast

__all__ = ["PrintedLines", "printing_to"]

Log = Callable[[str], None]


class PrintedLines(io.TextIOBase):
    """A stream that gives each whole line to `log`. Thread-safe."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._rest = ""
        self._lock = threading.Lock()

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        with self._lock:
            *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._log(line)
        return len(text)

    def end(self) -> None:
        if self._rest:
            self.write("\n")


@contextmanager
def printing_to(log: Log) -> Iterator[Log]:
    """What this thread prints is given to `log`; other threads print as before. Gives `log` for the code to call: what
    that prints in turn is printed."""

    def outside(line: str) -> None:
        token = _printed.set(None)
        try:
            log(line)
        finally:
            _printed.reset(token)

    lines = PrintedLines(outside)
    _standard_streams.divert()
    token = _printed.set(lines)
    try:
        yield outside
    finally:
        _printed.reset(token)
        lines.end()
        _standard_streams.restore()


_printed: ContextVar[PrintedLines | None] = ContextVar("_printed", default=None)
"""Where this thread prints; None: where the process does."""


class _StreamByThread:
    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        return (_printed.get() or self.stream).write(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        if _printed.get() is None:
            self.stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class _StandardStreams:
    """Diverted while any thread prints elsewhere. Thread-safe."""

    def __init__(self) -> None:
        self._threads = 0
        self._lock = threading.Lock()

    def divert(self) -> None:
        with self._lock:
            self._threads += 1
            if self._threads == 1:
                sys.stdout, sys.stderr = (cast(TextIO, _StreamByThread(each)) for each in (sys.stdout, sys.stderr))

    def restore(self) -> None:
        with self._lock:
            self._threads -= 1
            if self._threads == 0:
                streams = (sys.stdout, sys.stderr)
                sys.stdout, sys.stderr = (s.stream if isinstance(s, _StreamByThread) else s for s in streams)


_standard_streams = _StandardStreams()
