"""A port that leads to a server, past somebody who looks at all that is said."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

Passes = Callable[[socket.socket, socket.socket, bytes], bool]
"""Of what one end says to the other: False breaks their connection before it is passed on."""


@contextmanager
def relay(target: int, passes: Passes) -> Iterator[int]:
    ends: list[socket.socket] = []

    def accept() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                ends.extend(connect(client, target, passes))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, daemon=True).start()
        try:
            yield listener.getsockname()[1]
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            for end in ends:
                end.close()


def connect(client: socket.socket, target: int, passes: Passes) -> tuple[socket.socket, socket.socket]:
    """Both ends, which now hear each other."""
    server = socket.create_connection(("127.0.0.1", target))
    for end in (client, server):
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for pair in ((client, server), (server, client)):
        threading.Thread(target=_pump, args=(*pair, passes), daemon=True).start()
    return client, server


def _pump(source: socket.socket, sink: socket.socket, passes: Passes) -> None:
    with suppress(OSError):
        while (data := source.recv(65536)) and passes(source, sink, data):
            sink.sendall(data)
    for end in (source, sink):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
