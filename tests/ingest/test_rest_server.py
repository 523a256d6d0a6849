"""A REST server that throttles, fails, redirects or refuses: what is repeated, what ends the read, what leaves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.ingest.landing_project import REST, LandingProject, contract_document, ingestion
from tests.ingest.scripted_server import Answer, Call, serving
from tidegate.config import RestSource, Secret
from tidegate.config.rest_source import BearerToken
from tidegate.contracts.landing_issues import landing_issues
from tidegate.contracts.stage_contract import StageContract
from tidegate.errors import ConfigError, FailureKind, SourceError
from tidegate.http_client import Timing
from tidegate.ingest.rest.page_server import PageServer
from tidegate.sources.discovery import open_source

PAGE = Answer({"results": [{"id": 1}]})
SECRET = "a-secret-of-the-shop-77"
FORMS = {
    "bearer": ('token = "${SECRET}"', "authorization", f"Bearer {SECRET}"),
    "basic": ('user = "me"\npassword = "${SECRET}"', "authorization", "Basic bWU6YS1zZWNyZXQtb2YtdGhlLXNob3AtNzc="),
    "key": ('api_key = "${SECRET}"\napi_key_name = "X-Key"', "x-key", SECRET),
    "header": ('headers = { "X-Auth-Token" = "${SECRET}" }', "x-auth-token", SECRET),
}


def project(root: Path, url: str, extra: str = "") -> LandingProject:
    toml = f'[sources.shop]\nkind = "rest"\nbase_url = "{url}"\n{extra}\n'
    return LandingProject(root, toml, {"SECRET": SECRET})


def test_throttling_waits_as_long_as_the_server_asks(tmp_path: Path) -> None:
    answers = [
        Answer(status=429, headers={"Retry-After": "17"}),
        Answer(status=503, headers={"Retry-After": "3"}),
        PAGE,
    ]
    with serving(lambda call: answers.pop(0)) as server:
        shop = project(tmp_path, server.url)
        assert shop.land(ingestion(**REST)).rows == 1
    assert shop.times.waited == [17, 3]


def test_a_pause_of_an_hour_is_not_waited_for(tmp_path: Path) -> None:
    with serving(lambda call: Answer(status=429, headers={"Retry-After": "3600"})) as server:
        shop = project(tmp_path, server.url)
        with pytest.raises(SourceError, match="too many requests") as caught:
            shop.land(ingestion(**REST))
        assert (caught.value.kind, caught.value.retry_after) == (FailureKind.QUOTA_EXCEEDED, 3600)
    assert (shop.times.waited, len(server.calls)) == ([], 1)


def test_a_burst_of_failures_is_ridden_out_without_a_row_twice(tmp_path: Path) -> None:
    """Longer than one request is repeated: the read goes on at the page that failed."""
    left = {"": 2, "2": 6, "3": 1}

    def answer(call: Call) -> Answer:
        page = call.query.get("page", "")
        if left[page]:
            left[page] -= 1
            return Answer(status=502)
        following = {"": "2", "2": "3", "3": None}[page]
        return Answer({"results": [page], "next": following and f"?page={following}"})

    with serving(answer) as server:
        shop = project(tmp_path, server.url)
        assert shop.land(ingestion(**REST)).rows == 3
    assert [json.loads(page)["results"] for page in shop.pages()] == [[""], ["2"], ["3"]]


def test_a_server_that_stays_down_ends_the_read_and_the_next_continues(tmp_path: Path) -> None:
    down = True

    def answer(call: Call) -> Answer:
        if call.query and down:
            return Answer(status=500)
        return Answer({"results": [1], "next": None if call.query else "?page=2"})

    with serving(answer) as server:
        shop = project(tmp_path, server.url)
        with pytest.raises(SourceError, match="HTTP 500") as caught:
            shop.land(ingestion(**REST))
        assert caught.value.kind.is_transient
        (open_manifest,) = shop.manifests()
        assert (open_manifest["complete"], open_manifest["batches"], shop.listed()) == (False, 1, [])
        down, before = False, len(server.calls)
        done = shop.land(ingestion(**REST))
        assert [call.query for call in server.calls[before:]] == [{"page": "2"}]
    assert (done.run_id, done.resumed, done.rows) == ("run-1", True, 2)


def test_a_body_that_breaks_off_is_read_again(tmp_path: Path) -> None:
    answers = [Answer(b'{"results": [1]}', truncated=True), PAGE]
    with serving(lambda call: answers.pop(0)) as server:
        shop = project(tmp_path, server.url)
        shop.land(ingestion(**REST))
    assert shop.pages() == [PAGE.content.decode()]


def test_a_source_that_is_not_there_is_named(tmp_path: Path) -> None:
    with serving(lambda call: PAGE) as server:
        url = server.url
    with pytest.raises(SourceError, match=r"source 'shop': cannot be reached: Connection refused") as caught:
        project(tmp_path, url).land(ingestion(**REST))
    assert caught.value.where == f"{url}/orders"


@pytest.mark.parametrize(("settings", "header", "value"), FORMS.values(), ids=FORMS)
def test_credentials_go_to_the_server_and_nowhere_else(settings: str, header: str, value: str, tmp_path: Path) -> None:
    """Neither a next link nor a redirect takes them to another server, and no file has them."""
    with serving(lambda call: PAGE) as other:
        elsewhere = other.url.replace("127.0.0.1", "localhost")
        answers = {
            "/link": Answer({"results": [1], "next": f"{elsewhere}/steal?x=1"}),
            "/redirect": Answer(status=302, headers={"Location": f"{elsewhere}/steal"}),
            "/user": Answer({"results": [1], "next": "http://me:you@127.0.0.1/steal"}),
            "/file": Answer({"results": [1], "next": "file:///etc/passwd"}),
        }
        with serving(lambda call: answers[call.path]) as server:
            for path in answers:
                with pytest.raises(SourceError, match="on another server") as caught:
                    project(tmp_path, server.url, settings).land(ingestion(**{**REST, "endpoint": path}))
                assert SECRET not in f"{caught.value} {caught.value.where} {caught.value.remedy}"
            assert {call.headers.get(header) for call in server.calls} == {value}
        assert other.calls == []
    assert all(SECRET.encode() not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_a_key_in_the_query_is_in_no_manifest_and_no_message(tmp_path: Path) -> None:
    def answer(call: Call) -> Answer:
        if call.query.get("page") == "3":
            return Answer(status=400)
        page = int(call.query.get("page", 1)) + 1
        return Answer({"results": [1], "next": f"/orders?page={page}&key={SECRET}&again={SECRET}"})

    settings = 'api_key = "${SECRET}"\napi_key_name = "key"\napi_key_in = "query"'
    with serving(answer) as server:
        with pytest.raises(SourceError) as caught:
            project(tmp_path, server.url, settings).land(ingestion(**REST))
        assert [call.query["key"] for call in server.calls] == [SECRET] * 3
    assert SECRET not in f"{caught.value} {caught.value.where} {caught.value.remedy}"
    manifest = (tmp_path / "landing/orders/_manifests/run-1.json").read_text()
    assert "page=3" in manifest
    assert SECRET not in manifest


@pytest.mark.parametrize("form", FORMS)
def test_a_secret_that_the_server_repeats_is_in_no_manifest(form: str, tmp_path: Path) -> None:
    def answer(call: Call) -> Answer:
        if call.query.get("page") == "3":
            return Answer(status=400, body=SECRET.encode())
        page = int(call.query.get("page", 1)) + 1
        link = f"/orders?page={page}&access_token={SECRET}&auth=Bearer%20{SECRET}&{SECRET}=1&size=2"
        return Answer({"results": [1], "next": link})

    with serving(answer) as server:
        shop = project(tmp_path, server.url, FORMS[form][0])
        with pytest.raises(SourceError) as caught:
            shop.land(ingestion(**REST))
        assert server.targets[1:] == ["/orders page=2 size=2", "/orders page=3 size=2"]
    assert SECRET not in f"{caught.value} {caught.value.where} {caught.value.remedy}{shop.manifests()}"


def test_a_next_page_whose_path_holds_a_secret_ends_the_read(tmp_path: Path) -> None:
    page = Answer({"results": [1], "next": f"/orders/{SECRET}/2"})
    with serving(lambda call: page) as server:
        shop = project(tmp_path, server.url, FORMS["bearer"][0])
        with pytest.raises(SourceError, match=r"a path that holds a secret of \[sources\.shop\]") as caught:
            shop.land(ingestion(**REST))
    assert SECRET not in f"{caught.value} {caught.value.where} {caught.value.remedy}{shop.manifests()}"


@pytest.mark.parametrize("target", ["@evil.example/", ".evil.example/x", "evil", ""])
def test_a_manifest_leads_to_no_other_server(tmp_path: Path, target: str) -> None:
    def answer(call: Call) -> Answer:
        return Answer(status=400) if call.query else Answer({"results": [1], "next": "/orders?page=2"})

    with serving(answer) as server:
        shop = project(tmp_path, server.url, FORMS["bearer"][0])
        with pytest.raises(SourceError):
            shop.land(ingestion(**REST))
        path = shop.zone / "_manifests/run-1.json"
        manifest = json.loads(path.read_text())
        state = json.dumps(json.loads(manifest["state"]) | {"target": target})
        path.write_text(json.dumps(manifest | {"state": state}))
        with pytest.raises(SourceError, match="as the next page, which is no path"):
            shop.land(ingestion(**REST))


@pytest.mark.parametrize(
    "endpoint", ["https://u:hunter2secret@127.0.0.1/x", "//u:hunter2secret@h/x", "ftp://h/x?api_key=hunter2secret"]
)
def test_an_endpoint_with_credentials_is_refused_and_not_shown(endpoint: str) -> None:
    issues = list(landing_issues(StageContract(contract_document(**{**REST, "endpoint": endpoint}))))
    message = "'endpoint' holds credentials, which a contract and its manifests must not have"
    assert [issue.message for issue in issues] == [message]
    with pytest.raises(SourceError, match=r"is no address|has a user in it") as caught:
        PageServer(endpoint, "shop", None, Timing())
    assert "hunter2secret" not in f"{caught.value} {caught.value.where} {caught.value.remedy}"


def test_a_redirect_on_the_same_server_is_followed(tmp_path: Path) -> None:
    def answer(call: Call) -> Answer:
        return PAGE if call.path.endswith("/") else Answer(status=301, headers={"Location": "/orders/"})

    with serving(answer) as server:
        shop = project(tmp_path, server.url, FORMS["bearer"][0])
        assert shop.land(ingestion(**REST)).rows == 1
    with serving(lambda call: Answer(status=301, headers={"Location": call.path})) as server:
        with pytest.raises(SourceError, match="redirects in a circle"):
            project(tmp_path, server.url).land(ingestion(**REST))
        assert len(server.calls) == 6


def test_a_token_is_fetched_and_fetched_again_when_it_has_expired(tmp_path: Path) -> None:
    tokens = iter(["first-token-1", "second-token-2"])
    valid = "first-token-1"

    def answer(call: Call) -> Answer:
        nonlocal valid
        if call.path == "/token":
            assert call.body == f"grant_type=client_credentials&client_id=me&client_secret={SECRET}".encode()
            return Answer({"access_token": next(tokens)})
        if call.headers["authorization"] != f"Bearer {valid}":
            return Answer(status=401)
        valid = "second-token-2"
        return Answer({"results": [1], "next": None if call.query else "?page=2"})

    with serving(answer) as server:
        settings = f'client_id = "me"\nclient_secret = "${{SECRET}}"\ntoken_url = "{server.url}/token"'
        assert project(tmp_path, server.url, settings).land(ingestion(**REST)).rows == 2
        assert [call.path for call in server.calls] == ["/token", "/orders", "/orders", "/token", "/orders"]


@pytest.mark.parametrize(
    ("status", "kind", "remedy"),
    [
        (401, FailureKind.AUTH_FAILED, "give the credentials in [sources.shop] of kind rest"),
        (403, FailureKind.AUTH_FAILED, "permission"),
        (404, FailureKind.NOT_FOUND, "correct 'endpoint'"),
        (400, FailureKind.QUERY_REJECTED, "correct 'endpoint'"),
    ],
)
def test_a_refusal_is_not_repeated(status: int, kind: FailureKind, remedy: str, tmp_path: Path) -> None:
    with serving(lambda call: Answer({"message": "no"}, status=status)) as server:
        with pytest.raises(SourceError, match=f"HTTP {status}") as caught:
            project(tmp_path, server.url).land(ingestion(**REST))
        assert (caught.value.kind, len(server.calls)) == (kind, 1)
    assert remedy in str(caught.value.remedy)


def test_an_address_alone_needs_no_source_in_the_settings(tmp_path: Path) -> None:
    with serving(lambda call: PAGE) as server:
        shop = LandingProject(tmp_path)
        assert shop.land(ingestion(**{**REST, "endpoint": f"{server.url}/orders"})).rows == 1
        with pytest.raises(SourceError, match="'/orders' is no address"):
            shop.land(ingestion(**REST))


def test_credentials_are_not_given_to_an_endpoint_on_another_server(tmp_path: Path) -> None:
    with serving(lambda call: PAGE) as server:
        found = ingestion(**{**REST, "endpoint": f"{server.url}/orders"})
        with pytest.raises(SourceError, match="another server than base_url"):
            project(tmp_path, "https://api.example.com", FORMS["bearer"][0]).land(found)
        assert server.calls == []


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("?page=2", "/v1/orders?page=2"),
        ("next", "/v1/next"),
        ("https://api.example.com/v1/orders?page=2", "/v1/orders?page=2"),
        ("https://api.example.com:443/x", "/x"),
        ("http://api.example.com/v1/orders?page=2", "/v1/orders?page=2"),  # of a server behind a proxy that ends TLS
        ("//api.example.com", "/"),
        ("https://api.example.com:8443/x", None),
        ("https://api.example.com.evil.example/x", None),
        ("https://api.example.com@evil.example/x", None),
        ("//evil.example/x", None),
        ("https://[::1", None),
        ("javascript:alert(1)", None),
    ],
)
def test_links_lead_to_the_same_server_or_nowhere(link: str, target: str | None) -> None:
    source = RestSource("shop", "https://api.example.com/v1", BearerToken(Secret(SECRET)))
    server = PageServer("/orders", "shop", source, Timing())
    if target is not None:
        assert server.follow(server.target, link) == target
    else:
        with pytest.raises(SourceError, match="another server"):
            server.follow(server.target, link)
    server.close()


def test_a_source_answers_a_ping_without_credentials(tmp_path: Path) -> None:
    with serving(lambda call: Answer(status=401)) as server:
        source = RestSource("shop", server.url, BearerToken(Secret(SECRET)))
        ping = open_source(source).ping()
        assert (ping.ok, ping.detail) == (True, f"{server.url} answers (HTTP 401)")
        assert "authorization" not in server.calls[0].headers
    ping = open_source(source).ping()
    assert (ping.ok, open_source(source).discover()) == (False, ())
    assert "cannot be reached: Connection refused" in ping.detail


def test_a_source_of_another_kind_is_refused(tmp_path: Path) -> None:
    shop = LandingProject(tmp_path, '[sources.shop]\nkind = "manual"\ntables = ["a.b"]\n')
    with pytest.raises(ConfigError, match="of kind manual, and connector rest"):
        shop.land(ingestion(**REST))
