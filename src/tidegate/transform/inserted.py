"""The rows that a table gained since a model last read it, as a relation for its query."""

from __future__ import annotations

from tidegate.errors import StrategyError
from tidegate.lake.metadata import Snapshot, TableMetadata
from tidegate.lake.progress import TableInput
from tidegate.names import TableName, quote

__all__ = ["inserted_rows"]


def inserted_rows(table: TableName, metadata: TableMetadata, since: TableInput) -> str | None:
    """SQL in parentheses, or None where every row is new.

    Row lineage tells inserts from updates: an updated row keeps its id. But a row that was deleted and written again
    has a new one, as after a rewrite of the whole table or of a group. So where rows went, as many copies of a row are
    new as came under new ids beyond those that went.
    """
    if since.snapshot_id is None:
        return None
    if since.uuid != metadata.uuid:
        raise _unknown(table, "it was dropped and created again")
    newer = []
    for snapshot in metadata.ancestors():
        if snapshot.id == since.snapshot_id:
            break
        newer.append(snapshot)
    else:
        return _compared(table, metadata, since)
    if metadata.format_version < 3 or any(map(_removes, newer)):
        return _compared(table, metadata, since)
    return f"(SELECT * FROM {table.quoted} WHERE _row_id >= {since.next_row_id})"


def _removes(snapshot: Snapshot) -> bool:
    """A MERGE says that it deleted nothing; other commits are taken at their operation's word."""
    if snapshot.operation in ("append", "replace"):
        return False
    merged = snapshot.summary.get("spark.merge-into.num-target-rows-deleted")
    return merged != "0" or snapshot.count("deleted-data-files") > 0


def _compared(table: TableName, metadata: TableMetadata, since: TableInput) -> str:
    before = metadata.snapshots.get(since.snapshot_id) if since.snapshot_id is not None else None
    if before is None:
        raise _unknown(table, "the snapshot that was read last has expired")
    known = {field.name for field in metadata.fields_of(before)}
    shared = [quote(field.name) for field in metadata.fields if field.name in known]
    if not shared:
        return f"(SELECT * FROM {table.quoted})"
    columns = ", ".join(shared)
    same = " AND ".join(f"n.{column} <=> o.{column}" for column in shared)
    numbered = f"row_number() OVER (PARTITION BY {columns} ORDER BY 1) AS `__copy`"
    kept = ", ".join(f"n.{quote(field.name)}" for field in metadata.fields)
    came, went = table.quoted, f"{table.quoted} VERSION AS OF {before.id}"
    if metadata.format_version >= 3 and before.first_row_id is not None:
        came += f" WHERE _row_id >= {since.next_row_id}"
        went = (
            f"(SELECT *, _row_id AS `__row` FROM {went}) b"
            f" LEFT ANTI JOIN (SELECT _row_id AS `__row` FROM {table.quoted}) c ON b.`__row` = c.`__row`"
        )
    return (
        f"(SELECT {kept} FROM (SELECT *, {numbered} FROM {came}) n"
        f" LEFT ANTI JOIN (SELECT {columns}, {numbered} FROM {went}) o"
        f" ON n.`__copy` = o.`__copy` AND {same})"
    )


def _unknown(table: TableName, because: str) -> StrategyError:
    return StrategyError(
        f"Cannot tell which rows of {table} are new: {because}",
        where=str(table),
        remedy="Build it from all rows with --full-refresh, or make it incremental with a unique_key.",
    )
