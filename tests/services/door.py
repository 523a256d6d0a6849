"""A port that leads to a server while it is open."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.services.ports import free_port
from tests.services.relay import connect


class Door:
    """While it is shut (`is_open` False), whoever knocks is turned away; after `slam` nobody is there to knock to."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._ends: list[socket.socket] = []
        self.port = free_port()
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self.open()

    def open(self) -> None:
        self.is_open = True
        if self._listener.fileno() < 0:
            self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def slam(self) -> None:
        """As if the server had been killed: connections break, and no new one is made."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        for end in (self._listener, *self._ends):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        self._ends.clear()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                if not self.is_open:
                    client.close()
                    continue
                self._ends += connect(client, self._target, lambda source, sink, data: True)


@contextmanager
def door_to(target: int) -> Iterator[Door]:
    door = Door(target)
    try:
        yield door
    finally:
        door.slam()
