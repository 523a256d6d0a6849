"""Whether main still has what a publish has read, told from metadata files alone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.lake.conftest import Made, write_table
from tidegate.errors import PublishConflictError, RunCancelledError
from tidegate.lake.branch_catalog import Pointer
from tidegate.lake.catalogs.embedded import EmbeddedCatalog
from tidegate.lake.metadata import read_metadata
from tidegate.lake.progress import PROGRESS_PROPERTY, Progress, TableInput
from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.runs.context import BranchUse
from tidegate.runs.reads import recorded_reads, still_on_main

__all__ = ["write_table"]

ORDERS = TableName("shop", "silver", "orders")
TOTAL = TableName("shop", "gold", "total")
READER = TableName("shop", "gold", "reader")
FIRST: Made = (1, None, "append", {"added-records": "10"})
Write = Callable[..., Pointer]


def read(pointer: Pointer) -> dict[str, TableInput]:
    return {str(ORDERS): read_metadata(pointer).table_input()}


@pytest.fixture
def lake(catalog: EmbeddedCatalog, write_table: Write) -> EmbeddedCatalog:
    """A branch that took the table as it was, before main gets another."""
    move(catalog, write_table(FIRST, name="00001-a"))
    catalog.create_branch("run-1")
    return catalog


def move(catalog: EmbeddedCatalog, pointer: Pointer | None) -> None:
    catalog.create_branch("run-2")
    catalog.restore("run-2", ORDERS, pointer)
    catalog.publish("run-2", [ORDERS])
    catalog.drop_branch("run-2")


def test_a_table_that_did_not_move_is_where_main_has_it(lake: EmbeddedCatalog) -> None:
    pointer = lake.head()[ORDERS]
    assert still_on_main(lake, "run-1", {READER: read(pointer)}) == {ORDERS: pointer}


def test_compaction_is_no_move_but_the_publish_must_find_what_compaction_left(
    lake: EmbeddedCatalog, write_table: Write
) -> None:
    seen = read(lake.head()[ORDERS])
    compacted = write_table(FIRST, (2, 1, "replace", {}), name="00002-a")
    move(lake, compacted)
    assert still_on_main(lake, "run-1", {READER: seen}) == {ORDERS: compacted}


OTHERWISE: dict[str, dict[str, Any]] = {
    "new rows": {"snapshots": (FIRST, (2, 1, "append", {"added-records": "1"}))},
    "another table": {"snapshots": (FIRST,), "table-uuid": "u-2"},
    "another column": {
        "snapshots": (FIRST,),
        "schemas": [{"schema-id": 0, "fields": [{"id": 1, "name": "key", "required": False, "type": "long"}]}],
    },
    "rolled back": {"snapshots": ()},
}


@pytest.mark.parametrize("how", OTHERWISE)
def test_a_table_that_is_another_by_now_is_named(lake: EmbeddedCatalog, write_table: Write, how: str) -> None:
    seen = read(lake.head()[ORDERS])
    changed = dict(OTHERWISE[how])
    move(lake, write_table(*changed.pop("snapshots"), name="00002-a", **changed))
    with pytest.raises(PublishConflictError, match=r"shop\.silver\.orders") as caught:
        still_on_main(lake, "run-1", {READER: seen})
    assert caught.value.tables == (ORDERS,)


def test_a_table_that_was_dropped_is_named(lake: EmbeddedCatalog) -> None:
    seen = read(lake.head()[ORDERS])
    move(lake, None)
    with pytest.raises(PublishConflictError):
        still_on_main(lake, "run-1", {READER: seen})


def test_one_reader_that_saw_an_older_state_is_enough(lake: EmbeddedCatalog, write_table: Write) -> None:
    """As after a conflict: what was built again read main as it is now, the rest did not."""
    before = read(lake.head()[ORDERS])
    move(lake, write_table(FIRST, (2, 1, "append", {"added-records": "1"}), name="00002-a"))
    now = read(lake.head()[ORDERS])
    still_on_main(lake, "run-1", {READER: now})
    with pytest.raises(PublishConflictError):
        still_on_main(lake, "run-1", {READER: now, TOTAL: before})


def test_what_the_branch_changed_itself_is_its_own_affair(lake: EmbeddedCatalog, write_table: Write) -> None:
    seen = read(lake.head()[ORDERS])
    lake.restore("run-1", ORDERS, write_table(FIRST, (3, 1, "append", {"added-records": "1"}), name="00003-a"))
    move(lake, write_table(FIRST, (2, 1, "append", {"added-records": "1"}), name="00002-a"))
    assert still_on_main(lake, "run-1", {READER: seen}) == {}


def test_a_table_remembers_what_its_query_and_its_checks_read(
    lake: EmbeddedCatalog, write_table: Write, tmp_path: Path
) -> None:
    queried, checked = TableInput("u-8", 8, 1, 1, "c"), TableInput("u-9", 9, 1, 1, "c")
    progress = Progress("run-1", "f", "full", "full_refresh", tables={"a.b.c": queried}, checked={"a.b.d": checked})
    assert Progress.from_json(progress.to_json()) == progress
    properties = {PROGRESS_PROPERTY: progress.to_json()}
    lake.restore("run-1", READER, write_table(FIRST, at=tmp_path / "reader", properties=properties))
    found = recorded_reads(BranchView(lake, "run-1"), [READER, ORDERS])
    assert found == {READER: {"a.b.c": queried, "a.b.d": checked}}


def test_a_branch_is_had_alone_only_when_no_model_is_being_built() -> None:
    use, begun, end = BranchUse(), threading.Event(), threading.Event()
    order: list[str] = []

    def build() -> None:
        with use.building():
            begun.set()
            assert end.wait(30)
            order.append("built")

    def refresh() -> None:
        with use.alone(lambda: None):
            order.append("refreshed")

    with ThreadPoolExecutor(2) as pool:
        building = pool.submit(build)
        assert begun.wait(30)
        refreshing = pool.submit(refresh)
        end.set()
        building.result(30)
        refreshing.result(30)
    assert order == ["built", "refreshed"]


def test_who_is_cancelled_does_not_wait_for_the_branch() -> None:
    use = BranchUse()

    def cancelled() -> None:
        raise RunCancelledError("cancelled")

    with use.building(), pytest.raises(RunCancelledError), use.alone(cancelled):
        raise AssertionError("a model is being built")
