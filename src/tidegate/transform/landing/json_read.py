"""JSON files: lines and documents, with Spark's own types over all values of the batch."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, NullType, StringType, StructField, StructType

from tidegate.config import ZoneSettings
from tidegate.config.file_formats import FILE_FORMATS
from tidegate.errors import LandingError
from tidegate.transform.landing.bad_records import (
    BadRecordsError,
    bad_records_error,
    bad_records_of_files,
    look_at_each,
)
from tidegate.transform.landing.json_files import broken_records, inspect
from tidegate.transform.landing.landing_errors import local_path
from tidegate.transform.landing.record_source import TEXT, WHY, RecordFile
from tidegate.transform.landing.schemas import align, by_name, column, combine, nullable, respell
from tidegate.transform.landing.value_texts import texts_of
from tidegate.transform.landing.zone_source import (
    FormatFiles,
    ZoneSource,
    bad_record_columns,
    file_order,
    looks_like_pattern,
    path_literal,
    record_frame,
    record_order,
    with_columns,
)

__all__ = ["JsonKind", "JsonSource", "multiline_of"]

_VALUE, _CORRUPT = "\ufdd0value", "\ufdd0corrupt"
_OPTIONS = {"timeZone": "UTC", "allowSingleQuotes": "false"}
_BROKEN = ("MALFORMED_RECORD", "INVALID_JSON_RECORD_TYPE", "COLUMN_ALREADY_EXISTS")
"""Marks in Spark's messages about files that hold broken records."""


class JsonKind(IntEnum):
    """How files are read. `RECORDS`: lines, some of which are bad, one by one."""

    LINES = 0
    DOCUMENTS = 1
    RECORDS = 2


