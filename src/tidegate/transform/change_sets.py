"""The changed rows of a table as one relation: each as it was and as it is, computed once for all that read it."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate.lake.changes import TableChange
from tidegate.lake.iceberg_types import spark_type
from tidegate.lake.metadata import Field, TableMetadata
from tidegate.lake.view import BranchView
from tidegate.names import TableName, literal, quote
from tidegate.planner.deltas.delta_query import Image
from tidegate.planner.deltas.reaching_rows import ROW_AFTER, ROW_BEFORE
from tidegate.transform.changed_rows import metadata_of_changed, rows_after, rows_before
from tidegate.write.few_rows import for_few_rows
from tidegate.write.spark_sql import any_of, differ

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["ChangeFilter", "ChangeSet", "make_change_set"]

_ID, _WAS = "__id", "__was"
_FEW_VALUES = 2_000_000
"""Up to so many values, as they were and as they are, may be in memory; more are on disk alone."""
_SENT_ROWS = 20_000
"""Up to so many changed rows are sent to every task, to be found in a large table."""
_MOST_COMPARED = 40
"""With more columns, each changed row counts as one that differs: comparing them costs more than it can save."""


@dataclass(frozen=True, slots=True)
class ChangeFilter:
    """What one reader sees of a change: rows that differ in `columns` (None: in any) and meet `condition`, if it has
    one, on ROW_BEFORE and ROW_AFTER."""

    columns: frozenset[str] | None = None
    condition: str = ""


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """Rows of ROW_BEFORE and ROW_AFTER in a view that all sessions see."""

    view: str
    fields: tuple[Field, ...]
    """The columns that it has of the table."""
    has_all_columns: bool
    rows: int
    reaching: Mapping[ChangeFilter, int]
    """How many rows pass each of the filters that it was made with."""
    held: tuple[DataFrame, SparkSession]

    def covers(self, columns: frozenset[str] | None) -> bool:
        """Whether it has these columns; None: all of the table."""
        return self.has_all_columns or (columns is not None and columns <= {field.name for field in self.fields})

    def image_sql(self, image: Image, columns: frozenset[str] | None) -> str:
        """The image BEFORE or AFTER, without rows that do not differ in `columns`."""
        side = ROW_AFTER if image is Image.AFTER else ROW_BEFORE
        hint = "/*+ BROADCAST(c) */ " if self.rows <= _SENT_ROWS else ""
        return (
            f"SELECT {hint}{side}.* FROM {self.view} AS c"
            f" WHERE {side} IS NOT NULL AND ({_differs(self.fields, columns)})"
        )

    def labelled_sql(self, label: str, words: tuple[str, str, str, str]) -> str:
        """The rows with their operation in a column: of an insert, of an update after and before it, and of a
        delete."""
        insert, after, before, delete = map(literal, words)
        now = f"SELECT {ROW_AFTER}.*, IF({ROW_BEFORE} IS NULL, {insert}, {after}) AS {label} FROM {self.view}"
        then = f"SELECT {ROW_BEFORE}.*, IF({ROW_AFTER} IS NULL, {delete}, {before}) AS {label} FROM {self.view}"
        return f"{now} WHERE {ROW_AFTER} IS NOT NULL UNION ALL {then} WHERE {ROW_BEFORE} IS NOT NULL"

    def count(self, session: SparkSession, seen: ChangeFilter) -> int:
        """How many rows a reader sees."""
        if seen in self.reaching:
            return self.reaching[seen]
        rows: int = session.sql(f"SELECT {_counted(self.fields, seen)} AS n FROM {self.view}").collect()[0]["n"]
        return rows

    def drop(self) -> None:
        frame, session = self.held
        with contextlib.suppress(Exception):  # Spark may be gone, and what it kept with it
            session.catalog.dropGlobalTempView(self.view.rpartition(".")[2])
            frame.unpersist()


def make_change_set(
    session: SparkSession,
    lake: BranchView,
    table: TableName,
    change: TableChange,
    columns: frozenset[str] | None,
    filters: Collection[ChangeFilter],
) -> ChangeSet:
    """Compute it, and how many rows pass each filter, in one job. `session`: one of its own. `columns`: those that
    readers use, None: all."""
    from pyspark import StorageLevel

    name = f"tidegate_changes_{secrets.token_hex(8)}"  # of a view that other code in Spark cannot guess
    metadata = metadata_of_changed(lake, table)
    fields = tuple(field for field in metadata.fields if columns is None or field.name in columns)
    few = (change.rows_written + change.rows_removed) * max(1, len(fields)) <= _FEW_VALUES
    level = StorageLevel.MEMORY_AND_DISK if few else StorageLevel.DISK_ONLY
    with for_few_rows(session):
        # A checkpoint has no plan over the table, which other sessions would not recognise as this one; what is
        # persisted has a known size, by which joins are planned.
        rows = _paired(session, table, metadata, change, fields).localCheckpoint(eager=False, storageLevel=level)
        frame = rows.persist(level)
        frame.createOrReplaceGlobalTempView(name)
        distinct = tuple(dict.fromkeys(filters))
        counts = (f"{_counted(fields, seen)} AS n{at}" for at, seen in enumerate(distinct))
        row = frame.selectExpr("count(*) AS n", *counts).collect()[0]
    reaching = {seen: row[f"n{at}"] for at, seen in enumerate(distinct)}
    view = f"{session.conf.get('spark.sql.globalTempDatabase', 'global_temp')}.{name}"
    return ChangeSet(view, fields, len(fields) == len(metadata.fields), row["n"], reaching, (frame, session))


def _paired(
    session: SparkSession, table: TableName, metadata: TableMetadata, change: TableChange, fields: tuple[Field, ...]
) -> DataFrame:
    """An updated row keeps its id. A row that is new in its file has none, and was not there."""
    struct = f"struct({', '.join(quote(field.name) for field in fields)})"
    after = rows_after(session, table, metadata, change, with_ids=True).selectExpr(
        f"{struct} AS {ROW_AFTER}", f"_row_id AS {_ID}"
    )
    if change.insert_only:
        return after.selectExpr(f"IF(true, NULL, {ROW_AFTER}) AS {ROW_BEFORE}", ROW_AFTER)
    before = rows_before(session, table, metadata, change, with_ids=True).selectExpr(
        f"{struct} AS {ROW_BEFORE}", f"_row_id AS {_WAS}"
    )
    if change.may_delete:
        pairs = after.join(before, after[_ID] == before[_WAS], "full_outer")
    else:
        few = before.hint("broadcast") if change.rows_removed <= _SENT_ROWS else before
        pairs = after.join(few, after[_ID] == before[_WAS], "left")
    return pairs.select(ROW_BEFORE, ROW_AFTER)


def _counted(fields: tuple[Field, ...], seen: ChangeFilter) -> str:
    condition = f" AND ({seen.condition})" if seen.condition else ""
    return f"count_if(({_differs(fields, seen.columns)}){condition})"


def _differs(fields: tuple[Field, ...], columns: frozenset[str] | None) -> str:
    compared = [field for field in fields if columns is None or field.name in columns]
    types = [spark_type(field.type) for field in compared]
    if len(compared) > _MOST_COMPARED or any(kind.contains("map", "variant") for kind in types):
        return "true"
    sides = (
        differ(f"{ROW_BEFORE}.{quote(field.name)}", f"{ROW_AFTER}.{quote(field.name)}", kind)
        for field, kind in zip(compared, types, strict=True)
    )
    return f"{ROW_BEFORE} IS NULL OR {ROW_AFTER} IS NULL OR {any_of(sides)}"
