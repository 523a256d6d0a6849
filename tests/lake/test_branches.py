from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from tidegate.errors import BranchExistsError, BranchMissingError, LakeError, PublishConflictError
from tidegate.lake.port import MAIN, BranchCatalog, Pointer, PointerKind
from tidegate.names import TableName

ORDERS = TableName("shop", "silver", "orders")
ITEMS = TableName("shop", "silver", "items")
REVENUE = TableName("shop", "gold", "revenue")
TOP = TableName("shop", "gold", "top")


def at(version: str, kind: PointerKind = PointerKind.TABLE) -> Pointer:
    return Pointer(kind, f"file:/w/{version}.metadata.json")


def publish(lake: BranchCatalog, branch: str, pointers: Mapping[TableName, Pointer | None]) -> None:
    """What a run does: a branch, some commits on it, a publish."""
    lake.create_branch(branch)
    for table, pointer in pointers.items():
        lake.restore(branch, table, pointer)
    lake.publish(branch, list(pointers))
    lake.drop_branch(branch)


def test_a_new_lake_is_empty(lake: BranchCatalog) -> None:
    assert lake.head() == {}
    assert lake.list_branches() == ()
    assert lake.pointer(MAIN, ORDERS) is None


def test_what_happens_on_a_branch_is_seen_on_no_other(lake: BranchCatalog) -> None:
    publish(lake, "run-0", {ORDERS: at("o1")})
    lake.create_branch("run-1")
    lake.create_branch("run-2")
    lake.restore("run-1", ORDERS, at("o2"))
    lake.restore("run-1", ITEMS, at("i1"))
    assert lake.head("run-1") == {ORDERS: at("o2"), ITEMS: at("i1")}
    assert lake.head("run-2") == lake.head() == {ORDERS: at("o1")}
    assert lake.pointer("run-1", ORDERS) == at("o2")
    assert lake.pointer("run-2", ITEMS) is None


def test_old_new_and_dropped_tables_and_views_are_published_in_one_step(lake: BranchCatalog) -> None:
    view = at("v1", PointerKind.VIEW)
    publish(lake, "run-0", {ORDERS: at("o1"), ITEMS: at("i1")})
    lake.create_branch("run-1")
    for table, pointer in {ORDERS: at("o2"), ITEMS: None, REVENUE: at("r1"), TOP: view}.items():
        lake.restore("run-1", table, pointer)
    changes = lake.changed_tables("run-1")
    assert {(c.table, c.before, c.after) for c in changes} == {
        (ORDERS, at("o1"), at("o2")),
        (ITEMS, at("i1"), None),
        (REVENUE, None, at("r1")),
        (TOP, None, view),
    }
    assert lake.publish("run-1", [c.table for c in changes]) == changes
    assert lake.head() == {ORDERS: at("o2"), REVENUE: at("r1"), TOP: view}
    assert lake.changed_tables("run-1") == ()


def test_a_view_may_take_the_place_of_a_table(lake: BranchCatalog) -> None:
    view = at("o1", PointerKind.VIEW)
    publish(lake, "run-0", {ORDERS: at("o1")})
    publish(lake, "run-1", {ORDERS: view})
    assert lake.head() == {ORDERS: view}


def test_a_conflict_names_every_table_and_moves_none(lake: BranchCatalog) -> None:
    publish(lake, "run-0", {ORDERS: at("o1"), ITEMS: at("i1")})
    lake.create_branch("run-1")
    mine = {ORDERS: at("o2"), ITEMS: None, REVENUE: at("r1"), TOP: at("t1")}
    for table, pointer in mine.items():
        lake.restore("run-1", table, pointer)
    publish(lake, "run-2", {ORDERS: at("o9"), ITEMS: at("i9"), REVENUE: at("r9")})
    before = lake.head()
    with pytest.raises(PublishConflictError) as caught:
        lake.publish("run-1", list(mine))
    assert set(caught.value.tables) == {ORDERS, ITEMS, REVENUE}
    assert lake.head() == before
    assert lake.publish("run-1", [TOP])[0].table == TOP


def test_a_pointer_of_main_that_is_as_good_as_the_base_is_no_conflict(lake: BranchCatalog) -> None:
    publish(lake, "run-0", {ORDERS: at("o1")})
    lake.create_branch("run-1")
    lake.restore("run-1", ORDERS, at("o2"))
    publish(lake, "maintain-1", {ORDERS: at("compacted")})
    with pytest.raises(PublishConflictError):
        lake.publish("run-1", [ORDERS], accept={ORDERS: at("another")})
    lake.publish("run-1", [ORDERS], accept={ORDERS: at("compacted")})
    assert lake.head() == {ORDERS: at("o2")}


def test_a_table_that_the_branch_did_not_change_is_never_moved_back(lake: BranchCatalog) -> None:
    publish(lake, "run-0", {ORDERS: at("o1")})
    lake.create_branch("run-1")
    publish(lake, "run-2", {ORDERS: at("o2")})
    assert lake.publish("run-1", [ORDERS, ITEMS]) == ()
    assert lake.head() == {ORDERS: at("o2")}


