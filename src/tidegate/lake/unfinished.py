"""A write that was not finished: rows that a run put into main itself before it was killed."""

from __future__ import annotations

from tidegate.errors import LakeError
from tidegate.lake.metadata import TableMetadata, read_metadata
from tidegate.lake.port import Pointer, PointerKind
from tidegate.names import TableName

__all__ = ["before_unfinished_write"]


def before_unfinished_write(table: TableName, metadata: TableMetadata) -> Pointer | None:
    """Where the table has the rows of which it remembers how they were made. None where it has those now, where others
    than its model have added to them, where it was rolled back, and where that file is not kept."""
    progress, last = metadata.progress, metadata.last_change
    if progress is None or progress.snapshot_id is None or last is None or last.id == progress.snapshot_id:
        return None
    added = any(snapshot.id == progress.snapshot_id for snapshot in metadata.ancestors())
    if not added or last.summary.get("tidegate.model") != str(table):
        return None
    for location in reversed([file for file in metadata.files if file.endswith(".metadata.json")]):
        pointer = Pointer(PointerKind.TABLE, location)
        try:
            found = read_metadata(pointer)
        except LakeError:
            continue
        now = found.last_change if isinstance(found, TableMetadata) else None
        if now is not None and now.id == progress.snapshot_id and found.progress == progress:
            return pointer
    return None
