"""What a statement did to a table, from the snapshot it left."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.lake.branch_catalog import Pointer
from tidegate.lake.metadata import Snapshot
from tidegate.write.request import WriteRequest

__all__ = ["Standing", "commit_since", "existing_rows", "standing"]


@dataclass(frozen=True, slots=True)
class Standing:
    """A table before a statement."""

    pointer: Pointer | None
    snapshot_id: int | None
    rows: int


def standing(request: WriteRequest) -> Standing:
    metadata = request.lake.table(request.table)
    pointer = request.lake.pointer(request.table)
    return Standing(pointer, metadata.current_snapshot_id if metadata else None, existing_rows(request))


def existing_rows(request: WriteRequest) -> int:
    """Rows of the table now, from its metadata."""
    metadata = request.lake.table(request.table)
    return metadata.total_records if metadata else 0


def commit_since(request: WriteRequest, before: Standing) -> Snapshot | None:
    """The commit that changed rows. One that changed none is taken back, so that it wakes no reader."""
    metadata = request.lake.table(request.table)
    commit = metadata.current if metadata else None
    if commit is not None and commit.id != before.snapshot_id and commit.changed_rows:
        return commit
    request.lake.restore(request.table, before.pointer)
    return None
