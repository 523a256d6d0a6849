"""What became of a table since it was read: how much changed, or why nobody can say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.planner.histories import History
from tidegate.lake.changes import TableChange, Untraceable, change_since

Since = Callable[..., TableChange | Untraceable]


@pytest.fixture
def since(tmp_path: Path) -> Since:
    def play(lines: str, used: tuple[str, ...] | None = None, version: int = 3) -> TableChange | Untraceable:
        history = History(tmp_path / "orders", version)
        now = history.play("\n".join(lines.split(";")))
        assert history.was_read
        return change_since(now, history.was_read.table_input(used))

    return play


def change(found: TableChange | Untraceable) -> TableChange:
    assert isinstance(found, TableChange), found
    return found


@pytest.mark.parametrize(
    ("lines", "came", "went", "rows_now", "insert_only", "may_delete"),
    [
        ("append +100; read; append +3; append +4", 7, 0, 107, True, False),
        ("append +100; read; merge +3 ~5", 8, 5, 103, False, False),
        ("append +100; read; merge +3", 3, 0, 103, True, False),
        ("append +100; read; merge ~5 -2", 5, 7, 98, False, True),
        ("append +100; read; update ~5", 5, 5, 100, False, True),
        ("append +100; read; delete -5", 0, 5, 95, False, True),
        ("append +100; read; overwrite +10", 10, 100, 10, False, True),
        ("append +100; read; merge ~5; compact; merge ~6; compact", 11, 11, 100, False, False),
        ("append +100; delete -5; read; append +1", 1, 0, 96, True, False),
    ],
)
def test_rows_that_came_and_went_are_counted(
    since: Since, lines: str, came: int, went: int, rows_now: int, insert_only: bool, may_delete: bool
) -> None:
    found = change(since(lines))
    assert (found.rows_written, found.rows_removed, found.rows_now) == (came, went, rows_now)
    assert (found.insert_only, found.may_delete) == (insert_only, may_delete)


def test_the_way_begins_at_the_snapshot_that_was_read(since: Since) -> None:
    found = change(since("append +100; merge +3 ~5; compact; read; append +1; compact"))
    assert (found.then_id, found.now_id, found.sequence_number) == (2, 5, 2)
    assert (found.next_row_id, found.rows_then, found.bytes_written) == (108, 103, 40)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("append +1; read; recreate; append +1", "was dropped and created again"),
        ("append +1; append +1; read; rollback 1", "was rolled back"),
        ("append +1; append +1; read; rollback 1; append +1", "was rolled back"),
        ("append +1; append +1; read; forget 2; append +1", "has another history than the one that was read"),
        ("append +1; read; rebuild +1", "was rebuilt"),
        ("append +1; read; rebuild +1; expire 1", "was rebuilt"),
        ("append +1; read; append +1; append +1; expire 1 2", "changed since a snapshot that no longer exists"),
        ("read; append +1", "had no rows before"),
        ("append +1; read; rename amount total; append +1", "has other columns: amount is now total"),
        (
            "append +1; read; swap id amount; append +1",
            "has other columns: amount is now id, id is now amount",
        ),
        ("append +1; read; retype amount long; append +1", "has other columns: amount has another type"),
        ("append +1; read; drop amount; append +1", "has other columns: amount is gone"),
        ("append +1; read; drop amount; add amount int; append +1", "has other columns: amount is another one"),
        ("append +1; rename status state; rename amount status; read; append +1", None),
        (
            "append +1; add note string; rename amount total; add amount int; read; append +1",
            "has other columns than the rows that were read",
        ),
    ],
)
def test_what_cannot_be_traced_is_told(since: Since, lines: str, reason: str | None) -> None:
    found = since(lines, ("id", "amount") if "state" not in lines else ("id",))
    assert (found.reason if isinstance(found, Untraceable) else None) == reason


def test_only_an_expired_snapshot_is_called_so(since: Since) -> None:
    found = since("append +1; read; append +1; append +1; expire 1 2")
    assert isinstance(found, Untraceable)
    assert found.expired
    discarded = since("append +1; append +1; read; forget 2; append +1")
    assert isinstance(discarded, Untraceable)
    assert not discarded.expired


def test_a_table_without_row_lineage_cannot_be_traced(since: Since) -> None:
    assert since("append +1; read; append +1", None, 2) == Untraceable("changed and has no row lineage (format 2)")
    upgraded = since("append +1; read; upgrade; append +1", None, 2)
    assert upgraded == Untraceable("changed and had no row lineage when it was read")
    assert isinstance(since("append +1; upgrade; append +1; read; append +1", None, 2), TableChange)


def test_columns_that_are_not_read_may_come_and_go(since: Since) -> None:
    for reshaped in ("rename status state", "retype status long", "drop status", "add note string"):
        assert isinstance(since(f"append +1; read; {reshaped}; append +1", ("id",)), TableChange)
        assert since(f"append +1; read; {reshaped}; append +1") == Untraceable("has other columns")


def test_a_key_is_kept_where_every_update_promises_the_same_one(since: Since) -> None:
    def key(lines: str) -> frozenset[str] | None:
        return change(since(f"append +9; read; {lines}")).keyed_by

    assert key("merge ~1 key=id; append +1; merge ~1 +1 key=ID") == {"id"}
    assert key("merge ~1 key=id; merge ~1") is None
    assert key("merge ~1 key=id; merge ~1 key=id,customer") is None
    assert key("merge ~1 key=nothing") is None


def test_columns_that_no_update_changes_are_kept_whatever_rows_come(since: Since) -> None:
    def kept(lines: str) -> frozenset[str] | None:
        return change(since(f"append +9; read; {lines}")).keyed_by

    assert kept("merge ~1 key=id columns=status; append +1") == {"id", "customer", "amount"}
    assert kept("merge ~1 key=id columns=status; merge ~1 key=id columns=amount") == {"id", "customer"}
    assert kept("merge ~1 key=id columns=status; merge ~1 key=id") == {"id"}
    assert kept("merge ~1 +1 key=id columns=status") == {"id"}


def test_changed_columns_add_up_over_commits_that_only_update(since: Since) -> None:
    def columns(lines: str, used: tuple[str, ...] | None = None) -> frozenset[str] | None:
        return change(since(f"append +9; read; {lines}", used)).columns

    assert columns("merge ~1 columns=status; compact; merge ~1 columns=amount,status") == {"status", "amount"}
    assert columns("merge ~1 columns=status; merge ~1") is None
    assert columns("merge ~1 columns=status; append +1") is None
    assert columns("merge ~1 +1 columns=status") is None


def test_a_column_is_the_one_that_had_the_name_when_the_commit_was_made(since: Since) -> None:
    lines = "append +9; read; rename amount z; merge ~1 columns=z; rename z amount"
    assert change(since(lines, ("id",))).columns == {"amount"}


def test_equality_deletes_leave_no_lineage(tmp_path: Path) -> None:
    history = History(tmp_path / "orders")
    history.play("append +9; read; append +1".replace("; ", "\n"))
    assert history.was_read
    history.snapshots[-1]["summary"]["total-equality-deletes"] = "1"
    found = change_since(history.metadata(), history.was_read.table_input())
    assert isinstance(found, Untraceable)
    assert "equality deletes" in found.reason
    del history.snapshots[-1]["summary"]["total-equality-deletes"]
    del history.snapshots[-1]["summary"]["total-records"]
    found = change_since(history.metadata(), history.was_read.table_input())
    assert isinstance(found, Untraceable)
    assert "did not count" in found.reason
