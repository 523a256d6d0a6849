"""What every catalog does, whatever it is kept in: pointers are moved, no file is read."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from datetime import UTC, datetime
from functools import partial
from threading import Barrier, Event

import pytest

from tests.lake.places import Place
from tidegate.errors import BranchExistsError, BranchMissingError, LakeError, PublishConflictError
from tidegate.lake.branch_catalog import MAIN, BranchCatalog, Capabilities, Heads, Pointer, PointerKind
from tidegate.names import TableName

ORDERS = TableName("shop", "silver", "orders")
ITEMS = TableName("shop", "silver", "items")
REVENUE = TableName("shop", "gold", "revenue")
TOP = TableName("shop", "gold", "top")


def at(version: str, kind: PointerKind = PointerKind.TABLE) -> Pointer:
    return Pointer(kind, f"file:/w/{version}.metadata.json")


def skip_unless(lake: BranchCatalog, promise: str) -> None:
    if not getattr(lake.capabilities, promise):
        pytest.skip(lake.capabilities.gaps[promise])


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
    skip_unless(lake, "over_compaction")
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


def test_what_a_catalog_cannot_do_is_declared_with_a_reason(lake: BranchCatalog) -> None:
    promises = [f.name for f in fields(Capabilities) if f.type == "bool"]
    assert "atomic_publish" in promises
    missing = {name for name in promises if not getattr(lake.capabilities, name)}
    assert missing == lake.capabilities.gaps.keys()
    assert all(lake.capabilities.gaps.values())


def test_of_publishes_of_one_table_at_once_exactly_one_wins(lake: BranchCatalog) -> None:
    publish(lake, "run-0", {ORDERS: at("o0"), ITEMS: at("i0")})
    start = Barrier(4)

    def race(number: int) -> bool:
        start.wait()
        try:
            lake.publish(f"run-{number}", [ORDERS, ITEMS])
        except PublishConflictError:
            return False
        return True

    for number in range(1, 5):
        lake.create_branch(f"run-{number}")
        lake.restore(f"run-{number}", ORDERS, at(f"o{number}"))
        lake.restore(f"run-{number}", ITEMS, at(f"i{number}"))
    with ThreadPoolExecutor(4) as pool:
        won = list(pool.map(race, range(1, 5)))
    if not any(won) and not lake.capabilities.atomic_publish:
        return  # two of them have a table each, and know it
    assert won.count(True) == 1
    winner = won.index(True) + 1
    assert lake.head() == {ORDERS: at(f"o{winner}"), ITEMS: at(f"i{winner}")}


def test_publishes_of_different_tables_at_once_are_in_nobodys_way(lake: BranchCatalog) -> None:
    tables = [TableName("shop", layer, f"t{n}") for layer in ("silver", "gold") for n in range(3)]

    def run(table: TableName) -> None:
        publish(lake, f"run-{table.layer}-{table.name}", {table: at(str(table))})

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(run, tables))
    assert lake.head() == {table: at(str(table)) for table in tables}
    assert lake.list_branches() == ()


def test_whoever_reads_during_publishes_sees_all_tables_of_one(place: Place) -> None:
    tables = [TableName("shop", "silver", f"t{n}") for n in range(3)]

    enough = Event()

    def write() -> None:
        catalog = place.open()
        catalog.create_branch("run-1")
        for version in range(500):
            for table in tables:
                catalog.restore("run-1", table, at(f"v{version}"))
            catalog.publish("run-1", tables)
            if enough.is_set():
                return

    reader, seen = place.open(), set()
    skip_unless(reader, "atomic_publish")
    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(write)
        while not work.done() and len(seen) < 3:
            heads = reader.head()
            states = {heads.get(table) for table in tables}
            assert len(states) == 1
            seen |= states
        enough.set()
        work.result()
    assert len(seen) == 3


def test_models_of_one_wave_may_commit_to_the_branch_at_once(lake: BranchCatalog) -> None:
    tables = [TableName("shop", "silver", f"t{n}") for n in range(8)]
    lake.create_branch("run-1")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda table: lake.restore("run-1", table, at(table.name)), tables))
    assert lake.head("run-1") == {table: at(table.name) for table in tables}


def test_what_another_run_built_on_our_publish_is_not_overwritten(lake: BranchCatalog) -> None:
    lake.create_branch("run-1")
    lake.restore("run-1", ORDERS, at("o1"))
    lake.publish("run-1", [ORDERS])
    publish(lake, "run-2", {ORDERS: at("o2")})
    lake.restore("run-1", ORDERS, at("o3"))
    with pytest.raises(PublishConflictError):
        lake.publish("run-1", [ORDERS])
    lake.refresh_branch("run-1", [ORDERS])
    assert lake.pointer("run-1", ORDERS) == at("o2")


def test_publishing_twice_is_the_same_as_once(lake: BranchCatalog) -> None:
    lake.create_branch("run-1")
    lake.restore("run-1", ORDERS, at("o1"))
    (change,) = lake.publish("run-1", [ORDERS])
    assert (change.before, change.after) == (None, at("o1"))
    assert lake.publish("run-1", [ORDERS]) == ()
    assert lake.head() == {ORDERS: at("o1")}


def test_both_dropping_a_table_is_no_conflict_but_changing_a_dropped_one_is(lake: BranchCatalog) -> None:
    publish(lake, "run-0", {ORDERS: at("o1"), ITEMS: at("i1")})
    lake.create_branch("run-1")
    lake.restore("run-1", ORDERS, None)
    lake.restore("run-1", ITEMS, at("i2"))
    publish(lake, "run-2", {ORDERS: None, ITEMS: None})
    with pytest.raises(PublishConflictError) as caught:
        lake.publish("run-1", [ORDERS, ITEMS])
    assert caught.value.tables == (ITEMS,)
    lake.publish("run-1", [ORDERS])
    assert lake.head() == {}


def test_a_table_dropped_and_made_anew_is_published_like_any_other(lake: BranchCatalog) -> None:
    publish(lake, "run-0", {ORDERS: at("o1")})
    lake.create_branch("run-1")
    lake.restore("run-1", ORDERS, None)
    lake.restore("run-1", ORDERS, at("other"))
    lake.publish("run-1", [ORDERS])
    assert lake.head() == {ORDERS: at("other")}


def test_refresh_follows_what_main_dropped_and_keeps_what_the_branch_dropped(lake: BranchCatalog) -> None:
    publish(lake, "run-0", {ORDERS: at("o1"), ITEMS: at("i1"), TOP: at("t1")})
    lake.create_branch("run-1")
    lake.restore("run-1", ITEMS, None)
    publish(lake, "run-2", {ORDERS: None, TOP: at("t2")})
    lake.refresh_branch("run-1", [])
    assert lake.head("run-1") == {TOP: at("t2")}
    assert [(c.table, c.before) for c in lake.changed_tables("run-1")] == [(ITEMS, at("i1"))]


def test_a_branch_made_again_under_its_name_begins_where_main_is_now(lake: BranchCatalog) -> None:
    lake.create_branch("run-1")
    lake.restore("run-1", ORDERS, at("lost"))
    lake.drop_branch("run-1")
    publish(lake, "run-2", {ITEMS: at("i1")})
    lake.create_branch("run-1")
    assert lake.head("run-1") == {ITEMS: at("i1")}
    assert lake.changed_tables("run-1") == ()


def test_a_branch_that_is_kept_stays_so_while_it_lives_and_publishes(lake: BranchCatalog) -> None:
    lake.create_branch("run-1")
    lake.restore("run-1", ORDERS, at("o1"))
    lake.keep_branch("run-1")
    lake.heartbeat("run-1")
    lake.publish("run-1", [ORDERS])
    lake.drop_strays()
    (branch,) = lake.list_branches()
    assert branch.kept
    assert branch.created_at < branch.heartbeat_at


def test_many_tables_move_in_one_step(lake: BranchCatalog) -> None:
    wanted = {TableName("shop", "bronze", f"t{n}"): at(f"t{n}") for n in range(60)}
    publish(lake, "run-1", {**wanted})
    assert lake.head() == wanted
    lake.create_branch("run-2")
    lake.refresh_branch("run-2", list(wanted))
    assert lake.changed_tables("run-2") == ()


def test_whoever_opens_the_lake_later_finds_it_as_it_was_left(place: Place) -> None:
    first = place.open()
    publish(first, "run-0", {ORDERS: at("o1")})
    first.create_branch("run-1")
    first.restore("run-1", ORDERS, at("o2"))
    second = place.open()
    assert second.head() == {ORDERS: at("o1")}
    assert [change.after for change in second.changed_tables("run-1")] == [at("o2")]
    second.publish("run-1", [ORDERS])
    assert first.head() == {ORDERS: at("o2")}
    assert first.changed_tables("run-1") == ()


def test_a_table_that_must_be_unmoved_conflicts_once_main_has_another(lake: BranchCatalog) -> None:
    publish(lake, "run-0", {ORDERS: at("o1"), ITEMS: at("i1")})
    lake.create_branch("run-1")
    lake.restore("run-1", REVENUE, at("r1"))
    publish(lake, "run-2", {ITEMS: at("i2")})
    before = lake.head()
    with pytest.raises(PublishConflictError, match=r"shop\.silver\.items") as caught:
        lake.publish("run-1", [REVENUE], unmoved={ORDERS: at("o1"), ITEMS: at("i1")})
    assert (caught.value.tables, lake.head()) == ((ITEMS,), before)
    lake.publish("run-1", [REVENUE], unmoved={ORDERS: at("o1"), ITEMS: at("i2")})
    assert lake.head() == {**before, REVENUE: at("r1")}


def test_a_table_that_must_be_unmoved_conflicts_once_main_dropped_it(lake: BranchCatalog) -> None:
    publish(lake, "run-0", {ORDERS: at("o1")})
    lake.create_branch("run-1")
    lake.restore("run-1", REVENUE, at("r1"))
    publish(lake, "run-2", {ORDERS: None})
    with pytest.raises(PublishConflictError) as caught:
        lake.publish("run-1", [REVENUE], unmoved={ORDERS: at("o1")})
    assert (caught.value.tables, lake.head()) == ((ORDERS,), {})


def test_a_view_may_take_the_place_of_a_table_if_what_it_reads_is_unmoved(lake: BranchCatalog) -> None:
    view = at("t1", PointerKind.VIEW)
    publish(lake, "run-0", {TOP: at("t1"), ORDERS: at("o1")})
    lake.create_branch("run-1")
    lake.restore("run-1", TOP, view)
    with pytest.raises(PublishConflictError):
        lake.publish("run-1", [TOP], unmoved={ORDERS: at("o2")})
    lake.publish("run-1", [TOP], unmoved={ORDERS: at("o1")})
    assert lake.head() == {TOP: view, ORDERS: at("o1")}


def test_where_nothing_is_left_to_publish_nothing_must_be_unmoved(lake: BranchCatalog) -> None:
    """As after a publish whose answer was lost."""
    lake.create_branch("run-1")
    lake.restore("run-1", ORDERS, at("o1"))
    publish(lake, "run-2", {ORDERS: at("o1"), ITEMS: at("i2")})
    lake.publish("run-1", [ORDERS], unmoved={ITEMS: at("i1")})
    assert lake.head() == {ORDERS: at("o1"), ITEMS: at("i2")}


def test_of_two_publishes_at_once_that_read_what_the_other_writes_one_conflicts(lake: BranchCatalog) -> None:
    """However closely they come together, main never has both."""
    skip_unless(lake, "atomic_publish")
    publish(lake, "run-0", {ORDERS: at("o0"), ITEMS: at("i0")})
    for turn in range(8):
        base = lake.head()
        for table in (ORDERS, ITEMS):
            lake.create_branch(f"run-{turn}-{table.name}")
            lake.restore(f"run-{turn}-{table.name}", table, at(f"{table.name}-{turn}"))
        with ThreadPoolExecutor(2) as pool:
            mine, other, start = (ORDERS, ITEMS), (ITEMS, ORDERS), Barrier(2)
            won = list(pool.map(partial(_publish_unless_moved, lake, start, turn, base), mine, other))
        assert won.count(True) == 1


def _publish_unless_moved(
    lake: BranchCatalog, start: Barrier, turn: int, base: Heads, mine: TableName, other: TableName
) -> bool:
    start.wait()
    try:
        lake.publish(f"run-{turn}-{mine.name}", [mine], unmoved={other: base[other]})
    except PublishConflictError:
        return False
    return True
