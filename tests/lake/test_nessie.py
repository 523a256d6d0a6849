"""What is particular to a lake on Nessie; what all catalogs do is in test_branches.py."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.lake.places import Place
from tests.services.cutting import cut_at
from tests.services.nessie import Nessie
from tests.services.ports import free_port
from tidegate.config import NessieServer, Secret
from tidegate.errors import BranchMissingError, FailureKind, LakeError, LakeUnavailableError
from tidegate.lake.branch_catalog import BranchCatalog, Pointer, PointerKind
from tidegate.lake.catalogs import nessie_api
from tidegate.lake.catalogs.embedded import EmbeddedCatalog
from tidegate.lake.catalogs.json_server import MovedError
from tidegate.lake.catalogs.nessie import NessieCatalog
from tidegate.lake.catalogs.nessie_api import NessieApi
from tidegate.lake.catalogs.nessie_contents import key_of, unchanged
from tidegate.lake.sweep import sweep
from tidegate.names import TableName

needs_server = pytest.mark.spark
ORDERS = TableName("shop", "silver", "orders")
ITEMS = TableName("shop", "silver", "items")
REVENUE = TableName("shop", "gold", "revenue")


def at(version: str) -> Pointer:
    return Pointer(PointerKind.TABLE, f"file:/w/{version}.metadata.json")


@pytest.fixture
def address(nessie_lake: str) -> tuple[str, str]:
    """The server's URI and the branch that is main."""
    uri, main = nessie_lake.split(" ")
    return uri, main


@pytest.fixture
def catalog(nessie_lake: str, tmp_path: Path) -> BranchCatalog:
    return Place("nessie", tmp_path, nessie_lake).open()


def begin(catalog: BranchCatalog, branch: str, *tables: TableName) -> None:
    catalog.create_branch(branch)
    for table in tables:
        catalog.restore(branch, table, at(table.name))


@needs_server
def test_a_publish_is_one_commit_on_main(catalog: BranchCatalog, nessie: Nessie, address: tuple[str, str]) -> None:
    begin(catalog, "run-1", ORDERS, ITEMS)
    catalog.heartbeat("run-1")
    catalog.publish("run-1", [ORDERS, ITEMS])
    (commit,) = nessie.ask("GET", f"/trees/{address[1]}/history")["logEntries"]
    assert commit["commitMeta"]["message"] == "tidegate: publish run-1"
    keys = {".".join(e["name"]["elements"]) for e in nessie.ask("GET", f"/trees/{address[1]}/entries")["entries"]}
    assert keys == {"shop", "shop.silver", "shop.silver.orders", "shop.silver.items"}


@needs_server
def test_a_commit_fails_if_a_key_that_it_names_as_unchanged_is_another_since(
    catalog: BranchCatalog, address: tuple[str, str]
) -> None:
    """What a publish that must find its inputs unmoved relies on: other keys may have changed."""
    begin(catalog, "run-1", ORDERS, ITEMS, REVENUE)
    catalog.publish("run-1", [ORDERS, ITEMS, REVENUE])
    api, main = NessieApi(NessieServer(*address)), address[1]
    before = api.contents(main, [key_of(ORDERS)])
    catalog.restore("run-1", ITEMS, at("items-2"))
    catalog.publish("run-1", [ITEMS])
    orders = {**before.contents[key_of(ORDERS)], "metadataLocation": at("orders-2").location}
    put = {"type": "PUT", "key": {"elements": list(key_of(ORDERS))}, "content": orders}
    with pytest.raises(MovedError, match="items"):
        api.commit(main, before.hash, "too late", [put, unchanged(key_of(ITEMS))])
    assert catalog.pointer("main", ORDERS) == at("orders")
    api.commit(main, before.hash, "in time", [put, unchanged(key_of(REVENUE))])
    assert catalog.pointer("main", ORDERS) == at("orders-2")


@needs_server
def test_what_a_table_put_back_is_is_told_to_nessies_clients_from_its_metadata_file(
    catalog: BranchCatalog, nessie: Nessie, write_table: Callable[..., Pointer]
) -> None:
    catalog.create_branch("run-1")
    for snapshots, expected in (((), -1), (((5, None, "append", {}), (7, 5, "append", {})), 7)):
        pointer = write_table(*snapshots, name=f"0000{len(snapshots)}-a")
        catalog.restore("run-1", ORDERS, pointer)
        content = nessie.ask("GET", "/trees/run-1/contents/shop.silver.orders")["content"]
        assert content["metadataLocation"] == pointer.location
        assert [content[key] for key in ("snapshotId", "schemaId", "specId", "sortOrderId")] == [expected, 0, 0, 0]


@needs_server
def test_branches_of_others_are_not_seen_and_not_dropped(catalog: BranchCatalog, nessie: Nessie) -> None:
    nessie.create_branch("dev")
    catalog.create_branch("run-1")
    assert [branch.name for branch in catalog.list_branches()] == ["run-1"]
    catalog.drop_branch("dev")
    assert "dev" in nessie.branches()
    with pytest.raises(BranchMissingError):
        catalog.head("dev")


@needs_server
def test_lakes_with_different_mains_on_one_server_do_not_see_each_others_branches(
    catalog: BranchCatalog, nessie: Nessie, address: tuple[str, str], tmp_path: Path
) -> None:
    nessie.create_branch("other", "")
    other = Place("nessie", tmp_path, f"{address[0]} other").open()
    catalog.create_branch("run-1")
    other.create_branch("run-2")
    assert [branch.name for branch in catalog.list_branches()] == ["run-1"]
    assert [branch.name for branch in other.list_branches()] == ["run-2"]


