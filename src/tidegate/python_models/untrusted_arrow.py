"""Arrow streams that may have been made to break who reads them, by code that is not trusted.

PyArrow and Spark's JVM both believe what a stream says of itself: offsets that point outside of its buffers read the
memory of the process, and a few bytes can stand for any number of rows. So every stream is read here first, and only
its plain form passes: nothing compressed, no dictionaries, no views, every offset inside its buffer, every buffer used
once.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow

__all__ = ["CheckedStream", "checked_table", "rewritten"]

_MOST_COLUMNS = 10_000
"""With those inside of others."""

_VALUES_PER_BYTE = 8
"""A boolean is the smallest value that has any."""

_VALUES_OF_NOTHING = 1 << 20
"""Values that may be there without bytes: a column that is NULL in each row has none."""

_TOO_MANY = "it has more values than bytes for them"

_HEADER, _COMPRESSION = 2, 3
"""Fields of the tables Message and RecordBatch in Arrow's flatbuffers."""


def rewritten(data: bytes) -> tuple[bytes, int]:
    """The stream as PyArrow writes it, so that another reader cannot take it for anything else, and its number of rows.
    Raises ValueError."""
    import pyarrow as pa

    table = checked_table(pa.py_buffer(data))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes(), table.num_rows


def checked_table(data: pyarrow.Buffer) -> pyarrow.Table:
    """Takes no memory beside `data`, in which the table's values stay. Raises ValueError."""
    import pyarrow as pa

    checked = CheckedStream(pa.BufferReader(data))
    batches, values = [], 0
    for batch in checked:
        values += sum(map(len, _with_children(pa, batch.columns)))
        if values > _VALUES_PER_BYTE * data.size + _VALUES_OF_NOTHING:
            raise ValueError(_TOO_MANY)
        batches.append(batch)
    return pa.Table.from_batches(batches, checked.schema)


class CheckedStream:
    """The batches of a stream as they come. Raises ValueError."""

    def __init__(self, source: Any) -> None:
        import pyarrow as pa

        self._pa: Any = pa
        with _as_value_errors(pa):
            self._messages: Any = pa.ipc.MessageReader.open_stream(source)
            schema = self._next("schema")
            if schema is None:
                raise ValueError("it is empty")
            self.schema = pa.ipc.read_schema(schema)
            if sum(_nodes(pa, field.type) for field in self.schema) > _MOST_COLUMNS:
                raise ValueError(f"it has more than {_MOST_COLUMNS} columns")

    def __iter__(self) -> Iterator[pyarrow.RecordBatch]:
        while True:
            with _as_value_errors(self._pa):
                message = self._next("record batch")
                if message is None:
                    return
                batch = self._batch(message)
            yield batch

    def _next(self, kind: str) -> Any:
        try:
            message = self._messages.read_next_message()
        except StopIteration:
            return None
        if message.type != kind:
            raise ValueError(f"a message of kind {message.type}")
        return message

    def _batch(self, message: Any) -> pyarrow.RecordBatch:
        if _is_compressed(message.metadata):
            raise ValueError("a batch is compressed")
        batch, size = self._pa.ipc.read_record_batch(message, self.schema), message.body.size
        batch.validate()
        buffers = [buffer for array in batch.columns for buffer in array.buffers() if buffer is not None]
        if sum(buffer.size for buffer in buffers) > size or _overlap(buffers):
            raise ValueError("its buffers overlap")
        values = sum(map(len, _with_children(self._pa, batch.columns)))
        if values > _VALUES_PER_BYTE * size + _VALUES_OF_NOTHING:
            raise ValueError(_TOO_MANY)
        batch.validate(full=True)
        return batch


@contextmanager
def _as_value_errors(pa: Any) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, struct.error, IndexError, RecursionError, MemoryError, TypeError) as error:
        raise ValueError(f"it is no Arrow data: {str(error)[:500]}") from error


def _overlap(buffers: list[Any]) -> bool:
    places = sorted((buffer.address, buffer.address + buffer.size) for buffer in buffers if buffer.size)
    return any(end > start for (_, end), (start, _) in pairwise(places))


def _with_children(pa: Any, arrays: Iterable[Any]) -> Iterator[Any]:
    waiting = list(arrays)
    while waiting:
        array = waiting.pop()
        yield array
        kind, types = array.type, pa.types
        if types.is_struct(kind):
            waiting += [array.field(at) for at in range(kind.num_fields)]
        elif types.is_map(kind):
            waiting += [array.keys, array.items]
        elif types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
            waiting.append(array.values)


def _nodes(pa: Any, kind: pyarrow.DataType) -> int:
    """Raises ValueError for what is not laid out plainly."""
    types = pa.types
    if isinstance(kind, pa.BaseExtensionType) or not (
        types.is_boolean(kind)
        or types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_decimal(kind)
        or types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_temporal(kind)
        or types.is_interval(kind)
        or types.is_null(kind)
        or types.is_struct(kind)
        or types.is_map(kind)
        or types.is_list(kind)
        or types.is_large_list(kind)
        or types.is_fixed_size_list(kind)
    ):
        raise ValueError(f"a column is of type {str(kind)[:100]}")
    return 1 + sum(_nodes(pa, kind.field(at).type) for at in range(kind.num_fields))


def _is_compressed(metadata: pyarrow.Buffer) -> bool:
    """Of the message of a batch, which PyArrow has found to be well formed."""
    data = metadata.to_pybytes()
    root = struct.unpack_from("<I", data)[0]
    header = _field(data, root, _HEADER)
    if header is None:
        raise ValueError("a message is empty")
    return _field(data, header + struct.unpack_from("<I", data, header)[0], _COMPRESSION) is not None


def _field(data: bytes, table: int, number: int) -> int | None:
    """Where a field of a table of a flatbuffer is."""
    directory = table - struct.unpack_from("<i", data, table)[0]
    if directory < 0:
        raise ValueError("a message is not well formed")
    size, place = struct.unpack_from("<H", data, directory)[0], 4 + 2 * number
    offset = struct.unpack_from("<H", data, directory + place)[0] if place + 2 <= size else 0
    return table + offset if offset else None
