"""The rows that a table gained since a model last read it, as a relation for its query."""

from __future__ import annotations

from typing import Any

from tidegate.errors import StrategyError
from tidegate.lake.metadata import Snapshot, TableMetadata
from tidegate.lake.progress import TableInput
from tidegate.lake.types import spark_type
from tidegate.names import TableName, quote
from tidegate.write.types import comparable, conversion, is_nested, join_types, type_sql

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
    had = {field.name: spark_type(field.type) for field in metadata.fields_of(before)}
    pairs = [
        _pair(table, field.name, had[field.name], spark_type(field.type))
        for field in metadata.fields
        if field.name in had
    ]
    if not pairs:
        return f"(SELECT * FROM {table.quoted})"
    new, old = (_numbered([pair[side] for pair in pairs]) for side in (0, 1))
    kept = ", ".join(f"n.{quote(field.name)}" for field in metadata.fields)
    came, went = table.quoted, f"{table.quoted} VERSION AS OF {before.id}"
    if metadata.format_version >= 3 and before.first_row_id is not None:
        came += f" WHERE _row_id >= {since.next_row_id}"
        went = (
            f"(SELECT *, _row_id AS `__row` FROM {went}) b"
            f" LEFT ANTI JOIN (SELECT _row_id AS `__row` FROM {table.quoted}) c ON b.`__row` = c.`__row`"
        )
    return (
        f"(SELECT {kept} FROM (SELECT *, {new} FROM {came}) n"
        f" LEFT ANTI JOIN (SELECT {old} FROM {went}) o"
        f" ON n.`__copy` = o.`__copy` AND n.`__values` <=> o.`__values`)"
    )


def _numbered(values: list[str]) -> str:
    """All values as one, compared with NULL equal to NULL, and the how-manieth row of these values it is."""
    named = ", ".join(f"{value} AS `v{i}`" for i, value in enumerate(values))
    return f"struct({named}) AS `__values`, row_number() OVER (PARTITION BY {', '.join(values)} ORDER BY 1) AS `__copy`"


def _pair(table: TableName, name: str, before: Any, after: Any) -> tuple[str, str]:
    """How a column's value now and its value then are compared: in the type it has now."""
    column = quote(name)
    if before == after or join_types(before, after) == after:
        then = conversion(column, before, after)
    elif is_nested(before) or is_nested(after):
        raise _unknown(table, f"its column {name} was {type_sql(before)} and is {type_sql(after)}")
    else:
        then = f"TRY_CAST({column} AS {type_sql(after)})"
    return comparable(column, after), comparable(then, after)


def _unknown(table: TableName, because: str) -> StrategyError:
    return StrategyError(
        f"Cannot tell which rows of {table} are new: {because}",
        where=str(table),
        remedy="Build it from all rows with --full-refresh, or make it incremental with a unique_key.",
    )
