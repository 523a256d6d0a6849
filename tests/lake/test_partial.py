"""Which snapshots are in the middle of a write, and which state stood before them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tidegate.lake.branch_catalog import Pointer
from tidegate.lake.metadata import TableMetadata, read_metadata
from tidegate.lake.unfinished_writes import PARTIAL, RUN_ID, intermediate_snapshots, snapshot_at, state_before

Write = Callable[..., Pointer]


def made(run_id: str, partial: bool = False) -> dict[str, str]:
    return {"added-records": "10", RUN_ID: run_id} | ({PARTIAL: "true"} if partial else {})


def table(pointer: Pointer) -> TableMetadata:
    found = read_metadata(pointer)
    assert isinstance(found, TableMetadata)
    return found


def log(*ids: int) -> list[dict[str, int]]:
    return [{"timestamp-ms": 1000 * at, "snapshot-id": id} for at, id in enumerate(ids, 1)]


@pytest.mark.parametrize(
    ("snapshots", "middle"),
    [
        ([(1, None, "append", made("a")), (2, 1, "append", made("b"))], set()),
        ([(1, None, "append", made("a")), (2, 1, "overwrite", made("b", True)), (3, 2, "append", made("b"))], {2}),
        # The write needed no second commit.
        ([(1, None, "append", made("a", True)), (2, 1, "append", made("b"))], set()),
        ([(1, None, "append", made("a", True))], set()),
        # A whole table that was replaced names no parent.
        ([(1, None, "append", made("a")), (2, None, "append", made("b", True)), (3, 2, "append", made("b"))], {2}),
        # Another program's commits belong to no run.
        ([(1, None, "append", {PARTIAL: "true"}), (2, 1, "append", {})], set()),
    ],
)
def test_a_marked_snapshot_counts_while_its_run_went_on(
    write_table: Write, snapshots: list[tuple[object, ...]], middle: set[int]
) -> None:
    assert intermediate_snapshots(table(write_table(*snapshots))) == middle


def test_the_state_before_is_the_last_that_a_run_meant(write_table: Write) -> None:
    steps = [
        (1, None, "append", made("a")),
        (2, 1, "delete", made("b", True)),
        (3, 2, "delete", made("b", True)),
        (4, 3, "append", made("b")),
    ]
    found = table(write_table(*steps, **{"snapshot-log": log(1, 2, 3, 4)}))
    assert [snapshot_at(found, ms) for ms in (999, 1000, 3999, 9000)] == [None, 1, 3, 4]
    assert [state_before(found, id) for id in (2, 3, 4)] == [1, 1, 1]
    expired = table(write_table(*steps[2:], **{"snapshot-log": log(3, 4)}, name="00008-b"))
    assert state_before(expired, 3) is None
