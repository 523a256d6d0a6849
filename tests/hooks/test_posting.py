from __future__ import annotations

import hashlib
import hmac
import socket
import threading
from contextlib import suppress
from datetime import timedelta

import pytest

from tests.hooks.receiver import Reply, in_turn, receiving
from tidegate.config import Endpoint, Secret
from tidegate.errors import FailureKind
from tidegate.failures import kind_of_status
from tidegate.hooks.posting import post

QUICK = {"retry_delay": timedelta()}
SHORT = timedelta(milliseconds=150)


def at(url: str, **settings: object) -> Endpoint:
    return Endpoint(url=Secret(url), **{**QUICK, **settings})  # type: ignore[arg-type]


def test_a_body_is_signed_so_that_the_receiver_can_check_it() -> None:
    with receiving() as receiver:
        answer = post(at(f"{receiver.url}/hook?a=1", secret=Secret("shared")), b'{"a": 1}')
    assert (answer.ok, answer.message, answer.tries) == (True, "HTTP 200", 1)
    (came,) = receiver.posts
    assert came.path == "/hook?a=1"
    assert came.body == b'{"a": 1}'
    expected = hmac.new(b"shared", came.body, hashlib.sha256).hexdigest()
    assert came.headers["x-tidegate-signature"] == f"sha256={expected}"
    assert came.headers["content-type"].startswith("application/json")
    assert "shared" not in str(came.headers)


def test_headers_of_ones_own_go_before_the_usual_ones() -> None:
    headers = {"content-type": Secret("text/plain"), "Authorization": Secret("Bearer t0ken")}
    with receiving() as receiver:
        post(at(receiver.url, headers=headers), b"x", {"DD-API-KEY": Secret("dd")})
    (came,) = receiver.posts
    assert came.headers["content-type"] == "text/plain"
    assert (came.headers["authorization"], came.headers["dd-api-key"]) == ("Bearer t0ken", "dd")
    assert "x-tidegate-signature" not in came.headers


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_what_may_pass_is_tried_again_with_the_same_delivery_id(status: int) -> None:
    with receiving(in_turn(Reply(status), Reply(status), Reply(204))) as receiver:
        answer = post(at(receiver.url), b"{}")
    assert (answer.ok, answer.tries, answer.message) == (True, 3, "HTTP 204")
    assert len({came.headers["x-tidegate-delivery"] for came in receiver.posts}) == 1


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, FailureKind.QUERY_REJECTED), (401, FailureKind.AUTH_FAILED), (404, FailureKind.NOT_FOUND)],
)
def test_what_will_not_pass_is_tried_once(status: int, kind: FailureKind) -> None:
    with receiving(in_turn(Reply(status, "no such channel"))) as receiver:
        answer = post(at(receiver.url), b"{}")
    assert (answer.kind, answer.message, len(receiver.posts)) == (kind, f"HTTP {status}: no such channel", 1)


@pytest.mark.parametrize("status", [400, 403, 404, 408, 409, 410, 421, 425, 429, 500, 503, 511])
def test_a_status_means_the_same_as_everywhere_else(status: int) -> None:
    with receiving(in_turn(Reply(status))) as receiver:
        answer = post(at(receiver.url, retries=1), b"{}")
    assert answer.kind is kind_of_status(status)
    assert answer.tries == (2 if answer.kind.is_transient else 1)


def test_retries_come_to_an_end_and_wait_longer_each_time() -> None:
    waited: list[float] = []
    with receiving(in_turn(Reply(503))) as receiver:
        answer = post(
            at(receiver.url, retries=3, retry_delay=timedelta(seconds=1)),
            b"{}",
            wait=lambda seconds: bool(waited.append(seconds)),
        )
    assert (answer.kind, answer.tries, len(receiver.posts)) == (FailureKind.TRANSIENT, 4, 4)
    assert all(longest / 2 <= pause <= longest for pause, longest in zip(waited, (1, 2, 4), strict=True))


def test_a_server_that_says_when_to_come_back_is_obeyed() -> None:
    waited: list[float] = []
    replies = in_turn(Reply(429, headers={"Retry-After": "7"}), Reply())
    with receiving(replies) as receiver:
        assert post(at(receiver.url), b"{}", wait=lambda seconds: bool(waited.append(seconds))).ok
    assert waited == [7.0]
    with receiving(in_turn(Reply(429, headers={"Retry-After": "3600"}))) as receiver:
        answer = post(at(receiver.url), b"{}", wait=lambda seconds: bool(waited.append(seconds)))
    assert (answer.kind, answer.tries, waited) == (FailureKind.QUOTA_EXCEEDED, 1, [7.0])


def test_no_further_try_is_made_when_the_run_is_over() -> None:
    with receiving(in_turn(Reply(503))) as receiver:
        assert post(at(receiver.url), b"{}", wait=lambda seconds: True).tries == 1


def test_a_redirect_is_not_followed() -> None:
    with receiving() as elsewhere:
        away = Reply(307, headers={"Location": f"{elsewhere.url}/steal"})
        with receiving(in_turn(away)) as receiver:
            answer = post(at(receiver.url, headers={"Authorization": Secret("Bearer t0ken")}), b"{}")
        assert elsewhere.posts == []
    assert answer.kind is FailureKind.CONNECTION_FAILED
    assert "redirects to another address" in answer.message
    assert len(receiver.posts) == 1


def test_a_server_that_never_answers_costs_its_time_out_only() -> None:
    def never(came: object) -> Reply:
        receiver.over.wait(30)
        return Reply()

    with receiving(never) as receiver:
        answer = post(at(receiver.url, timeout=SHORT, retries=1), b"{}")
    assert (answer.kind, answer.tries) == (FailureKind.TIMEOUT, 2)
    assert answer.message == "no response within 150ms"
    assert answer.duration_ms < 5000


def test_a_server_that_takes_nothing_and_one_that_is_not_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert post(at(url, timeout=SHORT, retries=0), b"{}").kind is FailureKind.TIMEOUT
    answer = post(at(url, retries=2), b"{}")
    assert (answer.kind, answer.tries) == (FailureKind.CONNECTION_FAILED, 3)
    assert answer.message == "it cannot be reached: Connection refused"


def test_a_server_that_sends_a_byte_now_and_then_gains_no_time() -> None:
    over = threading.Event()

    def drip(server: socket.socket) -> None:
        line, _ = server.accept()
        with line, suppress(OSError):
            line.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
            while not over.wait(0.02):
                line.sendall(b"a")

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=drip, args=(server,))
        thread.start()
        answer = post(at(f"http://127.0.0.1:{server.getsockname()[1]}", timeout=SHORT, retries=0), b"{}")
        over.set()
        thread.join()
    assert (answer.kind, answer.message) == (FailureKind.TIMEOUT, "no response within 150ms")


def test_what_the_server_says_back_shows_no_secret() -> None:
    def echo(came: object) -> Reply:
        return Reply(400, "bad token t0ken-of-mine, url http://x, signed by shared-secret")

    headers = {"Authorization": Secret("t0ken-of-mine")}
    with receiving(echo) as receiver:
        answer = post(at(receiver.url, headers=headers, secret=Secret("shared-secret")), b"{}")
    assert answer.message == "HTTP 400: bad token ***, url http://x, signed by ***"


def test_a_header_that_http_cannot_carry_is_told() -> None:
    with receiving() as receiver:
        answer = post(at(receiver.url, headers={"X-Name": Secret("Łódź")}), b"{}")
    assert (answer.ok, receiver.posts) == (False, [])
    assert "cannot be sent" in answer.message
