"""Rows in Arrow's format → a DataFrame, with the types that tables can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidegate.errors import QueryError

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["frame_of_rows"]

_MOST_DIGITS = 38


def frame_of_rows(
    session: SparkSession, rows: pyarrow.RecordBatchReader, where: str, *, local_times: bool, most: int
) -> DataFrame:
    """`local_times`: times without a zone are moments in the session's zone; otherwise they stay without one.
    `most`: bytes. Raises QueryError about `where`."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import from_arrow_schema

    table = _table(pa, rows, where, most)
    fields = [field.with_type(_stored(pa, field.type, field.name, where)) for field in table.schema]
    columns = [_column(pa, column, field, where) for column, field in zip(table.itercolumns(), fields, strict=True)]
    stored = pa.Table.from_arrays(columns, schema=pa.schema(fields))
    schema = from_arrow_schema(stored.schema, prefer_timestamp_ntz=not local_times)
    if not stored.num_rows:
        return session.createDataFrame([], schema)
    return session.createDataFrame(stored, schema)


def _table(pa: Any, rows: pyarrow.RecordBatchReader, where: str, most: int) -> pyarrow.Table:
    batches, size = [], 0
    try:
        for batch in rows:
            batch.validate(full=True)  # its bytes may be made by code that is not trusted, and lead out of its buffers
            size += max(batch.nbytes, batch.num_rows)  # columns of NULLs have no bytes
            if size > most:
                raise QueryError(
                    f"the result has more than {most / (1 << 20):.0f} MiB of rows that Python holds",
                    where=where,
                    remedy="Return a Spark DataFrame: Spark's functions, mapInPandas and applyInPandas work on any"
                    " number of rows. Or raise local_rows in [sandbox] of tidegate.toml.",
                )
            batches.append(batch)
    except pa.ArrowException as error:
        raise QueryError(f"the rows of the result cannot be read: {error}", where=where) from error
    return pa.Table.from_batches(batches, rows.schema)


def _column(pa: Any, column: pyarrow.ChunkedArray, field: pyarrow.Field, where: str) -> pyarrow.ChunkedArray:
    if column.type == field.type:
        return column
    if pa.types.is_run_end_encoded(column.type):
        column = pa.compute.run_end_decode(column)
    try:
        # Nanoseconds are cut, as Spark cuts them.
        return column.cast(field.type, safe="[ns" not in str(column.type))
    except (pa.ArrowException, ValueError) as error:
        raise QueryError(f"column '{field.name}' of the result cannot be stored: {error}", where=where) from error


def _stored(pa: Any, kind: pyarrow.DataType, name: str, where: str) -> pyarrow.DataType:
    """The type with the same values that Spark and tables have."""
    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return _stored(pa, kind.value_type, name, where)
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
            raise _not_stored(kind, name, where)
        return pa.decimal128(kind.precision, kind.scale)
    if types.is_struct(kind):
        return pa.struct([f.with_type(_stored(pa, f.type, f"{name}.{f.name}", where)) for f in kind])
    if types.is_map(kind):
        key, item = kind.key_field, kind.item_field
        return pa.map_(
            key.with_type(_stored(pa, key.type, f"{name}.key", where)),
            item.with_type(_stored(pa, item.type, f"{name}.value", where)),
        )
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind) or types.is_list_view(kind):
        element = kind.value_field
        return pa.list_(element.with_type(_stored(pa, element.type, f"{name}.element", where)))
    if not _is_plain(types, kind):
        raise _not_stored(kind, name, where)
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


def _not_stored(kind: pyarrow.DataType, name: str, where: str) -> QueryError:
    return QueryError(
        f"column '{name}' of the result is of Arrow's type {kind}, which tables do not have",
        where=where,
        remedy="Convert it, for example to a text or a number.",
    )
