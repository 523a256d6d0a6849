"""Frames over a socket pair: the only way out of the sandbox.

Both sides import this. A frame is its kind, a header (JSON) and a body (bytes), each behind its length.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Mapping
from enum import IntEnum
from typing import Any, NamedTuple

__all__ = ["FrameKind", "FrameTooLargeError", "Link", "LinkFrame"]

_LENGTHS = struct.Struct("!BIQ")
_LONGEST_HEADER = 1 << 20


class FrameKind(IntEnum):
    JOB = 1
    """To the child: what to run."""

    CALL = 2
    """From the child: one call of Spark Connect. Header: `method` (`ExecutePlan`); body: the request."""

    REPLY = 3
    """To the child: one response of the call."""

    REPLY_END = 4
    """To the child: the call has no more responses."""

    REPLY_ERROR = 5
    """To the child: the call failed. Header: `code` (a name of grpc.StatusCode), `details`; body: a serialized
    google.rpc.Status, or empty."""

    LOG = 6
    """From the child. Header: `message`."""

    DATA = 7
    """From the child: a piece of an Arrow IPC stream, which a RESULT ends."""

    RESULT = 8
    """From the child: the last frame of a job that went well. Header: `kind` (`plan`: body is a Connect Relation;
    `arrow`: the DATA frames before are its rows; `value`: header `value`)."""

    FAILURE = 9
    """From the child: the last frame of a job that failed. Header: `kind`, `message`, `line`, `traceback`."""


class LinkFrame(NamedTuple):
    kind: FrameKind
    header: Mapping[str, Any]
    body: bytes


class FrameTooLargeError(Exception):
    pass


class Link:
    """One end. Sending is thread-safe; one thread receives. `limit`: bytes of the largest body that is received."""

    def __init__(self, end: socket.socket, limit: int) -> None:
        self._socket = end
        self._limit = limit
        self._sending = threading.Lock()

    def send(self, kind: FrameKind, header: Mapping[str, Any] | None = None, body: bytes = b"") -> None:
        """Raises OSError where the other side is gone, and FrameTooLargeError for a header that it would refuse."""
        text = json.dumps(header or {}).encode()
        if len(text) > _LONGEST_HEADER:
            raise FrameTooLargeError(f"{len(text)} bytes of values are too large: {_LONGEST_HEADER} are possible")
        with self._sending:
            self._socket.sendall(_LENGTHS.pack(kind, len(text), len(body)) + text)
            if body:
                self._socket.sendall(body)

    def log(self, message: str) -> None:
        """A line of a job's log."""
        self.send(FrameKind.LOG, {"message": message})

    def receive(self) -> LinkFrame | None:
        """None where the other side is gone. Raises FrameTooLargeError, and ValueError for what is no frame."""
        lengths = self._read(_LENGTHS.size)
        if lengths is None:
            return None
        kind, header_length, body_length = _LENGTHS.unpack(lengths)
        if header_length > _LONGEST_HEADER or body_length > self._limit:
            raise FrameTooLargeError(f"a frame of {header_length + body_length} bytes")
        text, body = self._read(header_length), self._read(body_length)
        if text is None or body is None:
            return None
        header = json.loads(text)
        if not isinstance(header, dict):
            raise ValueError("the header of a frame is no object")
        return LinkFrame(FrameKind(kind), header, body)

    def close(self) -> None:
        self._socket.close()

    def _read(self, length: int) -> bytes | None:
        pieces = bytearray()
        while len(pieces) < length:
            piece = self._socket.recv(min(length - len(pieces), 1 << 20))
            if not piece:
                return None
            pieces += piece
        return bytes(pieces)
