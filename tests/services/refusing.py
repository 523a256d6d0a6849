"""A port that leads to a server, but for the requests that it refuses."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass


@dataclass
class Refusal:
    """While it is `on`, what a client says with `sign` in it is answered with 403."""

    port: int
    on: bool = True
    met: int = 0


@contextmanager
def refusing(sign: bytes, target: int) -> Iterator[Refusal]:
    ends: list[socket.socket] = []
    body = json.dumps({"status": 403, "errorCode": "FORBIDDEN", "message": "not allowed here"}).encode()
    head = "HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n"
    answer = head.format(len(body)).encode() + body

    def pump(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if sign in data and refusal.on:
                    refusal.met += 1
                    source.sendall(answer)
                    break  # what belongs to the request may still come, and must not reach the server
                sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def accept() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = socket.create_connection(("127.0.0.1", target))
                for end in (client, server):
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                ends.extend((client, server))
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=pump, args=pair, daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        refusal = Refusal(listener.getsockname()[1])
        threading.Thread(target=accept, daemon=True).start()
        try:
            yield refusal
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            for end in ends:
                end.close()
