"""A run that gets no branch, where `[lake] on_branch_failure` lets it work on main."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.lake.places import Place
from tests.services.refusing import refusing
from tidegate.errors import BranchExistsError, LakeError, LakeUnavailableError
from tidegate.lake.branch_catalog import MAIN, Pointer, PointerKind
from tidegate.lake.branch_or_main import BranchOrMain
from tidegate.lake.catalogs.embedded import EmbeddedCatalog
from tidegate.names import TableName

ORDERS = TableName("shop", "silver", "orders")
ITEMS = TableName("shop", "silver", "items")


def at(version: str) -> Pointer:
    return Pointer(PointerKind.TABLE, f"file:/w/{version}.metadata.json")


def refuse_branches(catalog: EmbeddedCatalog) -> None:
    catalog.head()
    with closing(sqlite3.connect(catalog.path)) as db, db:
        db.execute(
            "CREATE TRIGGER no_branches BEFORE INSERT ON tidegate_branches"
            " BEGIN SELECT RAISE(ABORT, 'branches are not for you'); END"
        )


@pytest.fixture
def main(catalog: EmbeddedCatalog) -> EmbeddedCatalog:
    """A lake with one table, and no new branches."""
    catalog.create_branch("run-0")
    catalog.restore("run-0", ORDERS, at("o1"))
    catalog.publish("run-0", [ORDERS])
    catalog.drop_branch("run-0")
    refuse_branches(catalog)
    return catalog


def test_a_branch_that_can_be_made_is_made(catalog: EmbeddedCatalog) -> None:
    lake = BranchOrMain(catalog, "run-1")
    lake.create_branch("run-1")
    lake.restore("run-1", ORDERS, at("o1"))
    assert lake.failure is None
    assert (catalog.head(), lake.head("run-1")) == ({}, {ORDERS: at("o1")})
    lake.publish("run-1", [ORDERS])
    assert catalog.head() == {ORDERS: at("o1")}
    lake.drop_branch("run-1")
    assert catalog.list_branches() == ()


def test_without_one_all_is_done_on_main_and_a_publish_tells_what(main: EmbeddedCatalog) -> None:
    lake = BranchOrMain(main, "run-1")
    lake.create_branch("run-1")
    assert "branches are not for you" in str(lake.failure)
    assert not lake.capabilities.branches
    assert not lake.capabilities.atomic_publish
    assert lake.capabilities.gaps.keys() >= {"branches", "atomic_publish"}
    lake.create_namespace("run-1", ITEMS)
    lake.restore("run-1", ORDERS, at("o2"))
    lake.restore("run-1", ITEMS, at("i1"))
    assert main.head() == lake.head("run-1") == {ORDERS: at("o2"), ITEMS: at("i1")}
    (orders,) = lake.publish("run-1", [ORDERS])
    assert (orders.before, orders.after) == (at("o1"), at("o2"))
    assert [change.table for change in lake.changed_tables("run-1")] == [ITEMS]
    assert [change.table for change in lake.publish("run-1", [ORDERS, ITEMS])] == [ITEMS]
    lake.refresh_branch("run-1", [ORDERS])
    lake.restore("run-1", ITEMS, None)
    assert main.head() == {ORDERS: at("o2")}
    assert [(change.table, change.after) for change in lake.publish("run-1", [ITEMS])] == [(ITEMS, None)]
    assert lake.changed_tables("run-1") == ()


def test_main_is_never_dropped_nor_kept_and_needs_no_heartbeat(main: EmbeddedCatalog) -> None:
    lake = BranchOrMain(main, "run-1")
    lake.create_branch("run-1")
    lake.heartbeat("run-1")
    lake.drop_branch("run-1")
    assert main.head() == {ORDERS: at("o1")}
    with pytest.raises(LakeError, match="no branch run-1 to keep"):
        lake.keep_branch("run-1")
    with pytest.raises(LakeError, match="cannot be the name"):
        lake.drop_branch(MAIN)


def test_only_the_runs_own_branch_may_be_main(main: EmbeddedCatalog) -> None:
    lake = BranchOrMain(main, "run-1")
    lake.create_branch("run-1")
    with pytest.raises(LakeUnavailableError):
        lake.create_branch("maintain-1")


def test_a_name_that_is_taken_is_no_reason_to_write_main(catalog: EmbeddedCatalog) -> None:
    catalog.create_branch("run-1")
    lake = BranchOrMain(catalog, "run-1")
    with pytest.raises(BranchExistsError):
        lake.create_branch("run-1")
    assert lake.failure is None


def test_a_warehouse_of_another_lake_is_not_written_through_the_back_door(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "tidegate-warehouse.json").write_text('{"lake": "x", "warehouse": "/elsewhere"}')
    lake = BranchOrMain(EmbeddedCatalog(tmp_path / "c.db", tmp_path / "w"), "run-1")
    with pytest.raises(LakeError, match="moved or copied here from /elsewhere"):
        lake.create_branch("run-1")
    assert lake.failure is None


@pytest.mark.spark
def test_so_it_is_on_nessie(nessie_lake: str, tmp_path: Path) -> None:
    uri, ref = nessie_lake.split(" ")
    port = int(uri.rpartition(":")[2].partition("/")[0])
    with refusing(b"POST /api/v2/trees?", port) as refusal:
        catalog = Place("nessie", tmp_path, f"http://127.0.0.1:{refusal.port}/api/v2 {ref}").open()
        lake = BranchOrMain(catalog, "run-1")
        lake.create_branch("run-1")
        assert refusal.met == 1
        lake.create_namespace("run-1", ORDERS)
        lake.restore("run-1", ORDERS, at("o1"))
        lake.restore("run-1", ORDERS, at("o2"))
        assert catalog.head() == {ORDERS: at("o2")}
        assert [change.table for change in lake.publish("run-1", [ORDERS])] == [ORDERS]
        lake.restore("run-1", ORDERS, None)
        assert catalog.head() == {}
