"""What the readers of the formats have in common."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType

from tidegate.compiler.table_columns import ABOUT_BAD_RECORDS, ABOUT_REFUSED
from tidegate.config import ZoneSettings
from tidegate.transform.landing.bad_records import BadRecord
from tidegate.transform.landing.record_source import FILE, LINE, NUMBER, TEXT, RecordFile, RecordSource
from tidegate.transform.landing.schemas import column

__all__ = [
    "BAD_RECORD_SCHEMA",
    "ORDER",
    "ORDER_FILE",
    "ORDER_LINE",
    "ORDER_PIECE",
    "FormatFiles",
    "UnreadableFiles",
    "ZoneSource",
    "bad_record_columns",
    "file_order",
    "looks_like_pattern",
    "path_literal",
    "record_frame",
    "record_order",
    "with_columns",
]


_PATTERN = re.compile(r"[{}\[\]*?\\]")

ORDER_FILE, ORDER_PIECE, ORDER_LINE = "\ufdd0of_file", "\ufdd0of_piece", "\ufdd0of_line"
ORDER = (ORDER_FILE, ORDER_PIECE, ORDER_LINE)
"""Where a row was read: its file, where the piece of the file begins, a number that grows within the piece. In a raw
zone that is the number of the record in its file, from 1, among all records, those that cannot be read included."""

BAD_RECORD_SCHEMA = StructType(
    [
        StructField(name, kind)
        for name, kind in zip(
            (column.name for column in (*ABOUT_REFUSED[:2], *ABOUT_BAD_RECORDS)),
            (ArrayType(StringType()), ArrayType(StringType()), StringType(), LongType(), StringType()),
            strict=True,
        )
    ]
)
"""The columns of records that cannot be read."""


@dataclass(frozen=True, slots=True)
class FormatFiles:
    """Files of one format, and what is known of their columns."""

    paths: Sequence[Path]
    settings: ZoneSettings
    declared: StructType | None
    """These columns, and no others, are read."""

    before: StructType | None
    """The columns known from earlier files."""


class ZoneSource:
    """Files of one format.

    `schema`: the columns that they have (or were declared to have); void where there is no value.
    `notes`: for the user.
    """

    schema: StructType
    notes: tuple[str, ...] = ()

    def __init__(self, session: SparkSession, files: FormatFiles) -> None:
        raise NotImplementedError

    def load(self, target: StructType, ordered: bool = False) -> list[DataFrame]:
        """The rows, in frames that have the columns of `target`, and with `ordered` those of `ORDER` behind them."""
        raise NotImplementedError

    def bad_records(self, target: StructType) -> list[DataFrame]:
        """What `load` leaves out, as `BAD_RECORD_SCHEMA`; a zone without quarantine has none, because `load` raises."""
        return []


_LEFT_OUT = "; the whole file is left out"


class UnreadableFiles(ZoneSource):
    """Files of which nothing can be read: each is one bad record, without a text."""

    schema = StructType([])

    def __init__(self, session: SparkSession, files: Sequence[BadRecord]) -> None:
        self._session, self._files = session, files

    def load(self, target: StructType, ordered: bool = False) -> list[DataFrame]:
        return []

    def bad_records(self, target: StructType) -> list[DataFrame]:
        nothing: list[str] = []
        rows = [([f"{file.why}{_LEFT_OUT}"], nothing, str(file.path), file.line, None) for file in self._files]
        return [self._session.createDataFrame(rows, BAD_RECORD_SCHEMA)]


def file_order(ordered: bool) -> dict[str, Column]:
    """Of rows that one of Spark's readers gives."""
    if not ordered:
        return {}
    places = (F.col("_metadata.file_path"), F.col("_metadata.file_block_start"), F.monotonically_increasing_id())
    return dict(zip(ORDER, places, strict=True))


def record_order(ordered: bool) -> dict[str, Column]:
    """Of rows that were read record by record."""
    places = (column(FILE), F.lit(0).cast("bigint"), column(NUMBER))
    return dict(zip(ORDER, places, strict=True)) if ordered else {}


def bad_record_columns(reasons: Column, columns: Column) -> list[Column]:
    """`BAD_RECORD_SCHEMA` of rows that were read record by record."""
    values = (reasons, columns, column(FILE), column(LINE), column(TEXT))
    return [value.alias(field) for value, field in zip(values, BAD_RECORD_SCHEMA.fieldNames(), strict=True)]


def with_columns(frame: DataFrame, more: Mapping[str, Column]) -> DataFrame:
    """A frame as it was read, with more columns beside its own."""
    return frame.select("*", *(value.alias(name) for name, value in more.items()))


def path_literal(path: Path | str) -> str:
    """The path as Spark must be given it: names, not patterns. (Its switch for that reads files several times.)"""
    return _PATTERN.sub(r"\\\g<0>", str(path))


def looks_like_pattern(path: Path) -> bool:
    return _PATTERN.search(str(path)) is not None


def record_frame(session: SparkSession, files: Sequence[RecordFile]) -> DataFrame:
    """By file, in the order of its records: path, number, line, text, why a record is malformed (NULL: it is not), and
    its values by key where they are read as texts."""
    session.dataSource.register(RecordSource)
    listed = json.dumps([asdict(file) for file in files])
    return session.read.format(RecordSource.name()).option("files", listed).load()
