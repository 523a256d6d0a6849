"""Snapshots in the middle of a write that takes more than one commit: states that no run meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from tidegate.lake.metadata import Snapshot, TableMetadata, load_json

__all__ = ["PARTIAL", "RUN_ID", "intermediate_snapshots", "snapshot_at", "state_before"]

PARTIAL = "tidegate.partial"
"""Of a commit: `true` where the same write may go on with another commit."""

RUN_ID = "tidegate.run-id"
"""Of a commit: the run that made it."""

_Log = Sequence[Mapping[str, Any]]


def intermediate_snapshots(metadata: TableMetadata) -> frozenset[int]:
    """The marked snapshots after which their own run committed again.

    A write that marks its first commit may turn out to need no second one; then that commit is the state it meant.
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
    """The last state that a run meant before an intermediate one; None where it has expired or there was none."""
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
