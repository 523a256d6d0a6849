"""The order in which the rows of a table arrived, as its metadata columns give it."""

from __future__ import annotations

from tidegate.lake.metadata import TableMetadata

__all__ = ["arrival_order"]


def arrival_order(metadata: TableMetadata) -> str | None:
    """A SQL expression over metadata columns that grows from each row to the one that arrived after it.

    Iceberg numbers rows by commit, then by the writing task's number (not by which task ended first), then by their
    place in the task's files; compaction keeps the numbers. An append_only model that projects or filters one landing
    zone writes its rows by file, in the order in which files were consumed (those of one run by path), and by line.

    None where the numbers follow something else: there is no row lineage, or rows are sorted or distributed by their
    values before they are written. Whether the query keeps the order of its input is not decided here.
    """
    if metadata.format_version < 3 or metadata.partition_fields or metadata.sort_fields:
        return None
    return "_row_id"
