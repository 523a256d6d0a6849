"""The columns of one data file, by a sample of its records and without a JVM."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain, islice
from pathlib import Path
from typing import Any

from tidegate.config import ZoneSettings
from tidegate.config.file_formats import FILE_FORMATS, format_of
from tidegate.datatypes import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    Column,
    DataType,
    array,
    decimal,
    map_of,
    struct,
)
from tidegate.errors import LandingError, OptionsError
from tidegate.failures import first_line
from tidegate.operations.contract_tools.value_types import ValueTypes
from tidegate.transform.landing import csv_files, json_files
from tidegate.transform.landing.csv_dialect import find_dialect
from tidegate.transform.landing.raw import SECTION, open_raw

__all__ = ["SAMPLED_RECORDS", "FileColumns", "columns_of_file"]

SAMPLED_RECORDS = 10_000
_LARGEST_DOCUMENT = 64 << 20
"""Bytes of a JSON document, which is read whole."""


@dataclass(frozen=True, slots=True)
class FileColumns:
    format: str
    """csv, tsv, json, jsonl, ndjson or parquet, as the file's name says."""

    columns: tuple[Column, ...]
    records: int = 0
    """How many were looked at; none of a file that declares its types."""

    distinct: frozenset[str] | None = None
    """Columns that had a value in every record, and never the same; None where no record was looked at."""

    content_path: str = ""
    """Where in a JSON document the records are."""

    document: bool = False
    """A JSON file that is one document."""


def columns_of_file(path: Path, settings: ZoneSettings) -> FileColumns:
    """`settings`: of the zone that the file is in. Raises LandingError where the file cannot be read."""
    own = format_of(path.name)
    declared = FILE_FORMATS.get(settings.format or "")
    form = own if own is not None and (declared is None or declared.reader == own.reader) else declared
    try:
        if form is not None:
            return _COLUMNS[form.reader](path, form.name, settings)
    except LandingError as error:
        section = SECTION.replace("ZONE", path.parent.name)
        error.where = error.where and error.where.replace(SECTION, section)
        error.remedy = error.remedy and error.remedy.replace(SECTION, section)
        raise
    raise OptionsError(
        f"the format of '{path.name}' is not known",
        where=str(path),
        remedy=f"Take a file that ends in {', '.join(f'.{name}' for name in FILE_FORMATS)}.",
    )


def _csv_columns(path: Path, format: str, settings: ZoneSettings) -> FileColumns:
    return _of_records(format, *_csv_records(path, settings))


def _of_records(
    format: str, names: Sequence[str], records: Iterable[Sequence[str]], no_values: tuple[str, ...] = ("",)
) -> FileColumns:
    values = [ValueTypes() for _ in names]
    seen: list[set[str] | None] = [set() for _ in names]
    count = 0
    for record in islice(records, SAMPLED_RECORDS):
        count += 1
        for place, text in enumerate(record):
            values[place].add_text(text)
            seen[place] = _with(seen[place], text if text.strip() not in no_values else None)
    columns = tuple(Column(name, value.type) for name, value in zip(names, values, strict=True))
    return FileColumns(format, columns, count, _distinct(names, seen, count))


def _with(seen: set[str] | None, value: str | None) -> set[str] | None:
    if seen is None or value is None or value in seen:
        return None
    seen.add(value)
    return seen


def _distinct(names: Sequence[str], seen: Sequence[set[str] | None], records: int) -> frozenset[str] | None:
    if not records:
        return None
    return frozenset(name for name, values in zip(names, seen, strict=True) if values and len(values) == records)


def _csv_records(path: Path, settings: ZoneSettings) -> tuple[tuple[str, ...], Iterator[Sequence[str]]]:
    """The names, and the records that have as many fields."""
    dialect = find_dialect(path, settings)
    shape = csv_files.inspect(path, dialect, settings.multiline, settings.escape is not None)
    if shape.first is None:
        raise LandingError(f"'{path.name}' is empty", where=str(path), remedy="take a file with records")
    declared = tuple(settings.columns or ())
    names = tuple(name.strip() for name in shape.first)
    if settings.header is False:
        names = declared if len(declared) == len(names) else tuple(f"_c{place}" for place in range(len(names)))

    def records() -> Iterator[Sequence[str]]:
        with csv_files.open_text(path, shape.dialect) as text:
            reader = csv.reader(text, **shape.dialect.for_python)  # type: ignore[arg-type]
            try:
                for number, record in enumerate(record for record in reader if record):
                    if (number or settings.header is False) and len(record) == len(names):
                        yield record
            except csv.Error as error:
                raise LandingError(
                    f"'{path.name}' has broken quotes: {error}",
                    where=f"{path}:{reader.line_num}",
                    remedy="correct the record",
                ) from error

    return names, records()


