"""The images of changed tables as temporary views, each read in the cheapest way that is right for its change."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from tidegate.errors import LakeError
from tidegate.lake.changes import TableChange
from tidegate.lake.iceberg_types import spark_type
from tidegate.lake.metadata import Snapshot, TableMetadata
from tidegate.lake.view import BranchView
from tidegate.names import TableName, quote
from tidegate.planner.deltas.delta_query import TOUCHED, DeltaQuery, Image, ImageRead
from tidegate.sources.chunk_tables import ChunkTable
from tidegate.transform.delta_views import delta_image
from tidegate.write.added_rows import added_rows, masked_positions, newer_snapshots
from tidegate.write.request import Touched

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "TouchedKeys",
    "bind_images",
    "metadata_of_changed",
    "result_sql",
    "rows_after",
    "rows_before",
    "touched_keys",
]


_SEQUENCE = "_last_updated_sequence_number"
_ID = "_row_id"
_MOST_POSITIONS = 2_000_000
"""Positions of deleted rows that are sent to every task."""


@contextlib.contextmanager
def bind_images(
    session: SparkSession,
    lake: BranchView,
    reads: tuple[ImageRead, ...],
    changes: Mapping[TableName, TableChange],
    delta: Mapping[TableName, ChunkTable] | None = None,
    shared: Mapping[ImageRead, str] = MappingProxyType({}),
) -> Iterator[None]:
    """Make each image a view of its name until the end. Only what a query selects of a view is read.

    `delta`: the tables that are not in the lake. `shared`: queries for images that were read already.
    """
    bound: list[str] = []
    try:
        for read in reads:
            change = changes[read.table]
            if read in shared:
                frame = session.sql(shared[read])
            elif delta and read.table in delta:
                frame = delta_image(session, delta[read.table], read.image, change)
            else:
                frame = _frame(session, read, metadata_of_changed(lake, read.table), change)
            frame.createOrReplaceTempView(quote(read.name))
            bound.append(read.name)
        yield
    finally:
        with contextlib.suppress(Exception):  # the session may be gone, and its views with it
            for name in bound:
                session.catalog.dropTempView(name)


def metadata_of_changed(lake: BranchView, table: TableName) -> TableMetadata:
    metadata = lake.table(table)
    if metadata is None or metadata.current is None:
        raise LakeError(
            f"the rows of {table} that changed cannot be read: the table is gone",
            where=str(table),
            remedy="run again; the model is then built from what is there",
        )
    return metadata


def _frame(session: SparkSession, read: ImageRead, metadata: TableMetadata, change: TableChange) -> DataFrame:
    match read.image:
        case Image.AFTER:
            return rows_after(session, read.table, metadata, change)
        case Image.THEN:
            return session.sql(f"SELECT {_columns_then(metadata, change)} FROM {_then(read.table, change)}")
        case Image.BEFORE:
            return rows_before(session, read.table, metadata, change)


def rows_after(
    session: SparkSession, table: TableName, metadata: TableMetadata, change: TableChange, *, with_ids: bool = False
) -> DataFrame:
    """The image AFTER. `with_ids`: with `_row_id`, NULL for a row that is new in its file."""
    added = added_rows(session, table, metadata, change.sequence_number, with_ids=with_ids)
    if added is not None:
        return added
    columns = ", ".join([*(quote(field.name) for field in metadata.fields), *[_ID] * with_ids])
    return session.sql(f"SELECT {columns} FROM {table.quoted} WHERE {_SEQUENCE} > {change.sequence_number}")


def rows_before(
    session: SparkSession, table: TableName, metadata: TableMetadata, change: TableChange, *, with_ids: bool = False
) -> DataFrame:
    """The image BEFORE. `with_ids`: with `_row_id`."""
    columns, then = _columns_then(metadata, change), _then(table, change)
    if change.insert_only:
        return session.sql(f"SELECT {columns} FROM {then} WHERE false")
    if _files_stand(metadata, change):
        return _masked_since(session, table, metadata, change, with_ids)
    ids = f"SELECT _row_id AS `__id` FROM {table.quoted} WHERE {_SEQUENCE}"
    chosen = f"{columns}, b.`__id` AS {_ID}" if with_ids else columns
    rows = f"SELECT {chosen} FROM (SELECT *, _row_id AS `__id` FROM {then}) b LEFT"
    if change.may_delete and _rows_gone(session, table, change):
        return session.sql(f"{rows} ANTI JOIN ({ids} <= {change.sequence_number}) n ON b.`__id` = n.`__id`")
    newer = f"{ids} > {change.sequence_number} AND _row_id < {change.next_row_id}"
    return session.sql(f"{rows} SEMI JOIN ({newer}) n ON b.`__id` = n.`__id`")


def _files_stand(metadata: TableMetadata, change: TableChange) -> bool:
    """Whether every earlier data file still exists, so that deleted rows are masked in it."""
    newer = newer_snapshots(metadata, change.sequence_number)
    removed = any(snapshot.operation == "replace" or snapshot.count("deleted-data-files") for snapshot in newer)
    return not removed and all(s.count("total-position-deletes") <= _MOST_POSITIONS for s in newer[:1])


def _masked_since(
    session: SparkSession, table: TableName, metadata: TableMetadata, change: TableChange, with_ids: bool
) -> DataFrame:
    """Rows that were updated or deleted since: those masked now, without those that were masked then."""
    columns = ", ".join([*(quote(field.name) for field in metadata.fields), *[_ID] * with_ids])
    rows = f"FROM {table.quoted} WHERE _deleted AND coalesce({_SEQUENCE}, 0) <= {change.sequence_number}"
    then = metadata.snapshots.get(change.then_id)
    if then is not None and not then.count("total-position-deletes"):
        return session.sql(f"SELECT {columns} {rows}")
    from pyspark.sql import functions as f

    gone = f"SELECT file_path AS `__file`, pos AS `__pos` FROM {table.quoted}.position_deletes"
    masked_then = masked_positions(session, f"{gone} VERSION AS OF {change.then_id}")
    masked = session.sql(f"SELECT {columns}, _file AS `__file`, _pos AS `__pos` {rows}")
    return masked.join(f.broadcast(masked_then), ["__file", "__pos"], "left_anti").drop("__file", "__pos")


def _rows_gone(session: SparkSession, table: TableName, change: TableChange) -> bool:
    """Looking for deleted rows compares all ids of then with all of now, so first see whether there are any."""
    newer = session.sql(f"SELECT _row_id FROM {table.quoted} WHERE {_SEQUENCE} > {change.sequence_number}")
    # Iceberg answers a plain count over the hidden columns itself, and fails.
    held = newer.persist()
    try:
        inserted: int = held.where(f"_row_id >= {change.next_row_id}").count()
    finally:
        held.unpersist()
    return change.rows_then + inserted != change.rows_now


def _then(table: TableName, change: TableChange) -> str:
    return f"{table.quoted} VERSION AS OF {change.then_id}"


def _columns_then(metadata: TableMetadata, change: TableChange) -> str:
    """The table's columns of now, as they were: a column that is newer, or was of another type, is NULL."""
    snapshot: Snapshot | None = metadata.snapshots.get(change.then_id)
    had = {field.id: field for field in metadata.fields_of(snapshot)} if snapshot else {}
    columns = []
    for field in metadata.fields:
        before = had.get(field.id)
        same = before is not None and before.identity == field.identity
        value = quote(before.name) if before and same else f"CAST(NULL AS {spark_type(field.type).sql})"
        columns.append(f"{value} AS {quote(field.name)}")
    return ", ".join(columns)


