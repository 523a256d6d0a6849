"""Files that hold bad records, as one row for each record: Spark's own readers cannot say on which line one stands, and
those of CSV give up at broken quotes. Only the splitting happens here, on Spark's executors, one task a file; what a
good record means is still decided by Spark's parsers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from tidegate.transform.landing.csv_dialect import Dialect
from tidegate.transform.landing.csv_records import csv_records, what_is_wrong
from tidegate.transform.landing.json_files import json_records

__all__ = ["FILE", "LINE", "TEXT", "WHY", "RecordFile", "record_frame"]

FILE, LINE, TEXT, WHY = "\ufdd0record_file", "\ufdd0record_line", "\ufdd0record_text", "\ufdd0record_why"
_SHOWN_TEXT = 1 << 20
"""Of a record that cannot be read so many characters are retained: a quote that is never closed makes it the rest of a
file."""


@dataclass(frozen=True, slots=True)
class RecordFile:
    """`dialect` None: lines of JSON. `width`: the fields that a CSV record must have; `header`: its first has names."""

    path: str
    dialect: Dialect | None = None
    width: int = 0
    header: bool = False


Record = tuple[int, str, str | None]
"""Line, text, and why it cannot be read."""


class _File(InputPartition):  # type: ignore[misc]
    """One task of Spark."""

    def __init__(self, file: RecordFile) -> None:
        super().__init__(None)
        self.file = file


class _Reader(DataSourceReader):  # type: ignore[misc]
    def __init__(self, files: Sequence[RecordFile]) -> None:
        self._files = files

    def partitions(self) -> Sequence[InputPartition]:
        return [_File(file) for file in self._files]

    def read(self, partition: InputPartition) -> Iterator[tuple[str, int, str, str | None]]:
        assert isinstance(partition, _File)
        for line, text, why in _records(partition.file):
            yield partition.file.path, line, text, why


class RecordSource(DataSource):  # type: ignore[misc]
    """The records of files as a data source of Spark, which takes them one after the other: a file may be large."""

    @classmethod
    def name(cls) -> str:
        return "tidegate_records"

    def schema(self) -> str:
        return f"`{FILE}` string, `{LINE}` bigint, `{TEXT}` string, `{WHY}` string"

    def reader(self, schema: StructType) -> DataSourceReader:
        return _Reader([_decoded(file) for file in json.loads(self.options["files"])])


def record_frame(session: SparkSession, files: Sequence[RecordFile]) -> DataFrame:
    """By file, in the order of its records: path, line, text, and why a record is malformed (NULL: it is not)."""
    session.dataSource.register(RecordSource)
    listed = json.dumps([asdict(file) for file in files])
    return session.read.format(RecordSource.name()).option("files", listed).load()


def _decoded(file: dict[str, Any]) -> RecordFile:
    dialect = file.pop("dialect")
    return RecordFile(**file, dialect=Dialect(**dialect) if dialect else None)


def _records(file: RecordFile) -> Iterator[Record]:
    for line, text, why in json_records(Path(file.path)) if file.dialect is None else _of_csv(file, file.dialect):
        cut = why is not None and len(text) > _SHOWN_TEXT
        yield line, f"{text[:_SHOWN_TEXT]}…" if cut else text, why


def _of_csv(file: RecordFile, dialect: Dialect) -> Iterator[Record]:
    records = csv_records(Path(file.path), dialect)
    if file.header:
        next(records, None)
    for record in records:
        yield record.line, record.text, what_is_wrong(record, file.width)
