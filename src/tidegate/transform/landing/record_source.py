"""Files with bad records as a data source of Spark: one row for each record.

Spark's own readers cannot say on which line a record stands, and those of CSV give up at broken quotes. Only the
splitting happens here, on Spark's executors, one task a file; what a good record means is still decided by Spark's
parsers. Plans and tasks that read such files are processes which import this module first, so it imports little.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from tidegate.transform.landing.csv_dialect import Dialect
from tidegate.transform.landing.csv_files import csv_records, what_is_wrong
from tidegate.transform.landing.json_files import json_records
from tidegate.transform.landing.json_texts import TextRecord, document_texts, line_texts

__all__ = ["FIELDS", "FILE", "LINE", "NUMBER", "TEXT", "WHY", "RecordFile", "RecordSource"]

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
