"""How much a run has added to a table, by the commits' own count."""

from __future__ import annotations

from tidegate.lake.metadata import TableMetadata

__all__ = ["bytes_added"]


def bytes_added(metadata: TableMetadata | None, run_id: str) -> int:
    """In data and delete files, also those that a later commit of the same run replaced."""
    if metadata is None:
        return 0
    own = (snapshot for snapshot in metadata.snapshots.values() if snapshot.summary.get("tidegate.run-id") == run_id)
    return sum(snapshot.count("added-files-size") for snapshot in own)
