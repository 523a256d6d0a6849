"""The number of each record in its file, of rows that Spark reads in pieces of files.

Spark packs pieces of files into tasks, and a row knows its place in its task. So the rows of each piece are counted,
with the place at which the piece begins, in an aggregate that has one row for each piece; the sums over the pieces
before it are joined by broadcast. Nothing is sorted or shuffled but those counts.

The counting and the reading are two scans, which must pack alike: they see the same list of files, and the number of
tasks among which bytes are divided is fixed, as executors may join in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from tidegate.transform.landing.schemas import column
from tidegate.transform.landing.zone_source import ORDER_FILE, ORDER_LINE, ORDER_PIECE

__all__ = ["number_records"]

_IN_TASK = (1 << 33) - 1
"""The bits of `monotonically_increasing_id` that count the rows of a task; those above them are the task's number."""
_TASKS = "spark.sql.files.minPartitionNum"
_NEVER_DIVIDED = 1 << 20
"""Spark divides no file that is smaller than `openCostInBytes`, by default 4 MiB."""
_DIVIDING = ("spark.sql.files.openCostInBytes", "spark.sql.files.maxPartitionBytes")
_OF_FILE, _OF_PIECE, _OFFSET = "\ufdd0counted_file", "\ufdd0counted_piece", "\ufdd0offset"
_FIRST, _ROWS = "\ufdd0first", "\ufdd0rows"


def number_records(frame: DataFrame, paths: Sequence[Path], in_pieces: bool) -> DataFrame:
    """`frame` has the columns of `ORDER`; its `ORDER_LINE` becomes the number. `in_pieces`: files may be divided."""
    placed = frame.withColumn(ORDER_LINE, column(ORDER_LINE).bitwiseAND(_IN_TASK))
    if len(paths) == 1 and not (in_pieces and _is_divided(frame.sparkSession, paths[0])):
        return placed.withColumn(ORDER_LINE, column(ORDER_LINE) + 1)
    _fix_tasks(frame.sparkSession)
    counted = placed.groupBy(column(ORDER_FILE).alias(_OF_FILE), column(ORDER_PIECE).alias(_OF_PIECE)).agg(
        F.min(column(ORDER_LINE)).alias(_FIRST), F.count("*").alias(_ROWS)
    )
    before = Window.partitionBy(_OF_FILE).orderBy(_OF_PIECE).rowsBetween(Window.unboundedPreceding, -1)
    rows_before = F.coalesce(F.sum(_ROWS).over(before), F.lit(0))
    offsets = counted.select(_OF_FILE, _OF_PIECE, (rows_before - column(_FIRST) + 1).alias(_OFFSET))
    here = (column(ORDER_FILE) == column(_OF_FILE)) & (column(ORDER_PIECE) == column(_OF_PIECE))
    joined = placed.join(F.broadcast(offsets), here, "left")
    uncounted = F.raise_error(F.concat(F.lit("a piece of a landing file was not counted: "), column(ORDER_FILE)))
    offset = F.coalesce(column(_OFFSET), uncounted.cast("bigint"))
    return joined.withColumn(ORDER_LINE, column(ORDER_LINE) + offset).drop(_OF_FILE, _OF_PIECE, _OFFSET)


def _is_divided(session: SparkSession, path: Path) -> bool:
    """Whether it may be."""
    configured = any(session.conf.get(name, None) is not None for name in _DIVIDING)
    return configured or path.stat().st_size > _NEVER_DIVIDED


def _fix_tasks(session: SparkSession) -> None:
    if session.conf.get(_TASKS, None) is None:
        session.conf.set(_TASKS, session.conf.get("spark.sql.shuffle.partitions", None) or "200")
