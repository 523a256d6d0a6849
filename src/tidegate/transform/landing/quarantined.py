"""Records of a delivery that cannot be read, on their way to a model's quarantine."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.compiler.table_columns import SOURCE_FILE
from tidegate.project.landing_files import ZoneFile
from tidegate.write.request import BadRecords

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["bad_records_of", "union_bad_records"]


def bad_records_of(
    session: SparkSession, folder: Path, records: DataFrame | None, new: Sequence[ZoneFile]
) -> BadRecords:
    """A file is named by its zone and its path there. `records` None: there are no bad ones."""
    from pyspark.sql import functions as f

    from tidegate.transform.landing.source import BAD_RECORD_SCHEMA

    names = frozenset(f"{folder.name}/{file.path}" for file in new)
    if records is None:
        return BadRecords(session.createDataFrame([], BAD_RECORD_SCHEMA), names)
    outside = len(os.path.abspath(folder.parent)) + 1
    name = f.substr(f.col(SOURCE_FILE), f.lit(outside + 1))
    return BadRecords(records.withColumn(SOURCE_FILE, name), names)


def union_bad_records(every: Iterable[BadRecords]) -> BadRecords | None:
    batches = list(every)
    if not batches:
        return None
    frame = reduce(lambda one, other: one.union(other), (batch.frame for batch in batches))
    return BadRecords(frame, frozenset[str]().union(*(batch.new_files for batch in batches)))
