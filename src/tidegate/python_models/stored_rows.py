"""Rows of a model in the types that tables can hold. In the sandbox this runs before they leave it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

from tidegate.errors import QueryError

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Rows", "StoredRows", "stored_type"]

_MOST_DIGITS = 38


class Rows(Protocol):
    @property
    def schema(self) -> pyarrow.Schema: ...

    def __iter__(self) -> Iterator[pyarrow.RecordBatch]: ...


class StoredRows:
    """The same rows without dictionaries, views, runs and types of other programs. Raises QueryError about `where`."""

    def __init__(self, rows: Rows, where: str) -> None:
        import pyarrow as pa

        self._pa: Any = pa
        self._rows = rows
        self._where = where
        fields = [field.with_type(stored_type(pa, field.type, field.name, where)) for field in rows.schema]
        self.schema = pa.schema(fields, rows.schema.metadata)

    def __iter__(self) -> Iterator[pyarrow.RecordBatch]:
        for batch in self._rows:
            columns = zip(batch.columns, self.schema, strict=True)
            stored = [_column(self._pa, column, field, self._where) for column, field in columns]
            yield self._pa.RecordBatch.from_arrays(stored, schema=self.schema)


def _column(pa: Any, column: pyarrow.Array, field: pyarrow.Field, where: str) -> pyarrow.Array:
    if column.type == field.type:
        return column
    if pa.types.is_run_end_encoded(column.type):
        column = pa.compute.run_end_decode(column)
    try:
        # Nanoseconds are cut, as Spark cuts them.
        return column.cast(field.type, safe="[ns" not in str(column.type))
    except (pa.ArrowException, ValueError) as error:
        raise QueryError(f"column '{field.name}' of the result cannot be stored: {error}", where=where) from error


def stored_type(pa: Any, kind: pyarrow.DataType, name: str, where: str) -> pyarrow.DataType:
    """The type with the same values that Spark and tables have."""
    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        if kind.extension_name == "pandas.period":  # stored as numbers that say nothing without their unit
            raise _notstored_type(kind, name, where)
        kind = kind.storage_type
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return stored_type(pa, kind.value_type, name, where)
    if types.is_unsigned_integer(kind):
        wider = {8: pa.int16(), 16: pa.int32(), 32: pa.int64()}
        return wider.get(kind.bit_width) or pa.decimal128(20, 0)
    if types.is_float16(kind):
        return pa.float32()
    if types.is_large_string(kind) or types.is_string_view(kind):
        return pa.string()
    if types.is_large_binary(kind) or types.is_binary_view(kind) or types.is_fixed_size_binary(kind):
        return pa.binary()
    if types.is_date64(kind):
        return pa.date32()
    if types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if types.is_decimal(kind):
        if kind.precision > _MOST_DIGITS or not 0 <= kind.scale <= kind.precision:
            raise _notstored_type(kind, name, where)
        return pa.decimal128(kind.precision, kind.scale)
    if types.is_struct(kind):
        return pa.struct([f.with_type(stored_type(pa, f.type, f"{name}.{f.name}", where)) for f in kind])
    if types.is_map(kind):
        key, item = kind.key_field, kind.item_field
        return pa.map_(
            key.with_type(stored_type(pa, key.type, f"{name}.key", where)),
            item.with_type(stored_type(pa, item.type, f"{name}.value", where)),
        )
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        element = kind.value_field
        return pa.list_(element.with_type(stored_type(pa, element.type, f"{name}.element", where)))
    if not _is_plain(types, kind):
        raise _notstored_type(kind, name, where)
    return kind


def _is_plain(types: Any, kind: pyarrow.DataType) -> bool:
    return bool(
        types.is_boolean(kind)
        or types.is_signed_integer(kind)
        or types.is_float32(kind)
        or types.is_float64(kind)
        or types.is_string(kind)
        or types.is_binary(kind)
        or types.is_date32(kind)
        or types.is_null(kind)
    )


def _notstored_type(kind: pyarrow.DataType, name: str, where: str) -> QueryError:
    is_length = str(kind).startswith("duration")
    instead = "to seconds with `.dt.total_seconds()`" if is_length else "to text with `.astype(str)`"
    return QueryError(
        f"column '{name}' of the result is of Arrow's type {kind}, which tables do not have",
        where=where,
        remedy=f"Convert it to a text or a number, in pandas for example {instead}.",
    )
