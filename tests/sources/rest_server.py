"""A server on loopback that answers as a test tells it to."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

KEY, SECRET = "the-key", "the-secret"


@dataclass(frozen=True)
class Request:
    path: str
    parameters: dict[str, str]


@dataclass(frozen=True)
class Reply:
    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def content(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


Answer = Callable[[Request], Reply]


@dataclass
class RestServer:
    """`requests` are those that came, in order."""

    url: str
    requests: list[Request] = field(default_factory=list)

    def asked(self, path: str) -> int:
        return sum(request.path == path for request in self.requests)


@contextmanager
def serving(answer: Answer) -> Iterator[RestServer]:
    expected = "Basic " + base64.b64encode(f"{KEY}:{SECRET}".encode()).decode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            request = Request(parts.path, dict(parse_qsl(parts.query)))
            server.requests.append(request)
            reply = answer(request)
            if self.headers["Authorization"] != expected:
                reply = Reply({"code": "AuthFailed", "message": "Invalid authorization credentials"}, 401)
            self.send_response(reply.status)
            for name, value in {"Content-Length": str(len(reply.content)), **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.content)

        def log_message(self, format: str, *args: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        server = RestServer(f"http://127.0.0.1:{http.server_address[1]}")
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            http.shutdown()
            thread.join()
