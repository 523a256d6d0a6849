"""A time limit on a connection that holds whatever it waits for: a server that hangs does not keep its own limits."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

__all__ = ["TimeLimit"]


class TimeLimit:
    """`over` says whether it was the limit that ended the connection."""

    def __init__(self, seconds: float) -> None:
        self.over = False
        self._seconds = seconds

    @contextmanager
    def on(self, descriptor: int) -> Iterator[None]:
        """The descriptor is of an open socket. Its number may be used for another one later, so a copy is held."""
        with socket.socket(fileno=os.dup(descriptor)) as line:
            timer = threading.Timer(self._seconds, self._end, (line,))
            timer.daemon = True
            timer.start()
            try:
                yield
            finally:
                timer.cancel()
                timer.join()

    def _end(self, line: socket.socket) -> None:
        self.over = True
        with suppress(OSError):
            line.shutdown(socket.SHUT_RDWR)