def _json_columns(path: Path, format: str, settings: ZoneSettings) -> FileColumns:
    document = bool(json_files.inspect(path, settings.multiline))
    content_path, records = _document_records(path) if document else _line_records(path)
    whole, seen, count = ValueTypes(), dict[str, set[str] | None](), 0
    for record in islice(records, SAMPLED_RECORDS):
        if not isinstance(record, dict):
            continue
        for name in record.keys() - seen.keys():
            seen[name] = set() if count == 0 else None
        count += 1
        whole.add_json(record)
        for name, values in seen.items():
            value = record.get(name)
            seen[name] = _with(values, None if value in (None, "") else json.dumps(value, default=str))
    if not whole.fields:
        raise LandingError(f"'{path.name}' has no objects", where=str(path), remedy="take a file with records")
    columns = tuple(Column(name, value.type) for name, value in whole.fields.items())
    distinct = _distinct(tuple(seen), tuple(seen.values()), count)
    return FileColumns(format, columns, count, distinct, content_path, document or bool(content_path))


def _line_records(path: Path) -> tuple[str, Iterator[Any]]:
    """A file of one line may be a document, such as a page of an API."""
    lines = (_parse(text) for _line, text, broken in json_files.json_records(path) if broken is None)
    first = list(islice(lines, 2))
    return _records_in(first[0]) if len(first) == 1 else ("", chain(first, lines))


def _document_records(path: Path) -> tuple[str, Iterator[Any]]:
    with open_raw(path) as file:
        content = file.read(_LARGEST_DOCUMENT + 1)
    if len(content) > _LARGEST_DOCUMENT:
        raise OptionsError(
            f"'{path.name}' is a JSON document of more than {_LARGEST_DOCUMENT >> 20} MB",
            where=str(path),
            remedy="Take a smaller file of the same kind.",
        )
    try:
        value = _parse(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise LandingError(f"'{path.name}' is not JSON: {error}", where=str(path), remedy="correct the file") from error
    return _records_in(value)


def _records_in(value: Any) -> tuple[str, Iterator[Any]]:
    """The records of a document: an array, the only array of objects in an object, or the object itself."""
    if isinstance(value, list):
        return "", iter(value)
    arrays = [(name, items) for name, items in value.items() if _are_objects(items)] if isinstance(value, dict) else []
    if len(arrays) == 1 and "." not in arrays[0][0]:
        return arrays[0][0], iter(arrays[0][1])
    return "", iter([value])


def _are_objects(items: Any) -> bool:
    return isinstance(items, list) and bool(items) and all(isinstance(item, dict) for item in items)


def _parse(text: str) -> Any:
    return json.loads(text, parse_float=Decimal)


def _parquet_columns(path: Path, format: str, settings: ZoneSettings) -> FileColumns:
    import pyarrow
    import pyarrow.parquet

    try:
        schema = pyarrow.parquet.read_schema(path)
    except (OSError, pyarrow.ArrowException) as error:
        raise LandingError(
            f"'{path.name}' cannot be read as Parquet: {first_line(error)}", where=str(path), remedy="take a whole file"
        ) from error
    columns = (Column(field.name, _arrow_type(field.type), False if not field.nullable else None) for field in schema)
    return FileColumns(format, tuple(columns))


_COLUMNS: Mapping[str, Callable[[Path, str, ZoneSettings], FileColumns]] = {
    "csv": _csv_columns,
    "json": _json_columns,
    "parquet": _parquet_columns,
}
"""By the reader of the format."""


def _arrow_type(kind: Any) -> DataType:
    """Spark's type; text for what it does not have."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return _arrow_type(kind.value_type)
    if types.is_decimal(kind):
        return decimal(kind.precision, kind.scale) if kind.precision <= 38 and kind.scale >= 0 else STRING
    if types.is_timestamp(kind):
        return TIMESTAMP if kind.tz else TIMESTAMP_NTZ
    if types.is_struct(kind):
        return struct((field.name, _arrow_type(field.type)) for field in kind)
    if types.is_map(kind):
        return map_of(_arrow_type(kind.key_type), _arrow_type(kind.item_type))
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return array(_arrow_type(kind.value_type))
    simple = (
        (types.is_boolean, BOOLEAN),
        (types.is_int8, TINYINT),
        (lambda kind: types.is_int16(kind) or types.is_uint8(kind), SMALLINT),
        (lambda kind: types.is_int32(kind) or types.is_uint16(kind), INT),
        (lambda kind: types.is_int64(kind) or types.is_uint32(kind), BIGINT),
        (types.is_uint64, decimal(20, 0)),
        (lambda kind: types.is_float32(kind) or types.is_float16(kind), FLOAT),
        (types.is_float64, DOUBLE),
        (types.is_date, DATE),
        (lambda kind: types.is_binary(kind) or types.is_large_binary(kind), BINARY),
    )
    return next((type_ for matches, type_ in simple if matches(kind)), STRING)