@needs_server
def test_a_branch_whose_process_died_before_it_could_mark_it_is_found_by_its_name(
    catalog: BranchCatalog, nessie: Nessie
) -> None:
    nessie.create_branch("run-20240102-030405-678")
    (branch,) = catalog.list_branches()
    assert (branch.name, branch.kept) == ("run-20240102-030405-678", False)
    assert branch.created_at == branch.heartbeat_at == datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)
    catalog.drop_branch(branch.name)
    assert branch.name not in nessie.branches()


@needs_server
def test_a_lake_of_more_tables_than_fit_into_one_answer_is_read_whole(
    catalog: BranchCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nessie_api, "_PAGE", 5)
    tables = [TableName("shop", "silver", f"t{n}") for n in range(12)]
    begin(catalog, "run-1", *tables)
    catalog.publish("run-1", tables)
    assert set(catalog.head()) == set(tables)
    assert len(catalog.all_pointers()) == 12


@needs_server
@pytest.mark.parametrize("forwarded", [True, False])
def test_a_commit_that_was_not_answered_is_looked_for_before_it_is_made_again(
    nessie: Nessie, address: tuple[str, str], tmp_path: Path, forwarded: bool
) -> None:
    port = int(address[0].split(":")[2].split("/")[0])
    with cut_at(f"/trees/{address[1]}@".encode(), port, forwarded) as cut:
        uri = address[0].replace(str(port), str(cut))
        catalog = Place("nessie", tmp_path, f"{uri} {address[1]}").open()
        begin(catalog, "run-1", ORDERS)
        (change,) = catalog.publish("run-1", [ORDERS])
        assert (change.before, change.after) == (None, at("orders"))
        assert catalog.head() == {ORDERS: at("orders")}
        assert catalog.changed_tables("run-1") == ()
    assert len(nessie.ask("GET", f"/trees/{address[1]}/history")["logEntries"]) == 1


@needs_server
def test_a_main_that_is_not_there_is_named_with_the_setting(address: tuple[str, str], tmp_path: Path) -> None:
    catalog = NessieCatalog(NessieServer(address[0], "prod"), tmp_path / "warehouse")
    for call in (catalog.head, lambda: catalog.create_branch("run-1")):
        with pytest.raises(LakeUnavailableError, match="no branch 'prod'") as caught:
            call()
        assert caught.value.kind is FailureKind.NOT_FOUND
        assert "[lake]" in str(caught.value.remedy)


@needs_server
def test_unused_files_are_left_to_nessies_own_tool(catalog: BranchCatalog, tmp_path: Path) -> None:
    catalog.create_branch("run-1")
    report = sweep(catalog, tmp_path / "warehouse")
    assert report.files == ()
    assert "nessie-gc" in report.left


@needs_server
def test_a_warehouse_of_another_catalog_is_refused(catalog: BranchCatalog, tmp_path: Path) -> None:
    EmbeddedCatalog(tmp_path / "catalog.db", tmp_path / "warehouse").create_branch("run-1")
    with pytest.raises(LakeError, match="belongs to another catalog"):
        catalog.create_branch("run-1")


@needs_server
def test_spark_is_told_where_the_branch_is_and_every_rule_that_keeps_branches_safe(
    catalog: BranchCatalog, address: tuple[str, str]
) -> None:
    conf = catalog.spark_conf("run-1")
    prefix = "spark.sql.catalog.run_1"
    assert conf[f"{prefix}.catalog-impl"] == "org.apache.iceberg.nessie.NessieCatalog"
    assert (conf[f"{prefix}.uri"], conf[f"{prefix}.ref"]) == (address[0], "run-1")
    assert conf[f"{prefix}.table-override.gc.enabled"] == "false"
    assert catalog.spark_conf("main")["spark.sql.catalog.main.ref"] == address[1]


def test_a_server_that_is_not_there_is_named_with_a_remedy(tmp_path: Path) -> None:
    server = NessieServer(f"http://127.0.0.1:{free_port()}/api/v2")
    with pytest.raises(LakeUnavailableError, match="refused") as caught:
        NessieCatalog(server, tmp_path / "warehouse").head()
    assert caught.value.where == server.uri
    assert "'uri' in [lake]" in str(caught.value.remedy)


@pytest.mark.parametrize(
    ("status", "body", "kind", "says"),
    [
        (401, b"", FailureKind.AUTH_FAILED, "HTTP status 401"),
        (429, b"slow down", FailureKind.QUOTA_EXCEEDED, "HTTP status 429"),
        (503, b'{"message": "busy\\nat java.lang"}', FailureKind.CONNECTION_FAILED, "Nessie answered: busy$"),
        (200, b"<html>hello</html>", FailureKind.CONNECTION_FAILED, "is not Nessie"),
    ],
)
def test_an_answer_that_is_none_says_what_it_means_and_no_token(
    tmp_path: Path, status: int, body: bytes, kind: FailureKind, says: str
) -> None:
    heard: list[str | None] = []
    with _answering(status, body, heard) as port:
        server = NessieServer(f"http://127.0.0.1:{port}/api/v2", token=Secret("hunter2"))
        with pytest.raises(LakeUnavailableError, match=says) as caught:
            NessieCatalog(server, tmp_path / "warehouse").head()
    assert caught.value.kind is kind
    assert set(heard) == {"Bearer hunter2"}
    assert "hunter2" not in f"{caught.value} {caught.value.where} {caught.value.remedy} {server}"


@contextmanager
def _answering(status: int, body: bytes, heard: list[str | None]) -> Iterator[int]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.append(self.headers["Authorization"])
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()
