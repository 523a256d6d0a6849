"""JSON files of a raw zone: every value as the text that was delivered.

Spark reads lines, in pieces of files; its parser cuts a value that is to be a string out of the line as it is written.
It does so nowhere else: documents, and files with lines that cannot be read, are cut up by `json_texts`, one task a
file.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from tidegate.transform.landing.bad_records import SHOWN, BadRecord, BadRecordsError, bad_records_error
from tidegate.transform.landing.json_files import inspect, is_document
from tidegate.transform.landing.json_read import JsonKind, JsonSource, multiline_of
from tidegate.transform.landing.record_numbers import number_records
from tidegate.transform.landing.record_source import FIELDS, FILE, LINE, NUMBER, WHY, RecordFile
from tidegate.transform.landing.schemas import align, column, combine
from tidegate.transform.landing.value_texts import texts_of
from tidegate.transform.landing.zone_source import (
    FormatFiles,
    bad_record_columns,
    file_order,
    path_literal,
    record_frame,
    record_order,
    with_columns,
)

__all__ = ["RawJsonSource"]

_KEY, _BAD = "\ufdd0key", "\ufdd0bad"
_REMEDY = (
    "correct the file, or move it out of the zone; of pages of an API see whether content_path names the place of the "
    "records"
)
_EXACT = "spark.sql.json.enableExactStringParsing"
"""Spark's default, without which it would write a value once more."""
_CUT_UP = (JsonKind.DOCUMENTS, JsonKind.RECORDS)


class RawJsonSource(JsonSource):
    def __init__(self, session: SparkSession, files: FormatFiles) -> None:
        self._settings = files.settings
        self._any_bad = False
        self._spellings: dict[str, list[str]] = {}
        """Of each key of the records that are cut up, by its folded case."""

        self._records_of_files: DataFrame | None = None
        super().__init__(session, replace(files, declared=None))

    def load(self, target: StructType, ordered: bool = False) -> list[DataFrame]:
        frames = []
        if lines := self._groups.get(JsonKind.LINES):
            schema = self._spelled(JsonKind.LINES, target)
            order = file_order(ordered=True)
            # Without any column, Spark would not look into the lines.
            schema = schema if schema.fields else StructType([StructField(_KEY, StringType())])
            self._session.conf.set(_EXACT, "true")
            frame = self._reader(JsonKind.LINES).schema(schema).json([path_literal(path) for path in lines])
            rows = align(with_columns(frame, order), target, order)
            frames.append(number_records(rows, lines, in_pieces=True))
        if self._files():
            values = [
                F.coalesce(*(column(FIELDS)[key] for key in self._spellings[field.name.casefold()])).alias(field.name)
                for field in target.fields
                if field.name.casefold() in self._spellings
            ]
            order = record_order(ordered=True)
            good = self._cut_up().where(column(WHY).isNull())
            frames.append(align(good.select(*values, *(v.alias(name) for name, v in order.items())), target, order))
        return frames

    def bad_records(self, target: StructType) -> list[DataFrame]:
        if not self._any_bad:
            return []
        bad = self._cut_up().where(column(WHY).isNotNull())
        return [bad.select(*bad_record_columns(F.array(column(WHY)), F.array().cast("array<string>")))]

    def _kind(self, path: Path, multiline: bool | None) -> JsonKind | None:
        in_pages = bool(self._settings.content_path)
        document = is_document(path, multiline_of(self._settings), page=in_pages)
        if document or document is None:
            return JsonKind.DOCUMENTS if document else None
        if in_pages:
            return JsonKind.RECORDS
        try:
            inspect(path, multiline=False)
        except BadRecordsError as error:
            if not self._quarantines or path not in error.paths:
                raise
            return JsonKind.RECORDS
        return JsonKind.LINES

    def _infer(self, before: StructType | None) -> StructType:
        """The keys of all records, which are the names of the columns; broken records are found before rows are
        read."""
        while JsonKind.LINES in self._groups:
            try:
                self._schemas[JsonKind.LINES] = texts_of(self._infer_group(JsonKind.LINES, all_null=True))
                break
            except BadRecordsError as error:
                self._schemas.pop(JsonKind.LINES, None)
                if not self._quarantines or not self._set_apart(error.paths):
                    raise
        if self._files():
            self._schemas[JsonKind.RECORDS] = self._keys()
        return combine(self._schemas.values())

    def _keys(self) -> StructType:
        """One pass over all records, for their keys and the number of bad ones."""
        pairs = self._cut_up().select(F.explode_outer(F.map_keys(column(FIELDS))).alias(_KEY), column(WHY))
        rows = pairs.groupBy(_KEY).agg(F.count(column(WHY)).alias(_BAD)).orderBy(_KEY).collect()
        total = sum(row[_BAD] for row in rows)
        if total and not self._quarantines:
            raise self._error(total)
        self._any_bad = total > 0
        keys = [row[_KEY] for row in rows if row[_KEY] is not None]
        for key in keys:
            self._spellings.setdefault(key.casefold(), []).append(key)
        return StructType([StructField(spelled[0], StringType()) for spelled in self._spellings.values()])

    def _error(self, total: int) -> BadRecordsError:
        bad = self._cut_up().where(column(WHY).isNotNull()).orderBy(FILE, NUMBER)
        rows = bad.select(FILE, LINE, WHY).limit(SHOWN).collect()
        return bad_records_error([BadRecord(Path(row[FILE]), row[LINE], row[WHY]) for row in rows], total, _REMEDY)

    def _files(self) -> list[RecordFile]:
        """Those that Spark does not read itself."""
        return [
            RecordFile(
                os.path.abspath(path),
                texts=True,
                document=kind is JsonKind.DOCUMENTS,
                content_path=self._settings.content_path or None,
            )
            for kind in _CUT_UP
            for path in self._groups.get(kind, ())
        ]

    def _cut_up(self) -> DataFrame:
        """One frame for all that is read of it: each new one takes processes of Python to be understood."""
        if self._records_of_files is None:
            self._records_of_files = record_frame(self._session, self._files())
        return self._records_of_files
