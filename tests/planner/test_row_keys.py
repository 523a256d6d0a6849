"""Whether a key holds in each state of a table that is compared, so that nothing need be counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.planner.histories import History
from tidegate.lake.metadata import TableMetadata
from tidegate.lake.progress import Progress
from tidegate.names import TableName
from tidegate.planner.row_keys import RowKey, is_enforced, proven_since
from tidegate.transform.inserted import inserted_rows

TABLE = TableName("shop", "silver", "proven")
PROVEN = RowKey(("id",), proven=True)


def progress(since: int | None, key: tuple[str, ...] = ("id",), snapshot: int = 2) -> Progress:
    return Progress("run", "f", "full", "full_refresh", key=key, proven_since=since, snapshot_id=snapshot)


@pytest.fixture
def table(tmp_path: Path) -> Callable[..., TableMetadata]:
    def play(lines: str, recorded: Progress, foreign: int = 0) -> TableMetadata:
        """`foreign`: the snapshot that no run wrote."""
        history = History(tmp_path, progress=recorded.to_json())
        history.play(lines)
        for snapshot in history.snapshots:
            if snapshot["snapshot-id"] == foreign:
                del snapshot["summary"]["tidegate.run-id"]
        return history.metadata()

    return play


@pytest.mark.parametrize("lines", ["append +10\noverwrite +12", "append +10\nrebuild +12"])
@pytest.mark.parametrize(
    ("since", "key", "foreign", "enforced"),
    [
        (1, ("id",), 0, True),
        (2, ("id",), 0, False),  # the state that was read was written before the proof
        (None, ("id",), 0, False),
        (1, ("customer",), 0, False),
        (1, ("id",), 1, False),
    ],
)
def test_a_proven_key_needs_no_check_where_both_states_were_written_under_the_proof(
    table: Callable[..., TableMetadata],
    lines: str,
    since: int | None,
    key: tuple[str, ...],
    foreign: int,
    enforced: bool,
) -> None:
    metadata = table(lines, progress(since, key), foreign)
    assert is_enforced(metadata, ("id",), metadata.snapshots[1]) == enforced
    read = table(lines.splitlines()[0], progress(since, key)).table_input()
    inserted = inserted_rows(TABLE, metadata, read, ("id",))
    assert inserted is not None
    assert bool(inserted.repeated) == (not enforced)


def test_a_state_from_before_the_proof_is_checked_after_a_rollback_to_it(table: Callable[..., TableMetadata]) -> None:
    metadata = table("append +10\noverwrite +12\nrollback 1", progress(2))
    assert not is_enforced(metadata, ("id",))


def test_a_key_whose_type_changed_is_checked(table: Callable[..., TableMetadata]) -> None:
    metadata = table("append +10\nretype id string\noverwrite +12", progress(1))
    inserted = inserted_rows(TABLE, metadata, table("append +10", progress(1)).table_input(), ("id",))
    assert inserted is not None
    assert inserted.repeated


def test_repeated_keys_are_computed_once(table: Callable[..., TableMetadata]) -> None:
    metadata = table("append +10\noverwrite +12", progress(None))
    inserted = inserted_rows(TABLE, metadata, table("append +10", progress(None)).table_input(), ("id",))
    assert inserted is not None
    sql = inserted.with_repeated("`held`")
    assert (sql.count("`held`"), sql.count("HAVING")) == (2, 0)


@pytest.mark.parametrize(
    ("former", "key", "whole", "foreign", "since"),
    [
        (None, PROVEN, True, 0, 2),
        (None, PROVEN, False, 0, None),
        (progress(1, snapshot=1), PROVEN, True, 0, 1),
        (progress(1, snapshot=1), PROVEN, False, 0, 1),
        (progress(1, snapshot=9), PROVEN, False, 0, None),  # rolled back since
        (progress(1, snapshot=1), PROVEN, True, 1, 2),
        (progress(1, snapshot=1), PROVEN, False, 1, None),
        (progress(1, ("customer",), snapshot=1), PROVEN, True, 0, 2),
        (progress(None, snapshot=1), PROVEN, True, 0, 2),
        (progress(1, snapshot=1), RowKey(("id",)), True, 0, None),
    ],
)
def test_a_proof_holds_from_the_first_state_that_was_written_whole_under_it(
    table: Callable[..., TableMetadata],
    former: Progress | None,
    key: RowKey,
    whole: bool,
    foreign: int,
    since: int | None,
) -> None:
    metadata = table("append +10\noverwrite +12", progress(None), foreign)
    assert proven_since(metadata, key, former, whole=whole) == since


def test_a_record_without_a_proof_is_read_as_unknown() -> None:
    text = progress(None).to_json().replace('"proven_since":null,', "")
    assert "proven_since" not in text
    assert Progress.from_json(text) == progress(None)
