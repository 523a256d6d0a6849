"""Files of any formats → one frame: the columns of all formats, joined by name, with rows in order of arrival if asked.

Spark packs files and pieces of files into tasks by size. So every row is marked with where its piece begins, counted
over all files in their order, and with its place in the piece; rows are sorted by both. One file needs nothing: its
pieces are tasks in their own order. Few bytes are sorted by one task, without a shuffle; more go to tasks by ranges of
bytes, which needs no sample of the rows, as the sizes of the files are known.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

from pyspark.errors import ParseException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from tidegate.config import ZoneSettings
from tidegate.errors import LandingError
from tidegate.names import quote
from tidegate.project.landing_files import ZoneFile, files_by_format
from tidegate.transform.landing.bad_records import UnreadableFileError
from tidegate.transform.landing.csv_read import CsvSource
from tidegate.transform.landing.json_raw import RawJsonSource
from tidegate.transform.landing.json_read import JsonSource
from tidegate.transform.landing.landing_errors import local_path
from tidegate.transform.landing.parquet_read import ParquetSource
from tidegate.transform.landing.schemas import align, combine, ddl, known, nullable, settle
from tidegate.transform.landing.zone_source import (
    ORDER,
    ORDER_FILE,
    ORDER_LINE,
    ORDER_PIECE,
    FormatFiles,
    UnreadableFiles,
    ZoneSource,
)

__all__ = ["ZoneFrame", "open_sources", "read_delivery", "rows_in_order", "sorted_by_place"]


_FORMATS: Mapping[str, type[ZoneSource]] = {"csv": CsvSource, "json": JsonSource, "parquet": ParquetSource}
_RAW_FORMATS: Mapping[str, type[ZoneSource]] = {**_FORMATS, "json": RawJsonSource}


@dataclass(frozen=True, slots=True)
class ZoneFrame:
    """What was read of a zone.

    `columns`: DDL of the frame, to be known next time.
    `notes`: for the user.
    `bad_records`: what was left out, as `BAD_RECORD_SCHEMA`; None where every record can be read.
    """

    frame: DataFrame
    columns: str
    notes: tuple[str, ...] = ()
    bad_records: DataFrame | None = None


def read_delivery(
    session: SparkSession,
    folder: Path,
    files: Sequence[ZoneFile],
    settings: ZoneSettings,
    known_columns: str | None,
    in_order: bool = False,
) -> ZoneFrame:
    # An absolute path, as Spark has it: its paths are compared with these.
    folder = Path(os.path.abspath(folder))
    declared = _declared(folder, settings)
    before = known(known_columns)
    sources = open_sources(session, folder, files, settings, declared, before)
    schemas = [source.schema for source in sources]
    target = declared if declared is not None else settle(combine(([before] if before else []) + schemas))
    if not target.fields:
        raise _no_columns(folder, files)
    if in_order:
        frames = rows_in_order(session, sources, target, folder, files)
    else:
        frames = [frame for source in sources for frame in source.load(target)]
    frame = reduce(DataFrame.union, frames) if frames else align(session.range(0).drop("id"), target)
    bad = [frame for source in sources for frame in source.bad_records(target)]
    notes = tuple(note for source in sources for note in source.notes)
    return ZoneFrame(frame, ddl(target), notes, reduce(DataFrame.union, bad) if bad else None)


def open_sources(
    session: SparkSession,
    folder: Path,
    files: Sequence[ZoneFile],
    settings: ZoneSettings,
    declared: StructType | None,
    before: StructType | None,
) -> list[ZoneSource]:
    """The files by format, looked through for their columns. `declared` of a raw zone names columns by place alone.

    A raw zone with quarantine leaves out files of which nothing can be read: no setting could make them readable, and
    others go on arriving."""
    formats = _RAW_FORMATS if settings.raw else _FORMATS
    sources: list[ZoneSource] = []
    for kind, group in files_by_format(folder, sorted(files), settings.format).items():
        paths = [folder / file.path for file in group]
        while paths:
            try:
                sources.append(formats[kind](session, FormatFiles(paths, settings, declared, before)))
                break
            except UnreadableFileError as error:
                if not settings.raw or not settings.quarantines:
                    raise
                sources.append(UnreadableFiles(session, error.files))
                left_out = {file.path for file in error.files}
                paths = [path for path in paths if path not in left_out]
    return sources


def _declared(folder: Path, settings: ZoneSettings) -> StructType | None:
    if not settings.columns:
        return None
    fields = []
    for name, kind in settings.columns.items():
        try:
            (field,) = StructType.fromDDL(f"{quote(name)} {kind}").fields
        except (ParseException, ValueError) as error:
            raise LandingError(
                f"'{kind}' is not a Spark type (column '{name}' of landing zone '{folder.name}')",
                where=f"[landing.{folder.name}] columns",
                remedy="write a type such as string, bigint, decimal(10,2), date or timestamp",
            ) from error
        fields.append(StructField(name, nullable(field.dataType)))
    return StructType(fields)


def _no_columns(folder: Path, files: Sequence[ZoneFile]) -> LandingError:
    what = "has no files yet" if not files else f"has files without any column ({files[0].path})"
    return LandingError(
        f"landing zone '{folder.name}' {what}",
        where=str(folder),
        remedy=f"declare columns in [landing.{folder.name}], or put a file with data there",
    )


BYTES_OF_A_TASK = 32 << 20

_START = "\ufdd0start"


def rows_in_order(
    session: SparkSession, sources: Sequence[ZoneSource], target: StructType, folder: Path, files: Sequence[ZoneFile]
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
    return [sorted_by_place(placed, F.col(_START), total).drop(*ORDER, _START)]


def _with_start(session: SparkSession, frame: DataFrame, starts: dict[str, int]) -> DataFrame:
    listed = json.dumps([{"file": file, "start": start} for file, start in starts.items()])
    start_rows = session.range(1).select(
        F.inline(F.from_json(F.lit(listed), "array<struct<file: string, start: bigint>>")).alias("\ufdd0named", _START)
    )
    joined = frame.join(F.broadcast(start_rows), F.col(ORDER_FILE) == F.col("\ufdd0named"), "left")
    unknown = F.raise_error(F.concat(F.lit("a landing file was not listed: "), F.col(ORDER_FILE)))
    return joined.withColumn(_START, F.coalesce(F.col(_START), unknown.cast("bigint")) + F.col(ORDER_PIECE)).drop(
        "\ufdd0named"
    )


def sorted_by_place(frame: DataFrame, start: Column, total: int) -> DataFrame:
    """`start`: of a row's piece, counted over the `total` bytes of all files."""
    tasks = -(-total // BYTES_OF_A_TASK)
    if tasks < 2:
        return frame.coalesce(1).sortWithinPartitions(start, ORDER_LINE)
    task = F.floor(start / F.lit(BYTES_OF_A_TASK)).cast("int")
    return frame.repartitionById(tasks, task).sortWithinPartitions(start, ORDER_LINE)
