"""The HTTP client: what is attempted again, and what never leaves for another server or a log."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from tests.hooks.receiver import Receiver, Reply, in_turn, receiving
from tests.services.ports import free_port
from tidegate.errors import FailureKind
from tidegate.http_client import HttpClient, HttpRetryPolicy, Timing

QUICK = HttpRetryPolicy(first_pause=0.0)


@contextmanager
def breaking_off(response: bytes = b"") -> Iterator[tuple[str, list[bytes]]]:
    """A server that receives a request, sends so much of a response, and closes the connection."""
    requests: list[bytes] = []

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = server.accept()
                with connection:
                    requests.append(connection.recv(65536))
                    connection.sendall(response)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}", requests
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


@pytest.mark.parametrize("response", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"])
def test_a_change_that_may_have_been_carried_out_is_not_repeated(response: bytes) -> None:
    with breaking_off(response) as (url, requests):
        change = HttpClient(url).send("POST", "/x", b"{}", repeatable=False, retry=QUICK)
        assert (change.kind, change.sent, change.attempts, len(requests)) == (
            FailureKind.CONNECTION_FAILED,
            True,
            1,
            1,
        )
        read = HttpClient(url).send("GET", "/x", repeatable=True, retry=QUICK)
        assert (read.kind, read.attempts, len(requests)) == (FailureKind.CONNECTION_FAILED, 3, 4)


def test_a_server_that_is_not_there_has_received_nothing() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    reply = HttpClient(url).send("POST", content=b"{}", repeatable=False)
    assert (reply.kind, reply.sent, reply.reason) == (FailureKind.CONNECTION_FAILED, False, "Connection refused")
    reply = HttpClient(url).send("GET", repeatable=True, retry=HttpRetryPolicy(when_unreachable=False))
    assert reply.attempts == 1


def test_a_refusal_counts_even_where_its_explanation_breaks_off() -> None:
    with breaking_off(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 10\r\n\r\nhalf") as (url, _):
        reply = HttpClient(url).send("GET", repeatable=True)
    assert (reply.status, reply.kind, reply.attempts) == (403, FailureKind.AUTH_FAILED, 1)


def test_a_pause_that_does_not_fit_the_time_limit_is_not_begun() -> None:
    with receiving(in_turn(Reply(503, headers={"Retry-After": "4"}))) as receiver:
        reply = HttpClient(receiver.url, time_limit=3, timing=Timing(now=lambda: 0.0)).send(
            "POST", content=b"", repeatable=False
        )
    assert (reply.pause, reply.retry_after, len(receiver.posts)) == (4.0, 4.0, 1)


def test_neither_address_nor_header_reaches_a_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with receiving() as receiver:
        client = HttpClient(f"{receiver.url}/services/t0p-secret", {"Authorization": "Bearer t0ken"})
        assert client.send("POST", content=b"", repeatable=False).kind is None
    assert "t0p-secret" not in caplog.text
    assert "t0ken" not in caplog.text


def test_headers_are_merged_whatever_their_case_and_carry_latin_1() -> None:
    with receiving() as receiver:
        client = HttpClient(receiver.url, {"user-agent": "mine"})
        client.send("POST", content=b"", headers={"USER-AGENT": "Müller"}, repeatable=False)
    assert receiver.posts[0].headers["user-agent"] == "Müller"


def test_cookies_are_not_kept() -> None:
    with receiving(in_turn(Reply(headers={"Set-Cookie": "a=b"}))) as receiver:
        client = HttpClient(receiver.url)
        for _ in range(2):
            client.send("POST", content=b"", repeatable=False)
    assert "cookie" not in receiver.posts[1].headers


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    for name in ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "REQUEST_METHOD"):
        monkeypatch.delenv(name, raising=False)
    with receiving() as receiver:
        monkeypatch.setenv("http_proxy", receiver.url.removeprefix("http://"))
        yield receiver


@pytest.mark.parametrize(
    ("proxies", "no_proxy", "by_proxy"),
    [(True, "", True), (False, "", False), (True, "127.0.0.1", False), (True, "other.example", True)],
)
def test_the_proxy_of_the_environment_is_used_where_it_applies(
    proxy: Receiver, monkeypatch: pytest.MonkeyPatch, proxies: bool, no_proxy: str, by_proxy: bool
) -> None:
    monkeypatch.setenv("no_proxy", no_proxy)
    with receiving() as server:
        reply = HttpClient(f"{server.url}/x", proxies=proxies).send("POST", content=b"", repeatable=False)
    assert reply.kind is None
    assert (len(proxy.posts), len(server.posts)) == ((1, 0) if by_proxy else (0, 1))


def test_a_proxy_that_cannot_be_used_is_reported(proxy: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "ftp://user:t0p-secret@proxy:21")
    reply = HttpClient("http://127.0.0.1:1").send("GET", repeatable=True)
    assert (reply.kind, reply.sent, reply.attempts) == (FailureKind.QUERY_REJECTED, False, 1)
    assert "scheme" in reply.reason
    assert "t0p-secret" not in reply.reason


@pytest.mark.parametrize(
    "response",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nbody",
    ],
)
def test_an_accepted_document_is_not_sent_again_whatever_its_body(response: bytes) -> None:
    with breaking_off(response) as (url, requests):
        reply = HttpClient(url, status_suffices=True).send("POST", content=b"{}", repeatable=True, retry=QUICK)
    assert (reply.status, reply.kind, len(requests)) == (200, None, 1)


def test_a_body_in_an_encoding_that_was_not_accepted_hides_no_status() -> None:
    with breaking_off(b"HTTP/1.1 409 Conflict\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nbody") as (url, _):
        reply = HttpClient(url).send("GET", repeatable=True)
    assert (reply.status, reply.kind, reply.body) == (409, FailureKind.CONFLICT, b"body")


def test_blanks_around_a_header_are_dropped_and_a_value_that_cannot_be_sent_is_not_shown() -> None:
    with receiving() as receiver:
        HttpClient(receiver.url, {"Authorization": " Bearer abc "}).send("POST", content=b"{}", repeatable=False)
        refused = HttpClient(receiver.url, {"Authorization": "top\nsecret"}).send("GET", repeatable=True)
    (post,) = receiver.posts
    assert post.headers["authorization"] == "Bearer abc"
    assert (refused.kind, refused.reason) == (
        FailureKind.QUERY_REJECTED,
        "a header has a value that HTTP cannot carry",
    )


@pytest.mark.filterwarnings("ignore:.*SSLSocket")  # Python leaves the socket of a failed handshake to the collector
def test_a_connection_that_the_server_resets_is_tried_again() -> None:
    unreached = HttpRetryPolicy(first_pause=0.0, when_unreachable=False)
    with socket.create_server(("127.0.0.1", 0)) as server:
        accepted = []

        def reset() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    accepted.append(connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0"))
                    connection.close()

        thread = threading.Thread(target=reset)
        thread.start()
        url = f"https://127.0.0.1:{server.getsockname()[1]}"
        reply = HttpClient(url).send("GET", repeatable=True, retry=unreached)
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
    assert (reply.kind, reply.broken, len(accepted)) == (FailureKind.CONNECTION_FAILED, True, 3)
