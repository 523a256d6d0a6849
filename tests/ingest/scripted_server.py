"""A real HTTP server on loopback that answers as a test tells it to, also in ways that no good server does."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True)
class Call:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes = b""


@dataclass(frozen=True)
class Answer:
    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    truncated: bool = False
    """The connection ends before the announced length."""

    @property
    def content(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


@dataclass
class ScriptedServer:
    url: str
    calls: list[Call] = field(default_factory=list)

    @property
    def targets(self) -> list[str]:
        return [call.path + "".join(f" {name}={value}" for name, value in call.query.items()) for call in self.calls]


@contextmanager
def serving(answer: Callable[[Call], Answer]) -> Iterator[ScriptedServer]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            call = Call(self.command, parts.path, dict(parse_qsl(parts.query)), headers, body)
            server.calls.append(call)
            reply = answer(call)
            self.send_response(reply.status)
            length = len(reply.content) + (10 if reply.truncated else 0)
            for name, value in {"Content-Length": str(length), **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.content)
            self.close_connection = reply.truncated

        do_POST = do_GET

        def log_message(self, format: str, *args: Any) -> None: ...

    class Server(ThreadingHTTPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as http:
        server = ScriptedServer(f"http://127.0.0.1:{http.server_address[1]}")
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()
