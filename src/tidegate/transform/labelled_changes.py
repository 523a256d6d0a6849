"""What changed in a table as rows with their operation, in the words of Iceberg and Delta."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.errors import QueryError
from tidegate.lake.changes import TableChange
from tidegate.lake.view import BranchView
from tidegate.names import TableName, literal, quote
from tidegate.planner.deltas.delta_query import CHANGE_TYPES, Image
from tidegate.sources.chunk_tables import ChunkTable
from tidegate.transform.change_sets import ChangeSet
from tidegate.transform.changed_rows import metadata_of_changed, rows_after, rows_before

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = ["CHANGE_TYPE", "GONE", "INSERT", "LABELS", "labelled_changes", "labelled_inserts", "labelled_set"]

CHANGE_TYPE = "_change_type"
INSERT, AFTER_UPDATE, BEFORE_UPDATE, DELETE = LABELS = ("insert", "update_postimage", "update_preimage", "delete")
GONE = (BEFORE_UPDATE, DELETE)
"""Rows that the table does not have any more."""

_ID = "_row_id"


def labelled_inserts(frame: DataFrame, table: TableName) -> DataFrame:
    """Every row as an insert."""
    from pyspark.sql import functions as f

    _refuse_own(frame.columns, table)
    return frame.withColumn(CHANGE_TYPE, f.lit(INSERT))


def labelled_changes(
    session: SparkSession, lake: BranchView, table: TableName, change: TableChange, delta: ChunkTable | None = None
) -> DataFrame:
    """The rows of now that were not there then, and those of then that are not there now. A row that was changed more
    than once is there as it was and as it is. `delta`: the table, if it is not in the lake."""
    if delta is not None:
        return _from_feed(session, delta, change)
    metadata = metadata_of_changed(lake, table)
    columns = [quote(field.name) for field in metadata.fields]
    _refuse_own([field.name for field in metadata.fields], table)
    now = rows_after(session, table, metadata, change, with_ids=True)
    is_new = f"({_ID} IS NULL OR {_ID} >= {change.next_row_id})"
    after = now.selectExpr(*columns, f"IF({is_new}, {literal(INSERT)}, {literal(AFTER_UPDATE)}) AS {CHANGE_TYPE}")
    if change.insert_only:
        return after
    then = rows_before(session, table, metadata, change, with_ids=True)
    label = literal(BEFORE_UPDATE)
    if change.may_delete:
        updated = now.where(f"NOT {is_new}").selectExpr(f"{_ID} AS __id", "true AS __updated")
        then = then.join(updated, then[_ID] == updated["__id"], "left")
        label = f"IF(__updated IS NULL, {literal(DELETE)}, {label})"
    return after.unionByName(then.selectExpr(*columns, f"{label} AS {CHANGE_TYPE}"))


def labelled_set(session: SparkSession, table: TableName, changes: ChangeSet) -> DataFrame:
    """As `labelled_changes`, from what was computed already."""
    _refuse_own([field.name for field in changes.fields], table)
    return session.sql(changes.labelled_sql(CHANGE_TYPE, LABELS))


def _from_feed(session: SparkSession, table: ChunkTable, change: TableChange) -> DataFrame:
    if change.then_id == change.now_id:
        # Delta refuses a feed that begins after its end.
        version = session.read.format("delta").option("versionAsOf", str(change.now_id)).load(table.spark_path)
        return version.where("false").selectExpr(
            *(quote(column.name) for column in table.relation.columns), f"CAST(NULL AS STRING) AS {CHANGE_TYPE}"
        )
    reader = session.read.format("delta").option("readChangeFeed", "true")
    reader = reader.option("startingVersion", str(change.then_id + 1)).option("endingVersion", str(change.now_id))
    names = [column.name for column in table.relation.columns]
    columns = [quote(name) for name in names]
    _refuse_own(names, table.table)
    feed = reader.load(table.spark_path).selectExpr(*columns, CHANGE_TYPE, "_commit_version")
    if change.insert_only:
        return feed.drop("_commit_version")
    # The feed has each version of a row; those between then and now come and go, so they cancel out.
    gone = ", ".join(map(literal, CHANGE_TYPES[Image.BEFORE]))
    keys = [f"to_json(struct({column})) AS __k{at}" for at, column in enumerate(columns)]
    counted = feed.selectExpr(
        *keys, f"struct({', '.join(columns)}) AS __row", f"IF({CHANGE_TYPE} IN ({gone}), -1, 1) AS __side", CHANGE_TYPE
    )
    net = counted.groupBy(*(f"__k{at}" for at in range(len(keys)))).agg(*_net())
    sides = net.where("__n <> 0").selectExpr(
        "explode(array_repeat(__row, CAST(abs(__n) AS int))) AS __row", f"IF(__n > 0, __came, __went) AS {CHANGE_TYPE}"
    )
    return sides.selectExpr(*(f"__row.{column}" for column in columns), CHANGE_TYPE)


def _net() -> list[Column]:
    from pyspark.sql import functions as f

    return [
        f.expr("sum(__side)").alias("__n"),
        f.expr("first(__row)").alias("__row"),
        f.expr(f"min({CHANGE_TYPE}) FILTER (WHERE __side > 0)").alias("__came"),
        f.expr(f"min({CHANGE_TYPE}) FILTER (WHERE __side < 0)").alias("__went"),
    ]


def _refuse_own(names: list[str], table: TableName) -> None:
    if any(name.lower() == CHANGE_TYPE for name in names):
        raise QueryError(
            f"{table} has a column {CHANGE_TYPE} of its own, so tg.changes cannot add one",
            where=str(table),
            remedy=f"Read it with tg.ref, or rename its column {CHANGE_TYPE}.",
        )
