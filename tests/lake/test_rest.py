"""What is particular to a lake whose main is on a REST server; what all catalogs do is in test_branches.py."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.lake.invented import Invented
from tests.lake.places import Place
from tests.services.cutting import cut_at
from tests.services.iceberg_rest import IcebergRest
from tests.services.ports import free_port
from tidegate.config import RestServer, Secret
from tidegate.config.database_url import parse_database_url
from tidegate.errors import FailureKind, LakeError, LakeUnavailableError, PublishConflictError
from tidegate.lake.branch_catalog import MAIN, BranchCatalog, Pointer, PointerKind
from tidegate.lake.catalogs.embedded import EmbeddedCatalog
from tidegate.lake.catalogs.iceberg_rest import RestCatalog
from tidegate.lake.catalogs.jdbc import JdbcCatalog
from tidegate.lake.catalogs.rest_api import RestApi
from tidegate.lake.metadata import load_json
from tidegate.lake.sweep import sweep
from tidegate.names import TableName

needs_server = pytest.mark.spark
ORDERS = TableName("shop", "silver", "orders")
ITEMS = TableName("shop", "silver", "items")
REVENUE = TableName("shop", "gold", "revenue")
TOP = TableName("shop", "gold", "top")


def at(version: str, kind: PointerKind = PointerKind.TABLE) -> Pointer:
    return Pointer(kind, f"file:/w/{version}")


@pytest.fixture
def place(rest_lake: str, tmp_path: Path) -> Place:
    return Place("rest", tmp_path, rest_lake)


def begin(catalog: BranchCatalog, branch: str, *tables: TableName, version: str = "1") -> None:
    catalog.create_branch(branch)
    for table in tables:
        catalog.restore(branch, table, at(f"{table.name}-{version}"))


def publish(catalog: BranchCatalog, branch: str, *tables: TableName, version: str = "1") -> None:
    begin(catalog, branch, *tables, version=version)
    catalog.publish(branch, tables)
    catalog.drop_branch(branch)


@needs_server
def test_nothing_of_a_branch_is_seen_on_the_server_before_it_is_published(
    place: Place, iceberg_rest: IcebergRest
) -> None:
    catalog = place.open()
    begin(catalog, "run-1", ORDERS)
    assert iceberg_rest.ask("GET", "/v1/namespaces")["namespaces"] == []
    catalog.publish("run-1", [ORDERS])
    found = iceberg_rest.ask("GET", "/v1/namespaces/shop%2Esilver/tables/orders")
    assert found["metadata-location"].startswith(f"file:{place.folder}/warehouse/")


@needs_server
def test_row_ids_and_sequence_numbers_are_the_servers_too(place: Place) -> None:
    catalog, real = place.open(), place.open_rest()
    publish(catalog, "run-1", ORDERS)
    publish(catalog, "run-2", ORDERS, version="2")
    publish(catalog, "run-3", ORDERS, version="3")
    pointer = real.pointer(MAIN, ORDERS)
    assert pointer is not None
    metadata = load_json(pointer.location)
    assert (metadata["next-row-id"], metadata["last-sequence-number"]) == (30, 3)
    assert [each["first-row-id"] for each in metadata["snapshots"]] == [0, 10, 20]


@needs_server
@pytest.mark.parametrize("forwarded", [False, True])
def test_an_answer_that_is_lost_leaves_no_doubt(place: Place, forwarded: bool) -> None:
    publish(place.open(), "run-1", ORDERS)
    port = urlsplit(place.address).port
    assert port is not None
    with cut_at(b"POST /v1/namespaces/shop%2Esilver/tables/orders", port, forwarded) as cut:
        catalog = Place("rest", place.folder, f"http://127.0.0.1:{cut}").open()
        begin(catalog, "run-2", ORDERS, version="2")
        (change,) = catalog.publish("run-2", [ORDERS])
    assert (change.before, change.after) == (at("orders-1"), at("orders-2"))
    pointer = place.open_rest().pointer(MAIN, ORDERS)
    assert pointer is not None
    assert len(load_json(pointer.location)["snapshots"]) == 2


@needs_server
def test_a_new_table_whose_answer_is_lost_is_there_once(place: Place) -> None:
    port = urlsplit(place.address).port
    assert port is not None
    with cut_at(b"POST /v1/namespaces/shop%2Esilver/register", port, forwarded=True) as cut:
        catalog = Place("rest", place.folder, f"http://127.0.0.1:{cut}").open()
        begin(catalog, "run-1", ORDERS)
        (change,) = catalog.publish("run-1", [ORDERS])
    assert (change.after, catalog.changed_tables("run-1")) == (at("orders-1"), ())


def without(catalog: BranchCatalog, *endpoints: str) -> BranchCatalog:
    """As on a server that lacks them."""
    api: RestApi = catalog._api  # type: ignore[attr-defined]
    offered = frozenset(each for each in api._config.endpoints if not each.endswith(endpoints))
    api.__dict__["_config"] = replace(api._config, endpoints=offered)
    return catalog


@needs_server
def test_a_server_without_transactions_is_told_table_by_table(place: Place) -> None:
    catalog = without(place.open(), "transactions/commit")
    publish(catalog, "run-1", ORDERS, ITEMS, REVENUE)
    begin(catalog, "run-2", ORDERS, ITEMS, version="2")
    assert len(catalog.publish("run-2", [ORDERS, ITEMS])) == 2
    assert catalog.head() == {ORDERS: at("orders-2"), ITEMS: at("items-2"), REVENUE: at("revenue-1")}


@needs_server
def test_a_publish_that_stops_half_way_says_what_main_has_and_can_be_made_again(place: Place) -> None:
    catalog = place.open()
    publish(catalog, "run-1", ORDERS)
    begin(catalog, "run-2", ORDERS, ITEMS, version="2")
    with pytest.raises(LakeError, match=r"does not offer to register a table; main has these already: shop.silver.ord"):
        without(catalog, "/register").publish("run-2", [ORDERS, ITEMS])
    assert place.open().head() == {ORDERS: at("orders-2")}
    moved = place.open().publish("run-2", [ORDERS, ITEMS])
    assert [change.table for change in moved] == [ITEMS, ORDERS]
    assert place.open().head() == {ORDERS: at("orders-2"), ITEMS: at("items-2")}


@needs_server
def test_views_are_made_changed_and_dropped_also_where_they_cannot_be_registered(place: Place) -> None:
    catalog = without(place.open(), "register-view")
    catalog.create_branch("run-1")
    for version in ("v1", "v2"):
        catalog.restore("run-1", TOP, at(version, PointerKind.VIEW))
        catalog.publish("run-1", [TOP])
        assert catalog.head() == {TOP: at(version, PointerKind.VIEW)}
        assert catalog.changed_tables("run-1") == ()
    catalog.restore("run-1", TOP, None)
    catalog.publish("run-1", [TOP])
    assert catalog.head() == {}


@needs_server
def test_a_server_without_views_says_so(place: Place) -> None:
    catalog = without(place.open(), "/views", "register-view")
    catalog.create_branch("run-1")
    catalog.restore("run-1", TOP, at("v1", PointerKind.VIEW))
    with pytest.raises(LakeError, match="the REST catalog does not offer views"):
        catalog.publish("run-1", [TOP])
    assert catalog.head() == {}


@needs_server
def test_what_others_changed_on_the_server_is_a_conflict(place: Place, iceberg_rest: IcebergRest) -> None:
    catalog = place.open()
    publish(catalog, "run-1", ORDERS)
    begin(catalog, "run-2", ORDERS, version="2")
    update = {"action": "set-properties", "updates": {"by": "others"}}
    path = "/v1/namespaces/shop%2Esilver/tables/orders"
    iceberg_rest.ask("POST", path, {"requirements": [], "updates": [update]})
    with pytest.raises(PublishConflictError, match=r"shop\.silver\.orders"):
        catalog.publish("run-2", [ORDERS])


@needs_server
def test_tables_of_other_depths_are_left_alone(place: Place, iceberg_rest: IcebergRest) -> None:
    field_ = {"id": 1, "name": "id", "required": False, "type": "long"}
    schema = {"type": "struct", "schema-id": 0, "fields": [field_]}
    iceberg_rest.ask("POST", "/v1/namespaces", {"namespace": ["flat"], "properties": {}})
    iceberg_rest.ask("POST", "/v1/namespaces/flat/tables", {"name": "t", "schema": schema})
    catalog = place.open()
    publish(catalog, "run-1", ORDERS)
    assert catalog.head() == {ORDERS: at("orders-1")}


@needs_server
def test_a_client_gets_its_token_from_the_server(place: Place) -> None:
    server = RestServer(place.address, credential=Secret("me:secret"))
    catalog = RestCatalog(server, EmbeddedCatalog(place.folder / "other.db", place.folder / "warehouse"))
    assert catalog.head() == {}
    assert catalog._api._tokens.token() == "client-credentials-token:sub=me"


@needs_server
def test_branches_may_be_in_postgresql_for_several_machines(place: Place, postgres_url: str) -> None:
    def machine() -> BranchCatalog:
        beside = JdbcCatalog(parse_database_url(postgres_url), place.folder / "warehouse")
        return cast(BranchCatalog, Invented(RestCatalog(RestServer(place.address), beside), place.folder))

    one, other = machine(), machine()
    begin(one, "run-1", ORDERS)
    assert [branch.name for branch in other.list_branches()] == ["run-1"]
    other.publish("run-1", [ORDERS])
    assert (one.head(), one.changed_tables("run-1")) == ({ORDERS: at("orders-1")}, ())
    assert "postgresql" in one.spark_conf("run-1")["spark.sql.catalog.run_1.uri"]


def test_files_of_main_are_never_swept(tmp_path: Path) -> None:
    warehouse = tmp_path / "w"
    warehouse.mkdir()
    catalog = RestCatalog(RestServer("http://127.0.0.1:1"), EmbeddedCatalog(tmp_path / "b.db", warehouse))
    assert "belong to the REST server" in str(sweep(catalog, warehouse).left)
    with pytest.raises(LakeError, match="belong to the REST server"):
        catalog.check_warehouse()


def test_main_is_changed_by_a_publish_alone(tmp_path: Path) -> None:
    catalog = RestCatalog(RestServer("http://127.0.0.1:1"), EmbeddedCatalog(tmp_path / "b.db", tmp_path / "w"))
    for call in (lambda: catalog.restore(MAIN, ORDERS, None), lambda: catalog.create_namespace(MAIN, ORDERS)):
        with pytest.raises(LakeError, match="'main' cannot be the name of a branch"):
            call()


def test_spark_reads_main_with_the_same_settings(tmp_path: Path) -> None:
    server = RestServer("https://x", "shop", credential=Secret("a:b"), headers={"X-Tenant": Secret("t")})
    conf = RestCatalog(server, EmbeddedCatalog(tmp_path / "b.db", tmp_path / "w")).spark_conf(MAIN)
    wanted = {"uri": "https://x", "warehouse": "shop", "credential": "a:b", "header.X-Tenant": "t", "scope": "catalog"}
    assert {key: conf[f"spark.sql.catalog.main.{key}"] for key in wanted} == wanted
    plain = RestCatalog(RestServer("https://x"), EmbeddedCatalog(tmp_path / "b.db", tmp_path / "w")).spark_conf(MAIN)
    assert "spark.sql.catalog.main.warehouse" not in plain


def test_a_server_that_is_not_there_is_told_with_its_address(tmp_path: Path) -> None:
    catalog = RestCatalog(
        RestServer(f"http://127.0.0.1:{free_port()}"), EmbeddedCatalog(tmp_path / "b.db", tmp_path / "w")
    )
    with pytest.raises(LakeUnavailableError, match="cannot be reached: Connection refused") as caught:
        catalog.create_branch("run-1")
    assert caught.value.kind is FailureKind.CONNECTION_FAILED
    assert "'uri' in [lake]" in str(caught.value.remedy)
    assert catalog.list_branches() == ()


@dataclass
class Answers:
    """A server that says what it is told to, and keeps what it was asked. `grants`: the tokens it gives, in order."""

    uri: str = ""
    status: int = 200
    body: Any = field(default_factory=dict)
    grants: list[str] = field(default_factory=list)
    takes: str | None = None
    asked: list[tuple[str, dict[str, str], str]] = field(default_factory=list)


@contextmanager
def answering(answers: Answers) -> Iterator[Answers]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            given = self.headers.get("Authorization")
            answers.asked.append((self.path, dict(self.headers.items()), ""))
            if answers.takes is not None and given != f"Bearer {answers.takes}":
                self.answer(401, {"error": {"message": "token expired"}})
            else:
                self.answer(answers.status, answers.body)

        def do_POST(self) -> None:
            text = self.rfile.read(int(self.headers["Content-Length"])).decode()
            answers.asked.append((self.path, dict(self.headers.items()), text))
            if answers.grants:
                self.answer(200, {"access_token": answers.grants.pop(0), "expires_in": 3600})
            else:
                self.answer(401, {"error": "invalid_client", "error_description": "who are you?"})

        def answer(self, status: int, body: Any) -> None:
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    answers.uri = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield answers
    finally:
        server.shutdown()
        server.server_close()


EMPTY = {"defaults": {}, "overrides": {"prefix": "ws/1"}, "namespaces": []}


def test_the_catalog_of_the_server_its_prefix_and_headers_are_used() -> None:
    with answering(Answers(body=EMPTY)) as server:
        api = RestApi(RestServer(server.uri, "shop", token=Secret("t"), headers={"X-Tenant": Secret("acme")}))
        assert api.pointers() == {}
        (config, headers, _), (listing, *_) = server.asked
    assert (config, listing) == ("/v1/config?warehouse=shop", "/v1/ws/1/namespaces")
    assert (headers["Authorization"], headers["X-Tenant"]) == ("Bearer t", "acme")


def test_a_token_that_is_refused_is_fetched_anew_once() -> None:
    with answering(Answers(body=EMPTY, grants=["old", "new", "more"], takes="new")) as server:
        api = RestApi(RestServer(server.uri, credential=Secret("me:s:1"), scope="all"))
        assert api.pointers() == {}
        (_, headers, form), *_ = [each for each in server.asked if each[0] == "/v1/oauth/tokens"]
        assert server.grants == ["more"]
        server.takes = "another"
        with pytest.raises(LakeUnavailableError, match="the REST catalog refused: token expired") as caught:
            api.pointers()
    assert caught.value.kind is FailureKind.AUTH_FAILED
    assert headers["Content-Type"] == "application/x-www-form-urlencoded"
    sent = {key: values[0] for key, values in parse_qs(form).items()}
    assert sent == {"grant_type": "client_credentials", "client_id": "me", "client_secret": "s:1", "scope": "all"}


def test_a_client_that_is_not_known_is_told_without_its_secret() -> None:
    with answering(Answers()) as server, pytest.raises(LakeUnavailableError, match="who are you") as caught:
        RestApi(RestServer(server.uri, credential=Secret("me:hunter2"))).pointers()
    assert caught.value.kind is FailureKind.AUTH_FAILED
    assert "hunter2" not in f"{caught.value} {caught.value.remedy}"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, FailureKind.AUTH_FAILED),
        (403, FailureKind.AUTH_FAILED),
        (404, FailureKind.NOT_FOUND),
        (409, FailureKind.CONFLICT),
        (429, FailureKind.QUOTA_EXCEEDED),
        (400, FailureKind.UNKNOWN),
    ],
)
def test_each_status_is_a_failure_of_a_known_kind(status: int, kind: FailureKind) -> None:
    with (
        answering(Answers(status=status, body={"error": {"message": "because"}})) as server,
        pytest.raises(LakeError, match="because") as caught,
    ):
        RestApi(RestServer(server.uri)).pointer(ORDERS)
    assert caught.value.kind is kind


def test_what_is_no_catalog_is_told_so() -> None:
    with answering(Answers(body=["hello"])) as server, pytest.raises(LakeUnavailableError, match="no Iceberg REST"):
        RestApi(RestServer(server.uri)).pointers()
