"""JSON files: lines and documents, with Spark's own types over all values of the batch."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql.types import ArrayType, DataType, NullType, StringType, StructField, StructType

from tidegate.config import ZoneSettings
from tidegate.errors import LandingError
from tidegate.transform.landing.bad_records import bad_records_error, first_bad_records
from tidegate.transform.landing.json_files import broken_records, inspect
from tidegate.transform.landing.schemas import align, by_name, combine, nullable, respell
from tidegate.transform.landing.source import NO_MARKS, Source, literal, looks_like_pattern, mark

__all__ = ["JsonSource"]

_READERS = 8


class JsonSource(Source):
    def __init__(
        self,
        session: SparkSession,
        paths: Sequence[Path],
        settings: ZoneSettings,
        declared: StructType | None,
        before: StructType | None,
    ) -> None:
        self._session = session
        with ThreadPoolExecutor(_READERS, thread_name_prefix="landing") as pool:
            kinds = list(pool.map(lambda path: inspect(path, _multiline(settings)), paths))
        self._groups: dict[bool, list[Path]] = {}
        for path, document in zip(paths, kinds, strict=True):
            if document is not None:
                self._groups.setdefault(document, []).append(path)
        self._found: dict[bool, StructType] = {}
        self.schema = declared if declared is not None else self._infer(before)

    def load(self, target: StructType, marks: Mapping[str, Column] = NO_MARKS) -> list[DataFrame]:
        frames = []
        for document, paths in sorted(self._groups.items()):
            # keys are told apart by case, columns are not
            schema = respell(target, self._found.get(document, target))
            frame = self._reader(document).schema(schema).json([literal(path) for path in paths])
            frames.append(align(mark(frame, marks), target, marks))
        return frames

    def _infer(self, before: StructType | None) -> StructType:
        """A field that is null throughout looks like a string to Spark; where that would widen a type, look closer."""
        self._found = {document: self._infer_group(document, all_null=True) for document in sorted(self._groups)}
        loose = combine(self._found.values())
        parts = ([before] if before else []) + list(self._found.values())
        if not any(_clash(a, b) for i, a in enumerate(parts) for b in parts[i + 1 :]):
            return loose
        valued = combine(self._infer_group(document, all_null=False) for document in sorted(self._groups))
        return StructType([_without_nulls(field, by_name(valued)) for field in loose.fields])

    def _infer_group(self, document: bool, all_null: bool) -> StructType:
        paths = self._groups[document]
        reader = self._reader(document).option("dropFieldIfAllNull", str(not all_null).lower())
        with _plainly_named(paths if document else ()) as renamed, _case_sensitive(self._session):
            try:
                schema = nullable(reader.json([literal(renamed.get(path, path)) for path in paths]).schema)
            except Exception as error:
                if not any(sign in str(error) for sign in ("MALFORMED_RECORD", "INVALID_JSON_RECORD_TYPE")):
                    raise
                raise _broken(paths) from error
        if spellings := _same_but_for_case(schema):
            raise LandingError(
                f"JSON files of zone '{paths[0].parent.name}' have keys that differ only in case: {spellings}",
                where=str(paths[0].parent),
                remedy="give the key one spelling in all files, or declare the columns, spelled as the files do",
            )
        return schema

    def _reader(self, document: bool) -> DataFrameReader:
        options = {"mode": "FAILFAST", "multiLine": str(document).lower(), "samplingRatio": "1.0", "timeZone": "UTC"}
        return self._session.read.options(**options)


@contextmanager
def _case_sensitive(session: SparkSession) -> Iterator[None]:
    """Else Spark takes the first spelling of a key that it meets, and its reader finds no value under the others."""
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
    seen: dict[str, str] = {}
    for field in kind.fields:
        if (other := seen.setdefault(field.name.casefold(), field.name)) != field.name:
            return f"'{other}' and '{field.name}'"
        if inner := _same_but_for_case(field.dataType):
            return inner
    return None


def _multiline(settings: ZoneSettings) -> bool | None:
    if settings.multiline is None and settings.format in ("jsonl", "ndjson"):
        return False
    return settings.multiline


def _clash(a: StructType, b: StructType) -> bool:
    """Whether a string in the one meets something else in the other."""
    there = by_name(b)
    return any(key in there and _clashing(field.dataType, there[key].dataType) for key, field in by_name(a).items())


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
    there = valued.get(field.name.casefold())
    if there is None:
        return StructField(field.name, NullType())
    if isinstance(field.dataType, StructType) and isinstance(there.dataType, StructType):
        inner = by_name(there.dataType)
        return StructField(field.name, StructType([_without_nulls(f, inner) for f in field.dataType.fields]))
    return StructField(field.name, there.dataType)


def _broken(paths: Sequence[Path]) -> LandingError:
    first, total = first_bad_records(bad for path in paths for bad in broken_records(path))
    if first:
        return bad_records_error(first, total, "correct the records, or move the file out of the zone")
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
