"""A port that leads to a server, but for the requests that it refuses."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.services.relay import relay


@dataclass
class Refusal:
    """While it is `on`, what a client says with `sign` in it is answered with 403."""

    port: int
    on: bool = True
    met: int = 0


@contextmanager
def refusing(sign: bytes, target: int) -> Iterator[Refusal]:
    body = json.dumps({"status": 403, "errorCode": "FORBIDDEN", "message": "not allowed here"}).encode()
    head = "HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n"
    answer = head.format(len(body)).encode() + body

    def passes(source: socket.socket, sink: socket.socket, data: bytes) -> bool:
        if sign not in data or not refusal.on:
            return True
        refusal.met += 1
        source.sendall(answer)
        return False  # what belongs to the request may still come, and must not reach the server

    with relay(target, passes) as port:
        refusal = Refusal(port)
        yield refusal
