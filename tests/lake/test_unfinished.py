"""Rows that a killed run wrote to main itself are told from all others, by metadata alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tidegate.lake.branch_catalog import Pointer
from tidegate.lake.metadata import TableMetadata, read_metadata
from tidegate.lake.progress import PROGRESS_PROPERTY, Progress
from tidegate.lake.unfinished_writes import pointer_before_unfinished_write
from tidegate.names import TableName

Write = Callable[..., Pointer]

TABLE = TableName("shop", "silver", "log")
OURS = {"tidegate.model": str(TABLE), "tidegate.run-id": "run-1"}
FIRST = (1, None, "append", {"added-records": "10", **OURS})


def remembering(snapshot: int | None) -> dict[str, str]:
    return {PROGRESS_PROPERTY: Progress("run-1", "f", "full", "append_only", snapshot_id=snapshot).to_json()}


@pytest.fixture
def log(write_table: Write) -> Callable[..., Pointer | None]:
    """Asks of a table whose first run was finished, and which has gained one more snapshot since."""
    written = write_table(FIRST, name="00001-a", properties={})
    finished = write_table(FIRST, name="00002-a", properties=remembering(1))
    files = [{"timestamp-ms": 1, "metadata-file": pointer.location} for pointer in (written, finished)]

    def asked(operation: str, summary: dict[str, str], **extra: Any) -> Pointer | None:
        second = (2, 1, operation, {"added-records": "3", **summary})
        extra = {"properties": remembering(1), "metadata-log": files, **extra}
        metadata = read_metadata(write_table(FIRST, second, name="00003-a", **extra))
        assert isinstance(metadata, TableMetadata)
        found = pointer_before_unfinished_write(TABLE, metadata)
        assert found in (None, finished)
        return found

    return asked


def test_a_write_that_the_table_does_not_remember_is_unfinished(log: Callable[..., Pointer | None]) -> None:
    assert log("append", {**OURS, "tidegate.run-id": "run-2"}) is not None


def test_a_write_that_it_remembers_is_finished(log: Callable[..., Pointer | None]) -> None:
    assert log("append", OURS, properties=remembering(2)) is None


def test_compaction_and_the_rows_of_others_are_left_alone(log: Callable[..., Pointer | None]) -> None:
    assert log("replace", {}) is None
    assert log("append", {}) is None
    assert log("append", {"tidegate.model": "shop.silver.other"}) is None


def test_a_table_that_somebody_rolled_back_stays_so(write_table: Write) -> None:
    """Both of its snapshots are runs' of its model, and it remembers the second."""
    both = (FIRST, (2, 1, "append", {"added-records": "3", **OURS}))
    later = write_table(*both, name="00003-a", properties=remembering(2))
    rolled_back: dict[str, Any] = {
        "current-snapshot-id": 1,
        "metadata-log": [{"timestamp-ms": 1, "metadata-file": later.location}],
    }
    metadata = read_metadata(write_table(*both, name="00004-a", properties=remembering(2), **rolled_back))
    assert isinstance(metadata, TableMetadata)
    assert pointer_before_unfinished_write(TABLE, metadata) is None


def test_without_the_file_nothing_can_be_taken_back(log: Callable[..., Pointer | None]) -> None:
    gone = [{"timestamp-ms": 1, "metadata-file": "file:/nowhere/00002-a.metadata.json"}]
    assert log("append", OURS, **{"metadata-log": gone}) is None
    assert log("append", OURS, properties={}) is None
    assert log("append", OURS, properties=remembering(None)) is None