_NULL_SAFE = re.compile(rf"<=>\s+(`?{TOUCHED}`?\.)")


@dataclass(frozen=True, slots=True)
class TouchedKeys:
    """`rows`: how many keys. `nulls`: some column of some key is NULL, so keys must be compared with `<=>`.

    None: not known yet.
    """

    keys: Touched
    rows: int | None
    nulls: bool | None


@contextlib.contextmanager
def touched_keys(session: SparkSession, delta: DeltaQuery, *, few: bool = False) -> Iterator[TouchedKeys]:
    """Find the keys, as the view TOUCHED until the end. The images that the query reads must be bound.

    `few`: there are only a few keys, so the view is computed when it is used, unless the result depends on it.
    """
    region = ", ".join(map(quote, delta.region))
    distinct = "" if delta.once else "DISTINCT "
    frame = session.sql(f"SELECT {distinct}{region} FROM ({delta.touched})").persist()
    try:
        rows = nulls = None
        if not few or TOUCHED in delta.result:
            missing = " OR ".join(f"{quote(name)} IS NULL" for name in delta.region)
            row = frame.selectExpr("count(*) AS n", f"coalesce(bool_or({missing}), false) AS nulls").collect()[0]
            rows, nulls = row["n"], row["nulls"]
        frame.createOrReplaceTempView(TOUCHED)
        yield TouchedKeys(Touched(TOUCHED, delta.region), rows, nulls)
    finally:
        with contextlib.suppress(Exception):  # the session may be gone, and what it kept with it
            session.catalog.dropTempView(TOUCHED)
            frame.unpersist()


def result_sql(delta: DeltaQuery, nulls: bool | None) -> str:
    """The result's query. Without NULLs among the touched keys `=` is enough, and Spark is twice as fast."""
    return _NULL_SAFE.sub(lambda match: f"= {match[1]}", delta.result) if nulls is False else delta.result
