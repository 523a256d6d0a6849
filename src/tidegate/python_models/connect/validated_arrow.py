"""Rows that a model makes itself, as an Arrow stream: validated and written anew before a JVM reads them.

Spark reads texts at the addresses that the offsets of a column give, without a look at where its buffer ends: offsets
made for it would copy other memory of the JVM into a row.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from tidegate.python_models.connect.plan_functions import refusal

__all__ = ["validated_arrow"]

_SCALARS = (
    *(pa.types.is_null, pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal128),
    *(pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary),
    *(pa.types.is_date32, pa.types.is_timestamp, pa.types.is_duration, pa.types.is_time64, pa.types.is_interval),
)


def validated_arrow(data: bytes) -> tuple[bytes, int]:
    """The stream as pyarrow writes it, and its number of rows. Raises CallRefusedError."""
    try:
        if any(map(_is_compressed, _metadata_of_batches(data))):
            raise refusal("rows that a model makes are sent without compression")
        with pa.ipc.open_stream(data) as reader:
            if wrong := next((field for field in reader.schema if not _is_plain(field.type)), None):
                raise refusal(f"a column of the type {wrong.type} cannot be sent to Spark")
            sink, rows = pa.BufferOutputStream(), 0
            with pa.ipc.new_stream(sink, reader.schema) as writer:
                for batch in reader:
                    batch.validate(full=True)
                    rows += batch.num_rows
                    writer.write_batch(batch)
    except (pa.ArrowException, struct.error, OSError, ValueError, OverflowError) as error:
        raise refusal(f"the rows that the model makes are no valid Arrow stream: {str(error)[:200]}") from error
    return sink.getvalue().to_pybytes(), rows


def _is_plain(kind: Any) -> bool:
    """Without dictionaries, views and runs, by which few bytes stand for many."""
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _is_plain(kind.value_type)
    if pa.types.is_map(kind):
        return _is_plain(kind.key_type) and _is_plain(kind.item_type)
    if pa.types.is_struct(kind):
        return all(_is_plain(kind.field(place).type) for place in range(kind.num_fields))
    return any(is_kind(kind) for is_kind in _SCALARS)


def _metadata_of_batches(data: bytes) -> Iterator[bytes]:
    for message in pa.ipc.MessageReader.open_stream(data):
        if message.type == "record batch":
            yield message.metadata.to_pybytes()


def _is_compressed(metadata: bytes) -> bool:
    """Whether the batch says how its buffers are compressed: a few bytes could become all memory there is.

    The metadata is a flatbuffer: Message.header is the third field of the table at its root, RecordBatch.compression
    the fourth of that one.
    """
    (root,) = struct.unpack_from("<I", metadata, 0)
    header = _field(metadata, root, 2)
    if not header:
        return True
    (offset,) = struct.unpack_from("<I", metadata, header)
    return bool(_field(metadata, header + offset, 3))


def _field(buffer: bytes, table: int, number: int) -> int:
    """Where a field of a table begins; 0 where the table has none."""
    (back,) = struct.unpack_from("<i", buffer, table)
    size, _, *_ = struct.unpack_from("<HH", buffer, table - back)
    if 4 + 2 * number + 2 > size:
        return 0
    (offset,) = struct.unpack_from("<H", buffer, table - back + 4 + 2 * number)
    return table + offset if offset else 0
