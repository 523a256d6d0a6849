"""What an interrupted write leaves: snapshots between its commits, rows that no progress describes, staging tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from tidegate.errors import LakeError
from tidegate.lake.branch_catalog import Pointer, PointerKind
from tidegate.lake.metadata import Snapshot, TableMetadata, load_json, read_metadata
from tidegate.lake.view import BranchView
from tidegate.names import TableName

__all__ = [
    "PARTIAL",
    "RUN_ID",
    "STAGED",
    "StagedTable",
    "intermediate_snapshots",
    "pointer_before_unfinished_write",
    "snapshot_at",
    "staged_tables",
    "state_before",
]

PARTIAL = "tidegate.partial"
"""Of a commit: `true` where the same write may go on with another commit."""

RUN_ID = "tidegate.run-id"
"""Of a commit: the run that made it."""

_Log = Sequence[Mapping[str, Any]]


def intermediate_snapshots(metadata: TableMetadata) -> frozenset[int]:
    """The marked snapshots after which their own run committed again.

    A write that marks its first commit may turn out to need no second one; then that commit is its final state.
    """
    ordered = sorted(metadata.snapshots.values(), key=lambda snapshot: snapshot.sequence_number)
    return frozenset(earlier.id for earlier, later in pairwise(ordered) if _goes_on(earlier, later))


def _goes_on(earlier: Snapshot, later: Snapshot) -> bool:
    run_id = earlier.summary.get(RUN_ID)
    marked = earlier.summary.get(PARTIAL) == "true"
    return marked and run_id is not None and run_id == later.summary.get(RUN_ID)


def snapshot_at(metadata: TableMetadata, timestamp_ms: int) -> int | None:
    """The snapshot that Iceberg takes for a time: the last that had become current by then."""
    reached = [entry["snapshot-id"] for entry in _log(metadata) if entry["timestamp-ms"] <= timestamp_ms]
    return reached[-1] if reached else None


def state_before(metadata: TableMetadata, snapshot_id: int) -> int | None:
    """The last complete state before an intermediate one; None where it has expired or there was none."""
    skipped = intermediate_snapshots(metadata)
    before: int | None = None
    for entry in _log(metadata):
        if entry["snapshot-id"] == snapshot_id:
            return before
        if entry["snapshot-id"] in metadata.snapshots and entry["snapshot-id"] not in skipped:
            before = entry["snapshot-id"]
    return None


def _log(metadata: TableMetadata) -> _Log:
    log: _Log = load_json(metadata.location).get("snapshot-log", ())
    return log


def pointer_before_unfinished_write(table: TableName, metadata: TableMetadata) -> Pointer | None:
    """The last state whose rows the recorded progress describes. None where the table is in that state, where something
    else than its model added rows, where it was rolled back, and where that metadata file no longer exists."""
    progress, last = metadata.progress, metadata.last_change
    if progress is None or progress.snapshot_id is None or last is None or last.id == progress.snapshot_id:
        return None
    added = any(snapshot.id == progress.snapshot_id for snapshot in metadata.ancestors())
    if not added or last.summary.get("tidegate.model") != str(table):
        return None
    for location in reversed([file for file in metadata.files if file.endswith(".metadata.json")]):
        pointer = Pointer(PointerKind.TABLE, location)
        try:
            former = read_metadata(pointer)
        except LakeError:
            continue
        last = former.last_change if isinstance(former, TableMetadata) else None
        if last is not None and last.id == progress.snapshot_id and former.progress == progress:
            return pointer
    return None


STAGED = "tidegate.staging"
"""A property of staging tables; another table with such a name is a user's."""


@dataclass(frozen=True, slots=True)
class StagedTable:
    """A table that lives for one write. One is left where a process that wrote main itself was killed."""

    table: TableName
    made_at: datetime
    run_id: str | None
    """The run that created it; None where it is unknown."""


def staged_tables(lake: BranchView) -> Iterator[StagedTable]:
    """Their names end in `__staging` or the like, so few metadata files are read."""
    for table in sorted(table for table in lake.heads() if "__" in table.name and not table.beside_quarantine):
        metadata = lake.table(table)
        if metadata is None or metadata.current is None or metadata.properties.get(STAGED) != "true":
            continue
        made_at = datetime.fromtimestamp(metadata.current.timestamp_ms / 1000, UTC)
        yield StagedTable(table, made_at, metadata.current.summary.get("tidegate.run-id"))
