"""The rows of landing files in the order in which they arrived: by file, in a given order, then by line.

Spark packs files and pieces of files into tasks by size. So every row is marked with where its piece begins, counted
over all files in their order, and with its place in the piece; rows are sorted by both. One file needs nothing: its
pieces are tasks in their own order. Few bytes are sorted by one task, without a shuffle; more go to tasks by ranges of
bytes, which needs no sample of the rows, as the sizes of the files are known.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from tidegate.project.landing_files import ZoneFile
from tidegate.transform.landing.failures import local_path
from tidegate.transform.landing.source import ORDER, ORDER_FILE, ORDER_LINE, ORDER_PIECE, Source

__all__ = ["rows_in_order"]

BYTES_OF_A_TASK = 32 << 20

_START = "\ufdd0start"


def rows_in_order(
    session: SparkSession, sources: Sequence[Source], target: StructType, folder: Path, files: Sequence[ZoneFile]
) -> list[DataFrame]:
    """Frames of exactly the columns of `target`: no more than one, unless the order is there without it."""
    if len(files) < 2:
        return [frame for source in sources for frame in source.load(target)]
    starts: dict[str, int] = {}
    total = 0
    for file in files:
        starts[os.path.abspath(folder / file.path)] = total
        total += file.size
    frames = [frame for source in sources for frame in source.load(target, ordered=True)]
    if not frames:
        return []
    everything = frames[0]
    for frame in frames[1:]:
        everything = everything.union(frame)
    uris = {uri.replace("file:///", "file:/", 1) for frame in frames for uri in frame.inputFiles()}
    # A file that is read record by record is named by its path.
    placed = _with_start(session, everything, {**starts, **{uri: starts[str(local_path(uri))] for uri in uris}})
    return [_sorted(placed, total).drop(*ORDER, _START)]


def _with_start(session: SparkSession, frame: DataFrame, starts: dict[str, int]) -> DataFrame:
    listed = json.dumps([{"file": file, "start": start} for file, start in starts.items()])
    known = session.range(1).select(
        F.inline(F.from_json(F.lit(listed), "array<struct<file: string, start: bigint>>")).alias("\ufdd0named", _START)
    )
    joined = frame.join(F.broadcast(known), F.col(ORDER_FILE) == F.col("\ufdd0named"), "left")
    unknown = F.raise_error(F.concat(F.lit("a landing file was not listed: "), F.col(ORDER_FILE)))
    return joined.withColumn(_START, F.coalesce(F.col(_START), unknown.cast("bigint")) + F.col(ORDER_PIECE)).drop(
        "\ufdd0named"
    )


def _sorted(frame: DataFrame, total: int) -> DataFrame:
    tasks = -(-total // BYTES_OF_A_TASK)
    if tasks < 2:
        return frame.coalesce(1).sortWithinPartitions(_START, ORDER_LINE)
    task = F.floor(F.col(_START) / F.lit(BYTES_OF_A_TASK)).cast("int")
    return frame.repartitionById(tasks, task).sortWithinPartitions(_START, ORDER_LINE)
