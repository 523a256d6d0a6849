"""Fivetran as a source, asked over HTTP on a server that answers as Fivetran does."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.services.ports import free_port
from tests.sources.rest_server import KEY, SECRET, Answer, Reply, Request, serving
from tidegate.config import FivetranSource, Secret
from tidegate.datatypes import Column, Relation
from tidegate.errors import FailureKind, SourceError
from tidegate.http_client import Timing
from tidegate.sources.fivetran import FivetranDiscoverer

NOON = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)


def source_at(url: str, seconds: float = 60, secret: str = SECRET, group_id: str | None = None) -> FivetranSource:
    return FivetranSource("ft", Secret(KEY), Secret(secret), url, group_id, timedelta(seconds=seconds))


@dataclass
class FakeTime:
    """Passes only when someone waits."""

    moment: float = 0.0
    pauses: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.moment += seconds

    @property
    def passing(self) -> Timing:
        return Timing(lambda: self.moment, self.sleep, lambda: NOON + timedelta(seconds=self.moment))


def table(enabled: bool = True, name: str | None = None, **columns: Any) -> dict[str, Any]:
    return {"enabled": enabled, "name_in_destination": name, "columns": columns}


SCHEMAS: dict[str, dict[str, Any]] = {
    "crm_1": {
        "Sales Force": {
            "enabled": True,
            "name_in_destination": "salesforce",
            "tables": {
                "Account": table(
                    name="account",
                    Id={"enabled": True, "name_in_destination": "id", "is_primary_key": True},
                    Secret__c={"enabled": False, "name_in_destination": "secret_c"},
                ),
                "Lead": table(enabled=False, name="lead"),
                "contact": {"enabled": True},
            },
        },
        "off": {"enabled": False, "name_in_destination": "off", "tables": {"x": table(name="x")}},
    },
    "pg_2": {
        "public": {"enabled": True, "name_in_destination": "pg_public", "tables": {"orders": table(name="orders")}}
    },
    "empty": {},
}


def account(request: Request) -> Reply:
    """Three connections on pages of one, and one that was never set up."""
    if request.path == "/v1/connections":
        at = int(request.parameters.get("cursor", "0"))
        names = [*SCHEMAS, "not_set_up"]
        following = {"next_cursor": str(at + 1)} if at + 1 < len(names) else {}
        return Reply({"code": "Success", "data": {"items": [{"id": names[at], "group_id": "g"}], **following}})
    connection = request.path.split("/")[3]
    if connection not in SCHEMAS:
        return Reply({"code": "NotFound_SchemaConfig", "message": "no schema"}, 404)
    return Reply({"code": "Success", "data": {"schemas": SCHEMAS[connection]}})


def failing_first(times: int, reply: Reply) -> Answer:
    lock, left = threading.Lock(), [times]

    def answer(request: Request) -> Reply:
        with lock:
            left[0] -= 1
            return reply if left[0] >= 0 else account(request)

    return answer


def failure_at(url: str, passing: Timing | None = None, **change: Any) -> SourceError:
    with pytest.raises(SourceError) as caught:
        FivetranDiscoverer(source_at(url, **change), passing).discover()
    assert KEY not in f"{caught.value} {caught.value.where} {caught.value.remedy}"
    return caught.value


def test_the_enabled_tables_of_all_pages_are_found_under_their_names_in_the_destination() -> None:
    with serving(account) as server:
        found = FivetranDiscoverer(source_at(server.url, group_id="g")).discover()
    assert {str(table.table): table.relation for table in found} == {
        "ft.pg_public.orders": Relation(complete=False),
        "ft.salesforce.account": Relation((Column("id"),), complete=False),
        "ft.salesforce.contact": Relation(complete=False),
    }
    pages = [request.parameters for request in server.requests if request.path == "/v1/connections"]
    assert [page.get("cursor") for page in pages] == [None, "1", "2", "3"]
    assert all(page["group_id"] == "g" for page in pages)


def test_a_ping_asks_for_one_connection() -> None:
    with serving(account) as server:
        ping = FivetranDiscoverer(source_at(server.url)).ping()
    assert ping.ok
    assert [request.parameters for request in server.requests] == [{"limit": "1"}]


def test_when_told_to_wait_it_waits_so_long() -> None:
    clock = FakeTime()
    with serving(failing_first(2, Reply({"message": "slow down"}, 429, {"Retry-After": "7"}))) as server:
        found = FivetranDiscoverer(source_at(server.url), clock.passing).discover()
    assert len(found) == 3
    assert clock.pauses == [7.0, 7.0]


def test_a_moment_to_wait_for_is_understood() -> None:
    clock = FakeTime()
    until = "Sun, 15 Nov 2026 12:00:09 GMT"
    with serving(failing_first(1, Reply({}, 503, {"Retry-After": until}))) as server:
        FivetranDiscoverer(source_at(server.url), clock.passing).discover()
    assert clock.pauses == [9.0]


def test_a_server_with_problems_is_asked_again_later_and_later() -> None:
    clock = FakeTime()
    with serving(failing_first(3, Reply(b"oops", 502))) as server:
        assert len(FivetranDiscoverer(source_at(server.url), clock.passing).discover()) == 3
    first, second, third = clock.pauses
    assert 0.25 <= first <= 0.5 <= second <= 1 <= third <= 2


def test_too_long_a_wait_is_not_begun() -> None:
    clock = FakeTime()
    with serving(lambda _: Reply({"message": "quota"}, 429, {"Retry-After": "3600"})) as server:
        failure = failure_at(server.url, clock.passing)
    assert failure.kind is FailureKind.QUOTA_EXCEEDED
    assert "HTTP 429: quota" in failure.message
    assert "asks to wait 3600 s, and the time limit is 60 s" in failure.message
    assert clock.pauses == []


def test_a_server_that_goes_on_failing_is_given_up() -> None:
    clock = FakeTime()
    with serving(lambda _: Reply(b"oops", 500)) as server:
        failure = failure_at(server.url, clock.passing)
    assert failure.kind is FailureKind.TRANSIENT
    assert server.asked("/v1/connections") == 6


def test_a_wrong_secret_is_told_and_not_tried_again() -> None:
    with serving(account) as server:
        failure = failure_at(server.url, secret="guessed-wrong")
    assert failure.kind is FailureKind.AUTH_FAILED
    assert "HTTP 401: Invalid authorization credentials" in failure.message
    assert "api_secret" in str(failure.remedy)
    assert "guessed-wrong" not in f"{failure} {failure.where} {failure.remedy}"
    assert len(server.requests) == 1


def test_a_secret_that_the_server_repeats_is_hidden() -> None:
    with serving(lambda _: Reply({"message": f"{KEY}:{SECRET} is wrong"}, 400)) as server:
        ping = FivetranDiscoverer(source_at(server.url)).ping()
    assert ping.failure is not None
    assert "***:*** is wrong" in ping.detail
    assert SECRET not in f"{ping} {ping.failure.__cause__}"


@pytest.mark.parametrize(
    ("reply", "kind", "words"),
    [
        (Reply(b"<html>Welcome</html>"), FailureKind.CONNECTION_FAILED, "not JSON"),
        (Reply(b"\xff\xfe"), FailureKind.CONNECTION_FAILED, "not JSON"),
        (Reply([1, 2]), FailureKind.QUERY_REJECTED, "no list of connections"),
        (Reply({"data": {"items": [{"name": "x"}]}}), FailureKind.QUERY_REJECTED, "no list of connections"),
        (Reply({"data": {"items": [], "next_cursor": "same"}}), FailureKind.QUERY_REJECTED, "circle"),
        (Reply({}, 403), FailureKind.AUTH_FAILED, "HTTP 403"),
        (Reply({}, 404), FailureKind.NOT_FOUND, "HTTP 404"),
        (Reply({}, 418), FailureKind.QUERY_REJECTED, "HTTP 418"),
    ],
)
def test_an_answer_that_cannot_be_used_is_told(reply: Reply, kind: FailureKind, words: str) -> None:
    with serving(lambda _: reply) as server:
        failure = failure_at(server.url)
    assert (failure.kind, words in failure.message) == (kind, True)
    assert failure.remedy


@pytest.mark.parametrize("data", [None, [], {"schemas": [1]}, {"schemas": {"s": {"tables": {"t": 3}}}}, {"schemas": 5}])
def test_schemas_of_an_unknown_form_are_told(data: Any) -> None:
    def answer(request: Request) -> Reply:
        return Reply({"data": {"items": [{"id": "c"}]} if request.path == "/v1/connections" else data})

    with serving(answer) as server:
        assert failure_at(server.url).kind is FailureKind.QUERY_REJECTED


def test_the_key_is_not_sent_to_where_a_redirect_points() -> None:
    with serving(account) as elsewhere:
        target = {"Location": f"{elsewhere.url}/v1/connections"}
        with serving(lambda _: Reply(b"", 302, target)) as server:
            failure = failure_at(server.url)
    assert failure.kind is FailureKind.CONNECTION_FAILED
    assert elsewhere.requests == []


def test_a_server_that_is_not_there_is_told_at_once() -> None:
    clock = FakeTime()
    failure = failure_at(f"http://127.0.0.1:{free_port()}", clock.passing)
    assert failure.kind is FailureKind.CONNECTION_FAILED
    assert "Connection refused" in failure.message
    assert clock.pauses == []


def test_a_server_that_says_nothing_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        failure = failure_at(f"http://127.0.0.1:{silent.getsockname()[1]}", seconds=0.2)
    assert failure.kind is FailureKind.TIMEOUT


def dripping(listener: socket.socket, stop: threading.Event) -> Callable[[], None]:
    def serve() -> None:
        line, _ = listener.accept()
        with line:
            line.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
            try:
                while not stop.wait(0.01):
                    line.sendall(b" ")
            except OSError:
                pass

    return serve


def test_a_server_that_sends_a_byte_now_and_then_is_given_up() -> None:
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=dripping(listener, stop))
        thread.start()
        try:
            failure = failure_at(f"http://127.0.0.1:{listener.getsockname()[1]}", seconds=0.3)
        finally:
            stop.set()
            thread.join()
    assert failure.kind is FailureKind.TIMEOUT


def test_an_answer_that_breaks_off_is_asked_for_again() -> None:
    clock = FakeTime()
    with serving(failing_first(1, Reply(b'{"data"', 200, {"Content-Length": "100"}))) as server:
        assert len(FivetranDiscoverer(source_at(server.url), clock.passing).discover()) == 3
    assert len(clock.pauses) == 1


@pytest.mark.parametrize("level", ["schema", "table", "column"])
def test_a_name_that_is_no_text_is_told(level: str) -> None:
    column, table_, schema = ({"name_in_destination": 5 if level == at else at} for at in ("column", "table", "schema"))
    schemas = {"s": {**schema, "tables": {"t": {**table_, "columns": {"c": column}}}}}

    def answer(request: Request) -> Reply:
        items = [{"id": "c"}] if request.path == "/v1/connections" else []
        return Reply({"data": {"items": items, "schemas": schemas}})

    with serving(answer) as server, pytest.raises(SourceError, match="unknown form"):
        FivetranDiscoverer(source_at(server.url)).discover()


@pytest.mark.parametrize(("seconds", "raise_it"), [(60, False), (10, True), (1, True)])
def test_a_ping_does_not_advise_a_longer_timeout_that_would_not_help(seconds: float, raise_it: bool) -> None:
    time = FakeTime()
    with serving(lambda _: Reply({}, 429, {"Retry-After": "3600"})) as server:
        ping = FivetranDiscoverer(source_at(server.url, seconds), time.passing).ping()
        with pytest.raises(SourceError) as caught:
            FivetranDiscoverer(source_at(server.url, seconds), time.passing).discover()
    assert ping.failure is not None
    assert ("raise 'timeout'" in str(ping.failure.remedy)) is raise_it
    assert "raise 'timeout'" in str(caught.value.remedy)


@pytest.mark.parametrize("before", range(100, 200, 20))
def test_a_key_that_the_server_repeats_is_not_shown_in_part(before: int) -> None:
    token = source_at("").token.reveal()
    message = f"{'x' * before} {token} {KEY}:{SECRET} {'y' * 100}"
    with serving(lambda _: Reply({"message": message}, 400)) as server:
        ping = FivetranDiscoverer(source_at(server.url)).ping()
    assert f"(HTTP 400: {'x' * before}" in ping.detail
    assert not any(word[:5] in ping.detail for word in (token, SECRET))
