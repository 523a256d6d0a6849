"""A server on loopback that is told of runs, and answers as a test wants it to."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Post:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def document(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Reply:
    status: int = 200
    text: str = ""
    headers: dict[str, str] = field(default_factory=dict)


Answer = Callable[[Post], Reply]


@dataclass
class Receiver:
    """`posts` are those that came, in order. `over` is set when the test ends: who waits for it never answers."""

    url: str
    posts: list[Post] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    came: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    @property
    def events(self) -> list[str]:
        return [post.document["event"] for post in self.posts]


@contextmanager
def receiving(answer: Answer = lambda post: Reply()) -> Iterator[Receiver]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            post = Post(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            receiver.posts.append(post)
            receiver.came.release()
            reply = answer(post)
            content = reply.text.encode()
            with suppress(BrokenPipeError, ConnectionResetError):
                self.send_response(reply.status)
                for name, value in {"Content-Length": str(len(content)), **reply.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        receiver = Receiver(f"http://127.0.0.1:{http.server_address[1]}")
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield receiver
        finally:
            receiver.over.set()
            http.shutdown()
            thread.join()


def in_turn(*replies: Reply) -> Answer:
    """One after the other; the last one for all that follow."""
    left = list(replies)
    return lambda post: left.pop(0) if len(left) > 1 else left[0]
