"""What a command and a worker say to each other: JSON objects, one in a line, over a Unix socket."""

from __future__ import annotations

import json
import os
import select
import socket
import struct
import time
from collections.abc import Mapping
from typing import Any

__all__ = ["MessageStream", "WorkerSilentError", "peer_process"]

_LONGEST = 1 << 20
_CREDENTIALS = struct.Struct("3i")


class WorkerSilentError(Exception):
    """The other end has closed the connection, did not answer in time, or is not a worker of this user."""


def peer_process(connection: socket.socket) -> int | None:
    """The number of the process at the other end, where the system reports it. Raises WorkerSilentError where it is
    another user's: whoever can open the folder could listen in it."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    try:
        process, user, _group = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size))
    except OSError as error:
        raise WorkerSilentError(str(error)) from error
    if user != os.getuid():
        raise WorkerSilentError(f"the process at the other end is that of user {user}")
    return int(process)


class MessageStream:
    """One end of a connection. Not thread-safe."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._connection = connection
        self._pending = b""
        self.closed = False

    def fileno(self) -> int:
        return self._connection.fileno()

    def send(self, message: Mapping[str, Any], seconds: float = 2.0) -> None:
        """Raises WorkerSilentError."""
        data, end = json.dumps(message).encode() + b"\n", time.monotonic() + seconds
        while data:
            try:
                data = data[self._connection.send(data) :]
            except BlockingIOError:
                if not select.select([], [self._connection], [], max(0.0, end - time.monotonic()))[1]:
                    raise WorkerSilentError("the other end takes nothing") from None
            except OSError as error:
                raise WorkerSilentError(str(error)) from error

    def receive(self, seconds: float | None) -> dict[str, Any]:
        """The next message. `None`: wait as long as it takes. Raises WorkerSilentError."""
        end = None if seconds is None else time.monotonic() + seconds
        while (message := self.next()) is None:
            if self.closed:
                raise WorkerSilentError("the other end has closed the connection")
            left = None if end is None else max(0.0, end - time.monotonic())
            if not select.select([self._connection], [], [], left)[0]:
                raise WorkerSilentError("no answer in time")
        return message

    def next(self) -> dict[str, Any] | None:
        """A message that is there already. `closed` is set where the other end is gone."""
        self._read()
        line, found, rest = self._pending.partition(b"\n")
        if not found:
            return None
        self._pending = rest
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if isinstance(message, dict):
            return message
        self.closed = True
        return None

    def close(self) -> None:
        self.closed = True
        self._connection.close()

    def _read(self) -> None:
        while not self.closed and len(self._pending) < _LONGEST:
            try:
                data = self._connection.recv(65536)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self.closed = True
            self._pending += data
        if len(self._pending) >= _LONGEST:
            self.closed = True
