"""Landing files as rows of bronze: text as delivered, and where each row comes from (`ABOUT_DELIVERED`).

A column that a file lacks is NULL, one that is new is added, and no value is of a wrong type. What the source itself
says of a row, its operation, its commit time and its place in the source's log, is taken from columns of the file that
are named so; a commit time that is no timestamp counts as none.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import reduce
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

from tidegate.compiler.table_columns import ABOUT_DELIVERED, FROM_SOURCE
from tidegate.config import ZoneSettings
from tidegate.errors import LandingError
from tidegate.project.landing_files import ZoneFile
from tidegate.transform.landing.delivery import Delivery
from tidegate.transform.landing.landing_errors import local_path
from tidegate.transform.landing.schemas import align, by_name, column, combine, ddl, known
from tidegate.transform.landing.value_texts import texts_of
from tidegate.transform.landing.zone_frame import ZoneFrame, open_sources, sorted_by_place
from tidegate.transform.landing.zone_source import ORDER_FILE, ORDER_LINE, ORDER_PIECE

__all__ = ["read_bronze"]

_EPOCH = datetime.fromtimestamp(0, UTC)
_READ = "read"
"""The operation of rows that no log delivered."""
_KEY, _NAME, _ORDINAL, _START = "\ufdd0key", "\ufdd0name", "\ufdd0ordinal", "\ufdd0start"
_RUN, _MICROS = "\ufdd0run", "\ufdd0micros"
_TEXTS, _NUMBERS = (_NAME, _RUN), (_ORDINAL, _START, _MICROS)
_FIELDS = [*(f"`{name}`: string" for name in (_KEY, *_TEXTS)), *(f"`{name}`: bigint" for name in _NUMBERS)]
_PLACES = f"array<struct<{', '.join(_FIELDS)}>>"


def read_bronze(
    session: SparkSession,
    folder: Path,
    files: Sequence[ZoneFile],
    settings: ZoneSettings,
    known_columns: str | None,
    in_order: bool,
    delivery: Delivery,
) -> ZoneFrame:
    """`files` in the order of arrival."""
    folder = Path(os.path.abspath(folder))
    declared = StructType([StructField(name, StringType()) for name in settings.columns or ()])
    before = texts_of(known(known_columns))
    sources = open_sources(session, folder, files, settings, declared, before)
    found = by_name(combine([declared, before, *(source.schema for source in sources)]))
    _refuse_own_names(folder, found)
    columns = StructType([field for key, field in found.items() if key not in FROM_SOURCE])
    said = StructType([StructField(name, StringType()) for name in FROM_SOURCE if name in found])
    target = StructType([*columns.fields, *said.fields])
    frames = [frame for source in sources for frame in source.load(target, ordered=True)]
    rows = _placed(session, frames, folder, files, delivery) if frames else _nothing(session, target)
    if in_order and frames and len(files) > 1:
        rows = sorted_by_place(rows, column(_START) + column(ORDER_PIECE), sum(file.size for file in files))
    about = _about(frozenset(said.fieldNames()))
    frame = rows.select(
        *(column(field.name) for field in columns.fields),
        *(about[each.name].alias(each.name) for each in ABOUT_DELIVERED),
    )
    bad = [records for source in sources for records in source.bad_records(target)]
    notes = tuple(note for source in sources for note in source.notes)
    return ZoneFrame(frame, ddl(columns), notes, reduce(DataFrame.union, bad) if bad else None)


def _refuse_own_names(folder: Path, found: dict[str, StructField]) -> None:
    for about in ABOUT_DELIVERED:
        if about.name not in FROM_SOURCE and about.name in found:
            raise LandingError(
                f"the files of landing zone '{folder.name}' have a column '{found[about.name].name}', which is the "
                "name of a column that Tidegate adds to each row",
                where=str(folder),
                remedy="give the column another name where the files are written, for example without the underscore",
            )


def _about(said: frozenset[str]) -> dict[str, Column]:
    ingested_at = F.timestamp_micros(column(_MICROS))
    sequence = F.format_string("%08d-%012d", column(_ORDINAL), column(ORDER_LINE))
    values = {
        "_ingested_at": ingested_at,
        "_source_file": column(_NAME),
        "_source_row": column(ORDER_LINE),
        "_run_id": column(_RUN),
        "_op": F.lit(_READ),
        "_commit_time": ingested_at,
        "_sequence": sequence,
    }
    for name in said:
        own = column(name).try_cast("timestamp") if name == "_commit_time" else column(name)
        values[name] = F.coalesce(own, values[name])
    return values


def _nothing(session: SparkSession, target: StructType) -> DataFrame:
    texts = [StructField(name, StringType()) for name in (ORDER_FILE, *_TEXTS)]
    numbers = [StructField(name, LongType()) for name in (ORDER_PIECE, ORDER_LINE, *_NUMBERS)]
    return align(session.range(0).drop("id"), StructType([*target.fields, *texts, *numbers]))


def _placed(
    session: SparkSession, frames: Sequence[DataFrame], folder: Path, files: Sequence[ZoneFile], delivery: Delivery
) -> DataFrame:
    """The rows with the name of their file, its run, its number among the files of that run, and the bytes of all files
    before it."""
    places: dict[str, dict[str, object]] = {}
    start, of_run = 0, Counter[str]()
    for file in files:
        run = delivery.run_of(file.path)
        of_run[run.id] += 1
        places[os.path.abspath(folder / file.path)] = {
            _NAME: f"{delivery.zone or folder.name}/{file.path}",
            _RUN: run.id,
            _ORDINAL: of_run[run.id],
            _START: start,
            _MICROS: (run.started_at - _EPOCH) // timedelta(microseconds=1),
        }
        start += file.size
    # Spark names a file by its URI; one that is read record by record is named by its path.
    uris = {uri.replace("file:///", "file:/", 1) for frame in frames for uri in frame.inputFiles()}
    places |= {uri: places[str(local_path(uri))] for uri in uris}
    listed = json.dumps([{_KEY: key, **place} for key, place in places.items()])
    table = session.range(1).select(F.inline(F.from_json(F.lit(listed), _PLACES)))
    joined = reduce(DataFrame.union, frames).join(F.broadcast(table), column(ORDER_FILE) == column(_KEY), "left")
    unknown = F.raise_error(F.concat(F.lit("a landing file was not listed: "), column(ORDER_FILE)))
    return joined.withColumn(_NAME, F.coalesce(column(_NAME), unknown)).drop(_KEY)