def test_a_part_may_be_published_first_and_the_rest_later(lake: BranchCatalog) -> None:
    lake.create_branch("run-1")
    lake.restore("run-1", ORDERS, at("o1"))
    lake.restore("run-1", REVENUE, at("r1"))
    lake.publish("run-1", [ORDERS])
    assert lake.head() == {ORDERS: at("o1")}
    assert [c.table for c in lake.changed_tables("run-1")] == [REVENUE]
    lake.restore("run-1", ORDERS, at("o2"))
    lake.publish("run-1", [ORDERS, REVENUE])
    assert lake.head() == {ORDERS: at("o2"), REVENUE: at("r1")}


def test_refresh_takes_from_main_what_is_named_and_what_was_not_changed(lake: BranchCatalog) -> None:
    publish(lake, "run-0", {ORDERS: at("o1"), ITEMS: at("i1")})
    lake.create_branch("run-1")
    lake.restore("run-1", ORDERS, at("o2"))
    lake.restore("run-1", ITEMS, at("i2"))
    lake.restore("run-1", TOP, at("t1"))
    publish(lake, "run-2", {ITEMS: at("i9"), REVENUE: at("r1")})
    lake.refresh_branch("run-1", [ITEMS])
    assert lake.head("run-1") == {ORDERS: at("o2"), ITEMS: at("i9"), REVENUE: at("r1"), TOP: at("t1")}
    assert {c.table for c in lake.changed_tables("run-1")} == {ORDERS, TOP}
    lake.restore("run-1", ITEMS, at("i10"))
    lake.publish("run-1", [ORDERS, ITEMS])
    assert lake.head() == {ORDERS: at("o2"), ITEMS: at("i10"), REVENUE: at("r1")}


def test_a_changed_table_that_main_moved_still_conflicts_after_a_refresh(lake: BranchCatalog) -> None:
    publish(lake, "run-0", {ORDERS: at("o1")})
    lake.create_branch("run-1")
    lake.restore("run-1", ORDERS, at("o2"))
    publish(lake, "run-2", {ORDERS: at("o9")})
    lake.refresh_branch("run-1", [])
    with pytest.raises(PublishConflictError):
        lake.publish("run-1", [ORDERS])


def test_restore_takes_a_change_back(lake: BranchCatalog) -> None:
    publish(lake, "run-0", {ORDERS: at("o1")})
    lake.create_branch("run-1")
    lake.restore("run-1", ORDERS, at("o2"))
    lake.restore("run-1", ITEMS, at("i1"))
    lake.restore("run-1", ORDERS, at("o1"))
    lake.restore("run-1", ITEMS, None)
    assert lake.changed_tables("run-1") == ()


def test_dropping_a_branch_twice_is_no_error(lake: BranchCatalog) -> None:
    lake.create_branch("run-1")
    lake.drop_branch("run-1")
    lake.drop_branch("run-1")
    assert lake.list_branches() == ()


def test_a_branch_that_is_gone_is_missed_by_everyone(lake: BranchCatalog) -> None:
    calls = (
        lambda: lake.head("run-1"),
        lambda: lake.pointer("run-1", ORDERS),
        lambda: lake.changed_tables("run-1"),
        lambda: lake.publish("run-1", [ORDERS]),
        lambda: lake.refresh_branch("run-1", ()),
        lambda: lake.restore("run-1", ORDERS, None),
        lambda: lake.keep_branch("run-1"),
        lambda: lake.heartbeat("run-1"),
    )
    for call in calls:
        with pytest.raises(BranchMissingError, match="run-1"):
            call()


@pytest.mark.parametrize("name", ["run-1", "run_1"])
def test_a_branch_is_not_made_twice(lake: BranchCatalog, name: str) -> None:
    lake.create_branch("run-1")
    with pytest.raises(BranchExistsError):
        lake.create_branch(name)


@pytest.mark.parametrize("name", ["main", "MAIN", "", "a b", "run.1", "1run", "a`b", "a'; DROP TABLE x; --"])
def test_a_name_that_no_catalog_can_bear_is_refused(lake: BranchCatalog, name: str) -> None:
    with pytest.raises(LakeError, match="cannot be the name"):
        lake.create_branch(name)


def test_branches_say_when_they_last_lived_and_whether_they_wait(lake: BranchCatalog) -> None:
    before = datetime.now(UTC)
    lake.create_branch("run-1")
    lake.create_branch("run-2")
    lake.heartbeat("run-1")
    lake.keep_branch("run-2")
    one, two = lake.list_branches()
    assert (one.name, one.kept, two.name, two.kept) == ("run-1", False, "run-2", True)
    assert before <= one.created_at <= one.heartbeat_at <= datetime.now(UTC)


def test_pointers_of_main_branches_and_their_bases_are_all_kept_from_the_sweep(lake: BranchCatalog) -> None:
    publish(lake, "run-0", {ORDERS: at("o1")})
    lake.create_branch("run-1")
    lake.restore("run-1", ORDERS, at("o2"))
    publish(lake, "run-2", {ORDERS: at("o3")})
    assert lake.all_pointers() == {at("o1"), at("o2"), at("o3")}


def test_models_of_one_wave_may_make_the_same_namespace_at_once(lake: BranchCatalog) -> None:
    lake.create_branch("run-1")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: lake.create_namespace("run-1", TableName("shop", "silver", f"t{n}")), range(24)))
    lake.restore("run-1", ORDERS, at("o1"))
    lake.publish("run-1", [ORDERS])
    assert lake.head() == {ORDERS: at("o1")}