class JsonSource(ZoneSource):
    def __init__(self, session: SparkSession, files: FormatFiles) -> None:
        self._session = session
        settings, declared = files.settings, files.declared
        self._quarantines = settings.quarantines
        self._raw = settings.raw
        self._groups: dict[JsonKind, list[Path]] = {}
        kinds = look_at_each(lambda path: self._kind(path, multiline_of(settings)), files.paths)
        for path, kind in zip(files.paths, kinds, strict=True):
            if kind is not None:
                self._groups.setdefault(kind, []).append(path)
        self._schemas: dict[JsonKind, StructType] = {}
        self.schema = declared if declared is not None else self._infer(files.before)
        if self._quarantines and declared is not None:
            self._set_apart_misfits(declared)

    def load(self, target: StructType, ordered: bool = False) -> list[DataFrame]:
        frames = []
        for kind, paths in sorted(self._groups.items()):
            if kind is JsonKind.RECORDS:
                good = self._records(target).where(column(WHY).isNull())
                order = record_order(ordered)
                frame = good.select(F.col(f"{_VALUE}.*"), *(value.alias(name) for name, value in order.items()))
            else:
                frame, order = self._reader(kind).schema(self._spelled(kind, target)).json(_literals(paths)), {}
                frame = with_columns(frame, order := file_order(ordered))
            frames.append(align(frame, target, order))
        return frames

    def bad_records(self, target: StructType) -> list[DataFrame]:
        if JsonKind.RECORDS not in self._groups:
            return []
        bad = self._records(target).where(column(WHY).isNotNull())
        nothing = F.array().cast("array<string>")
        return [bad.select(*bad_record_columns(F.array(column(WHY)), nothing))]

    def _kind(self, path: Path, multiline: bool | None) -> JsonKind | None:
        try:
            document = inspect(path, multiline)
        except BadRecordsError as error:
            if not self._quarantines or path not in error.paths:
                raise
            return JsonKind.RECORDS
        return None if document is None else JsonKind(document)

    def _set_apart(self, paths: Iterable[Path]) -> bool:
        """Whether some lines are read one by one from now on."""
        requested = frozenset(paths)
        chosen = [path for path in self._groups.get(JsonKind.LINES, ()) if path in requested]
        if chosen:
            left = [path for path in self._groups.pop(JsonKind.LINES) if path not in requested]
            if left:
                self._groups[JsonKind.LINES] = left
            self._groups.setdefault(JsonKind.RECORDS, []).extend(chosen)
        return bool(chosen)

    def _set_apart_misfits(self, schema: StructType) -> None:
        """One pass over the lines, to find values that do not fit before rows are written."""
        paths = self._groups.get(JsonKind.LINES)
        if not paths or not schema.fields:
            return
        fields = [*schema.fields, StructField(_CORRUPT, StringType())]
        options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
        frame = self._reader(JsonKind.LINES).options(**options).schema(StructType(fields)).json(_literals(paths))
        bad = F.collect_set(F.when(column(_CORRUPT).isNotNull(), F.col("_metadata.file_path")))
        # Spark does not parse a column that is not selected.
        parsed = [F.count(column(field.name)) for field in schema.fields]
        row = frame.agg(bad.alias("files"), *parsed).first()
        assert row is not None
        self._set_apart([local_path(uri) for uri in row["files"]])

    def _records(self, target: StructType) -> DataFrame:
        """The values of all lines as `_VALUE`, and `WHY` also where one does not fit."""
        files = [RecordFile(os.path.abspath(path)) for path in self._groups[JsonKind.RECORDS]]
        fields = [*self._spelled(JsonKind.RECORDS, target).fields, StructField(_CORRUPT, StringType())]
        options = {**_OPTIONS, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
        value = F.from_json(F.when(column(WHY).isNull(), column(TEXT)), StructType(fields), options)
        frame = record_frame(self._session, files).withColumn(_VALUE, value)
        misfit = F.when(F.col(f"{_VALUE}.{_CORRUPT}").isNotNull(), F.lit("has a value that does not fit its column"))
        return frame.withColumn(WHY, F.coalesce(column(WHY), misfit))

    def _spelled(self, kind: JsonKind, target: StructType) -> StructType:
        """Keys differ by case, columns do not."""
        spelled = respell(target, self._schemas.get(kind, target))
        assert isinstance(spelled, StructType)
        return spelled

    def _infer(self, before: StructType | None) -> StructType:
        """A field that is null throughout looks like a string to Spark; where that would widen a type, look closer."""
        while True:
            try:
                self._schemas = {kind: self._infer_group(kind, all_null=True) for kind in sorted(self._groups)}
                break
            except BadRecordsError as error:
                if not self._quarantines or not self._set_apart(error.paths):
                    raise
        loose = combine(self._schemas.values())
        parts = ([before] if before else []) + list(self._schemas.values())
        if not any(_clash(a, b) for i, a in enumerate(parts) for b in parts[i + 1 :]):
            return loose
        valued = combine(self._infer_group(kind, all_null=False) for kind in sorted(self._groups))
        return StructType([_without_nulls(field, by_name(valued)) for field in loose.fields])

    def _infer_group(self, kind: JsonKind, all_null: bool) -> StructType:
        paths = self._groups[kind]
        reader = self._reader(kind).option("dropFieldIfAllNull", str(not all_null).lower())
        if kind is JsonKind.RECORDS:
            reader = reader.option("mode", "DROPMALFORMED")
        with _plainly_named(paths if kind is JsonKind.DOCUMENTS else ()) as renamed, _case_sensitive(self._session):
            try:
                schema = nullable(reader.json(_literals([renamed.get(path, path) for path in paths])).schema)
            except Exception as error:
                if not any(sign in str(error) for sign in _BROKEN):
                    raise
                raise _broken(paths, kind is JsonKind.DOCUMENTS) from error
        if spellings := _same_but_for_case(texts_of(schema) if self._raw else schema):
            refused = BadRecordsError(
                f"JSON files of zone '{paths[0].parent.name}' have keys that differ only in case: {spellings}",
                where=str(paths[0].parent),
                remedy="give the key one spelling in all files, or declare the columns, spelled as the files do",
            )
            # Read one by one, records of a raw zone may each have a spelling of their own.
            refused.paths = frozenset(paths) if self._raw else frozenset()
            raise refused
        return schema

    def _reader(self, kind: JsonKind) -> DataFrameReader:
        document = str(kind is JsonKind.DOCUMENTS).lower()
        return self._session.read.options(**_OPTIONS, mode="FAILFAST", multiLine=document, samplingRatio="1.0")


def _literals(paths: Sequence[Path]) -> list[str]:
    return [path_literal(path) for path in paths]


@contextmanager
def _case_sensitive(session: SparkSession) -> Iterator[None]:
    """Otherwise Spark uses the first spelling of a key that it finds, and its reader loses the values under the
    others."""
    before = session.conf.get("spark.sql.caseSensitive")
    session.conf.set("spark.sql.caseSensitive", "true")
    try:
        yield
    finally:
        session.conf.set("spark.sql.caseSensitive", before)


def _same_but_for_case(kind: DataType) -> str | None:
    if isinstance(kind, ArrayType):
        return _same_but_for_case(kind.elementType)
    if not isinstance(kind, StructType):
        return None
    spellings: dict[str, str] = {}
    for field in kind.fields:
        if (other := spellings.setdefault(field.name.casefold(), field.name)) != field.name:
            return f"'{other}' and '{field.name}'"
        if inner := _same_but_for_case(field.dataType):
            return inner
    return None


def multiline_of(settings: ZoneSettings) -> bool | None:
    form = FILE_FORMATS.get(settings.format or "")
    return False if settings.multiline is None and form is not None and form.by_line else settings.multiline


def _clash(a: StructType, b: StructType) -> bool:
    """Whether a field is a string in one schema and another type in the other."""
    b_fields = by_name(b)
    return any(
        key in b_fields and _clashing(field.dataType, b_fields[key].dataType) for key, field in by_name(a).items()
    )


def _clashing(a: DataType, b: DataType) -> bool:
    if a == b:
        return False
    if isinstance(a, StructType) and isinstance(b, StructType):
        return _clash(a, b)
    if isinstance(a, StringType) or isinstance(b, StringType):
        return True
    inner_a, inner_b = getattr(a, "elementType", None), getattr(b, "elementType", None)
    return inner_a is not None and inner_b is not None and _clashing(inner_a, inner_b)


def _without_nulls(field: StructField, valued: dict[str, StructField]) -> StructField:
    """The field with the type that its values have; void for what has none."""
    valued_field = valued.get(field.name.casefold())
    if valued_field is None:
        return StructField(field.name, NullType())
    if isinstance(field.dataType, StructType) and isinstance(valued_field.dataType, StructType):
        inner = by_name(valued_field.dataType)
        return StructField(field.name, StructType([_without_nulls(f, inner) for f in field.dataType.fields]))
    return StructField(field.name, valued_field.dataType)


def _broken(paths: Sequence[Path], document: bool) -> LandingError:
    first, total, broken = bad_records_of_files((path, broken_records(path, document)) for path in paths)
    if first:
        return bad_records_error(first, total, "correct the records, or move the file out of the zone", broken)
    return LandingError(
        f"a JSON file of zone '{paths[0].parent.name}' is malformed",
        where=str(paths[0].parent),
        remedy="every line, or the whole file, must be an object or an array of objects",
    )


@contextmanager
def _plainly_named(paths: Sequence[Path]) -> Iterator[dict[Path, Path]]:
    """Links to files whose names look like patterns, which Spark's inference over documents would expand."""
    odd = [path for path in paths if looks_like_pattern(path)]
    if not odd:
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="tidegate-") as folder:
        links = {path: Path(folder, f"{number}{_ending(path)}") for number, path in enumerate(odd)}
        for path, link in links.items():
            os.symlink(path.absolute(), link)
        yield links


def _ending(path: Path) -> str:
    return ".json.gz" if path.name.lower().endswith(".gz") else ".json"
