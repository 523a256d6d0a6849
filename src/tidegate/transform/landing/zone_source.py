"""What the readers of the formats have in common; and files with bad records, as one row for each record.

Spark's own readers cannot say on which line a record stands, and those of CSV give up at broken quotes. Only the
splitting happens here, on Spark's executors, one task a file; what a good record means is still decided by Spark's
parsers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType

from tidegate.compiler.table_columns import ABOUT_BAD_RECORDS, ABOUT_REFUSED
from tidegate.config import ZoneSettings
from tidegate.transform.landing.bad_records import BadRecord
from tidegate.transform.landing.csv_dialect import Dialect
from tidegate.transform.landing.csv_files import csv_records, what_is_wrong
from tidegate.transform.landing.json_files import json_records
from tidegate.transform.landing.json_texts import TextRecord, document_texts, line_texts
from tidegate.transform.landing.schemas import column

__all__ = [
    "BAD_RECORD_SCHEMA",
    "FIELDS",
    "FILE",
    "LINE",
    "ORDER",
    "ORDER_FILE",
    "ORDER_LINE",
    "ORDER_PIECE",
    "TEXT",
    "WHY",
    "FormatFiles",
    "RecordFile",
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


FILE, LINE, TEXT, WHY = "\ufdd0record_file", "\ufdd0record_line", "\ufdd0record_text", "\ufdd0record_why"
NUMBER, FIELDS = "\ufdd0record_number", "\ufdd0record_fields"
_SHOWN_TEXT = 1 << 20
"""Of a record that cannot be read so many characters are retained: a quote that is never closed makes it the rest of a
file."""


@dataclass(frozen=True, slots=True)
class RecordFile:
    """`dialect` None: JSON."""

    path: str
    dialect: Dialect | None = None

    width: int = 0
    """The fields that a CSV record must have."""

    header: bool = False
    """The first record of CSV has names."""

    texts: bool = False
    """JSON whose values are given as the text that was delivered."""

    document: bool = False
    """It is one document, which only `texts` can read; else it has lines."""

    content_path: str | None = None
    """Where the records are in each document."""


Record = tuple[int, str | None, str | None, Mapping[str, str | None] | None]
"""Line, text, why it cannot be read, and its values where they are given as texts."""


class _File(InputPartition):  # type: ignore[misc]
    """One task of Spark."""

    def __init__(self, file: RecordFile) -> None:
        super().__init__(None)
        self.file = file


class _RecordReader(DataSourceReader):  # type: ignore[misc]
    def __init__(self, files: Sequence[RecordFile]) -> None:
        self._files = files

    def partitions(self) -> Sequence[InputPartition]:
        return [_File(file) for file in self._files]

    def read(self, partition: InputPartition) -> Iterator[tuple[str, int, int, str | None, str | None, Any]]:
        assert isinstance(partition, _File)
        for number, (line, text, why, fields) in enumerate(_records(partition.file), 1):
            yield partition.file.path, number, line, text, why, fields


class RecordSource(DataSource):  # type: ignore[misc]
    """The records of files as a data source of Spark, which takes them one after the other: a file may be large."""

    @classmethod
    def name(cls) -> str:
        return "tidegate_records"

    def schema(self) -> str:
        numbers = f"`{NUMBER}` bigint, `{LINE}` bigint"
        return f"`{FILE}` string, {numbers}, `{TEXT}` string, `{WHY}` string, `{FIELDS}` map<string, string>"

    def reader(self, schema: StructType) -> DataSourceReader:
        return _RecordReader([_decoded(file) for file in json.loads(self.options["files"])])


def record_frame(session: SparkSession, files: Sequence[RecordFile]) -> DataFrame:
    """By file, in the order of its records: path, number, line, text, why a record is malformed (NULL: it is not), and
    its values by key where they are read as texts."""
    session.dataSource.register(RecordSource)
    listed = json.dumps([asdict(file) for file in files])
    return session.read.format(RecordSource.name()).option("files", listed).load()


def _decoded(file: dict[str, Any]) -> RecordFile:
    dialect = file.pop("dialect")
    return RecordFile(**file, dialect=Dialect(**dialect) if dialect else None)


def _records(file: RecordFile) -> Iterator[Record]:
    if file.texts:
        for record in _texts(file):
            yield record.line, _cut(record.text), record.why, record.fields
        return
    for line, text, why in json_records(Path(file.path)) if file.dialect is None else _of_csv(file, file.dialect):
        yield line, _cut(text) if why is not None else text, why, None


def _cut(text: str | None) -> str | None:
    return f"{text[:_SHOWN_TEXT]}…" if text is not None and len(text) > _SHOWN_TEXT else text


def _texts(file: RecordFile) -> Iterator[TextRecord]:
    read = document_texts if file.document else line_texts
    return read(Path(file.path), file.content_path)


def _of_csv(file: RecordFile, dialect: Dialect) -> Iterator[tuple[int, str, str | None]]:
    records = csv_records(Path(file.path), dialect)
    if file.header:
        next(records, None)
    for record in records:
        yield record.line, record.text, what_is_wrong(record, file.width)
