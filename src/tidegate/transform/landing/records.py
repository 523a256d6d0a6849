"""Files that hold bad records, as one row for each record: Spark's own readers cannot say on which line one stands, and
those of CSV give up at broken quotes. Only the splitting happens here, on Spark's executors, one task a file; what a
good record means is still decided by Spark's parsers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

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


class _Records:
    """A table function of Spark: the number of a file → its records."""

    def __init__(self, files: Sequence[RecordFile]) -> None:
        self._files = files

    def eval(self, number: int) -> Iterator[tuple[str, int, str, str | None]]:
        file = self._files[number]
        for line, text, why in _records(file):
            yield file.path, line, text, why


def record_frame(session: SparkSession, files: Sequence[RecordFile]) -> DataFrame:
    """In the order of the files' records: path, line, text, and why a record is malformed (NULL: it is not)."""
    from pyspark.sql import functions as f

    chosen = tuple(files)

    class RecordsOfFiles(_Records):
        def __init__(self) -> None:
            super().__init__(chosen)

    schema = f"`{FILE}` string, `{LINE}` bigint, `{TEXT}` string, `{WHY}` string"
    table = f.udtf(RecordsOfFiles, returnType=schema)
    numbers = session.range(0, len(files), 1, len(files))
    return numbers.lateralJoin(table(f.col("id").outer())).drop("id")


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
