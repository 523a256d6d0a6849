"""A port that leads to a server while it is open."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Door:
    """While it is shut, whoever knocks is turned away."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.is_open = True


@contextmanager
def door_to(target: int) -> Iterator[Door]:
    ends: list[socket.socket] = []

    def pump(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def accept() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                if not door.is_open:
                    client.close()
                    continue
                server = socket.create_connection(("127.0.0.1", target))
                ends.extend((client, server))
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=pump, args=pair, daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        door = Door(listener.getsockname()[1])
        threading.Thread(target=accept, daemon=True).start()
        try:
            yield door
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            for end in ends:
                end.close()
