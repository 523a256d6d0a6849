"""Catalogs that ask for patience."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from tidegate.config import NessieServer
from tidegate.errors import FailureKind, LakeUnavailableError
from tidegate.lake.catalogs.nessie_api import NessieApi, Reference

MAIN = Reference("main", "0123")


@dataclass
class Busy:
    """It refuses so many requests, with this status and this header, and then says yes to everything."""

    refusals: int
    status: int = 429
    retry_after: str | None = "0"
    asked: list[str] = field(default_factory=list)


@contextmanager
def running(busy: Busy) -> Iterator[NessieApi]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            busy.asked.append(self.command)
            refused = len(busy.asked) <= busy.refusals
            self.send_response(busy.status if refused else 200)
            if refused and busy.retry_after is not None:
                self.send_header("Retry-After", busy.retry_after)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        do_GET = do_POST

        def log_message(self, format: str, *args: object) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield NessieApi(NessieServer(uri=f"http://127.0.0.1:{server.server_address[1]}/api/v2"))
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("status", [429, 503])
def test_a_change_that_a_busy_server_put_off_is_asked_for_again_when_it_says(status: int) -> None:
    busy = Busy(2, status)
    with running(busy) as api:
        api.create_branch("run-1", MAIN)
    assert busy.asked == ["POST"] * 3


def test_one_that_stays_busy_is_given_up_and_says_when_to_come_back() -> None:
    busy = Busy(100)
    with running(busy) as api, pytest.raises(LakeUnavailableError) as caught:
        api.config()
    assert (caught.value.kind, caught.value.retry_after, len(busy.asked)) == (FailureKind.QUOTA_EXCEEDED, 0.0, 3)


@pytest.mark.parametrize(("status", "retry_after"), [(429, "3600"), (429, None), (500, "0")])
def test_a_change_is_asked_for_once_where_it_may_have_been_done_or_takes_too_long(
    status: int, retry_after: str | None
) -> None:
    busy = Busy(1, status, retry_after)
    with running(busy) as api, pytest.raises(LakeUnavailableError) as caught:
        api.create_branch("run-1", MAIN)
    assert busy.asked == ["POST"]
    assert caught.value.retry_after == (3600.0 if retry_after == "3600" else None)
