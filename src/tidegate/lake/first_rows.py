"""The first rows of a table, read from its files without a JVM, deletes applied; the values are those of PySpark."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tidegate.errors import LakeError
from tidegate.lake.deleted_rows import DeletedRows, NotReadableHereError
from tidegate.lake.metadata import TableMetadata, load_json, local_path

if TYPE_CHECKING:
    from pyarrow import DataType, Field

    from tidegate.lake.manifests import DataFile

__all__ = ["first_rows"]

_NEWEST_FORMAT = 3
_BATCH_ROWS = 256
_ID = b"PARQUET:field_id"

Convert = Callable[[Any], Any]


def first_rows(metadata: TableMetadata, count: int) -> list[tuple[Any, ...]] | None:
    """At most `count` rows with the columns that the table has now, in the order of its files.

    None: only Spark can read them, or report what is wrong. That is so for files that are not Parquet, not on this
    machine, encrypted, or without the ids of columns, for equality deletes, for types that few tables have, and for
    versions of the format that came later.
    """
    import pyarrow

    if metadata.format_version > _NEWEST_FORMAT:
        return None
    if metadata.current is None:
        return []
    schema = next(s for s in load_json(metadata.location)["schemas"] if s["schema-id"] == metadata.schema_id)
    try:
        return _RowReader(metadata, schema["fields"]).rows(count)
    except (NotReadableHereError, LakeError, OSError, ValueError, OverflowError, pyarrow.ArrowException):
        return None


class _RowReader:
    def __init__(self, metadata: TableMetadata, fields: Sequence[Mapping[str, Any]]) -> None:
        self._metadata = metadata
        self._fields = fields
        self._identities = {f["source-id"] for f in metadata.partition_fields if f["transform"] == "identity"}

    def rows(self, count: int) -> list[tuple[Any, ...]]:
        # Only here: these bring PyIceberg.
        from pyiceberg.manifest import ManifestContent

        from tidegate.lake.manifests import data_files, list_manifests

        assert self._metadata.current is not None
        manifests = list_manifests(self._metadata.current)
        deleted = DeletedRows(f for m in manifests if m.content is ManifestContent.DELETES for f in data_files(m))
        rows: list[tuple[Any, ...]] = []
        for manifest in manifests:
            if manifest.content is not ManifestContent.DATA:
                continue
            for file in data_files(manifest):
                if len(rows) == count:
                    return rows
                rows += self._rows_of(file, deleted.positions(file), count - len(rows))
        return rows

    def _rows_of(self, file: DataFile, deleted: Collection[int], count: int) -> list[tuple[Any, ...]]:
        from pyarrow.parquet import ParquetFile

        rows: list[tuple[Any, ...]] = []

        if file.format != "PARQUET" or file.encrypted:
            raise NotReadableHereError
        with ParquetFile(local_path(file.location), memory_map=True) as parquet:
            columns = _by_id(parquet.schema_arrow)
            converters = [self._converter(field, columns.get(field["id"])) for field in self._fields]
            names = [columns[field["id"]].name for field in self._fields if field["id"] in columns]
            position = 0
            for batch in parquet.iter_batches(_BATCH_ROWS, columns=names):
                left = [at for at in range(batch.num_rows) if position + at not in deleted][: count - len(rows)]
                position += batch.num_rows
                if left:  # as lists, and not by Arrow's `take`, which imports pandas
                    until = left[-1] + 1
                    values = {name: batch.column(name).slice(0, until).to_pylist() for name in names}
                    rows += (tuple(c[1](values[c[0]][at]) if c else None for c in converters) for at in left)
                if len(rows) == count:
                    break
        return rows

    def _converter(self, field: Mapping[str, Any], column: Field | None) -> tuple[str, Convert] | None:
        """The column's name in the file, and how its values are converted; None where the file has no such column."""
        if column is not None:
            return column.name, _conversion(field["type"], column.type)
        if field.get("initial-default") is not None or field["id"] in self._identities:
            raise NotReadableHereError  # rows that lack the column have a value all the same
        return None


def _by_id(fields: Any) -> dict[int, Field]:
    """The fields of a schema or a struct in a file."""
    by_id = {int((field.metadata or {}).get(_ID, -1)): field for field in fields}
    if -1 in by_id:
        raise NotReadableHereError
    return by_id


def _conversion(kind: Any, arrow: DataType) -> Convert:
    """From what Arrow gives for a value of a file's type to what PySpark gives for it as the table's type `kind`."""
    from pyarrow import types

    if isinstance(kind, str):
        return _simple(kind, arrow)
    if kind["type"] == "struct" and types.is_struct(arrow):
        return _struct(kind, arrow)
    if kind["type"] == "list" and (types.is_list(arrow) or types.is_large_list(arrow)):
        element = _conversion(kind["element"], _only(arrow.value_field, kind["element-id"]))
        return lambda value: None if value is None else [element(inner) for inner in value]
    if kind["type"] == "map" and types.is_map(arrow) and isinstance(kind["key"], str):
        key = _conversion(kind["key"], _only(arrow.key_field, kind["key-id"]))
        item = _conversion(kind["value"], _only(arrow.item_field, kind["value-id"]))
        return lambda value: None if value is None else {key(k): item(v) for k, v in value}
    raise NotReadableHereError


def _struct(kind: Mapping[str, Any], arrow: DataType) -> Convert:
    inside = _by_id([arrow.field(number) for number in range(arrow.num_fields)])
    if any(field.get("initial-default") is not None for field in kind["fields"] if field["id"] not in inside):
        raise NotReadableHereError
    present = [
        (field["name"], inside[field["id"]].name, _conversion(field["type"], inside[field["id"]].type))
        for field in kind["fields"]
        if field["id"] in inside
    ]
    empty = {field["name"]: None for field in kind["fields"]}
    return lambda value: (
        None if value is None else {**empty, **{name: convert(value[there]) for name, there, convert in present}}
    )


def _only(field: Field, id: int) -> DataType:
    if list(_by_id([field])) != [id]:
        raise NotReadableHereError
    return field.type


def _simple(kind: str, arrow: DataType) -> Convert:
    from pyarrow import types

    if kind.startswith("decimal"):
        scale = int(kind.rstrip(")").partition(",")[2])
        if types.is_decimal128(arrow) and arrow.scale == scale:
            return _unchanged
    elif kind == "timestamp" and types.is_timestamp(arrow) and arrow.unit == "us" and arrow.tz is None:
        return _unchanged
    elif kind == "timestamptz" and types.is_timestamp(arrow) and arrow.unit == "us" and arrow.tz == "UTC":
        return _local_time
    elif kind == "binary" and (types.is_binary(arrow) or types.is_large_binary(arrow)):
        return lambda value: None if value is None else bytearray(value)
    elif str(arrow) in _SAME.get(kind, ()):
        return _unchanged
    raise NotReadableHereError


_SAME = {
    "boolean": ("bool",),
    "int": ("int32",),
    "long": ("int32", "int64"),
    "float": ("float",),
    "double": ("float", "double"),
    "date": ("date32[day]",),
    "string": ("string", "large_string"),
}
"""By type of Iceberg's, those of Arrow's whose values are equal; a column may have been narrower at first."""


def _unchanged(value: Any) -> Any:
    return value


def _local_time(value: datetime | None) -> datetime | None:
    """PySpark gives points in time in the zone of the process."""
    return None if value is None else value.astimezone().replace(tzinfo=None)
