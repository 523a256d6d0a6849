"""A port that leads to a server and breaks a connection at the worst moment."""

from __future__ import annotations

import socket
from contextlib import AbstractContextManager

from tests.services.relay import relay


def cut_at(sign: bytes, target: int, forwarded: bool) -> AbstractContextManager[int]:
    """Breaks the first connection whose client says `sign`: before the server hears it, or when it answers."""
    chosen: list[socket.socket] = []

    def passes(source: socket.socket, sink: socket.socket, data: bytes) -> bool:
        if sink in chosen:
            return False  # the server's answer
        if sign in data and not chosen:
            chosen.append(source)
            return forwarded
        return True

    return relay(target, passes)
