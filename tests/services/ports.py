"""Ports for servers that tests start, stop and start again."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from secrets import choice

_PORTS = range(12_000, 22_000)
"""Below those that a system gives to whoever asks for any (Linux from 32768, macOS and Windows from 49152).

Such a port would be taken by another program's connection while its server is down.
"""

_given: set[int] = set()


def free_port(*above: int) -> int:
    """On loopback, and no test of this process had it before. The ports that are so far `above` it are free, too."""
    while True:
        port = choice(_PORTS)
        if port in _given:
            continue
        try:
            with ExitStack() as taken:
                for distance in (0, *above):
                    probe = taken.enter_context(socket.socket())
                    probe.bind(("127.0.0.1", port + distance))
        except OSError:
            continue
        _given.add(port)
        return port
