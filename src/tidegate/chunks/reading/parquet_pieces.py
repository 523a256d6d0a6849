"""Parquet files in pieces. Values keep their types: *process* casts them to the text that bronze would have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import pyarrow as pa
from pyarrow import parquet

from tidegate.chunks.reading.pieces import FilePiece, refused, require_columns
from tidegate.failures import first_line

__all__ = ["read_parquet"]


def read_parquet(stream: BinaryIO, path: str, rows: int) -> Iterator[FilePiece]:
    """`rows`: of one piece. Raises RawFileError; then pieces may have been given."""
    remedy = "deliver the whole file, or give it the ending of its format"
    try:
        # A buffer, because pages are else read a whole row group at a time.
        file = parquet.ParquetFile(stream, buffer_size=1 << 20, pre_buffer=False)
        names = file.schema_arrow.names
        repeated = next((name for at, name in enumerate(names) if name.lower() in map(str.lower, names[:at])), None)
        if repeated is not None:
            raise refused(path, f"it has the column '{repeated}' twice", "give each column a name of its own")
        require_columns(path, names)
        number = 1
        for batch in file.iter_batches(batch_size=rows, use_threads=False):
            columns = {name: _storable(batch.column(at), path, name) for at, name in enumerate(names)}
            yield FilePiece(columns, pa.array(range(number, number + batch.num_rows), pa.int64()))
            number += batch.num_rows
    except (pa.ArrowException, OSError) as error:
        reason = first_line(error).rstrip(".")
        raise refused(path, f"it is no complete Parquet file ({reason})", remedy) from None


def _storable(values: pa.Array, path: str, name: str) -> pa.Array:
    """As a type that Spark reads, which loses nothing; else as text."""
    kind = values.type
    target = _spark_type(kind)
    if target == kind:
        return values
    try:
        return values.cast(target)
    except pa.ArrowInvalid:  # nanoseconds that microseconds would cut
        return values.cast(pa.string())
    except pa.ArrowNotImplementedError:
        raise refused(path, f"its column '{name}' has the type {kind}", "write it as text") from None


def _spark_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return _spark_type(kind.value_type)
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return pa.timestamp("us", kind.tz)
    if pa.types.is_time(kind) or pa.types.is_null(kind) or pa.types.is_decimal256(kind):
        return pa.string()
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_duration(kind):
        return pa.int64()
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_spark_type(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_spark_type(kind.key_type), _spark_type(kind.item_type))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.list_(kind.value_field.with_type(_spark_type(kind.value_type)))
    return kind
