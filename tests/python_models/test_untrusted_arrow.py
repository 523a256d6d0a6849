"""Streams that were made to break their reader, and plain ones."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from tests.python_models.connect.checked import refusal_of
from tidegate.errors import QueryError
from tidegate.python_models.stored_rows import StoredRows
from tidegate.python_models.untrusted_arrow import checked_table, rewritten


def stream(table: pa.Table, **options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def patched(column: pa.Array, before: bytes, after: bytes) -> bytes:
    data = stream(pa.table({"a": column}))
    assert data.count(before) == 1
    return data.replace(before, after)


def offsets(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}i", *values)


PLAIN = pa.table(
    {
        "number": pa.array([1, None, 3], pa.int64()),
        "text": pa.array(["a", None, "ä"]),
        "long text": pa.array(["a", None, "b"], pa.large_string()),
        "list": pa.array([[1, None], None, []], pa.list_(pa.int32())),
        "map": pa.array([[("k", 1.5)], None, []], pa.map_(pa.string(), pa.float64())),
        "struct": pa.array([{"x": True, "y": None}, None, {"x": None, "y": b"z"}]),
        "moment": pa.array([0, None, 1], pa.timestamp("us", "UTC")),
        "nothing": pa.nulls(3),
    }
)

_FOUR = pa.array(["first", "second", "third", "last"])


def shared_buffers() -> bytes:
    """Two columns, the second of which is where the first one is."""
    column = pa.array([11, 12, 13, 14, 15, 16, 17, 18], pa.int64())
    data = stream(pa.table({"a": column, "b": column}))
    place = struct.pack("<qq", 64, 64)
    at = data.rindex(place)
    return data[:at] + struct.pack("<qq", 0, 64) + data[at + 16 :]


MADE = {
    "offset in the middle": patched(_FOUR, offsets(0, 5, 11, 16, 20), offsets(0, 5, 1_000_000, 16, 20)),
    "offset at the end": patched(_FOUR, offsets(0, 5, 11, 16, 20), offsets(0, 5, 11, 16, 1_000_000)),
    "offset before": patched(_FOUR, offsets(0, 5, 11, 16, 20), offsets(-4096, 5, 11, 16, 20)),
    "long offset": patched(
        pa.array(["abcdefg"], pa.large_string()), struct.pack("<qq", 0, 7), struct.pack("<qq", 0, 1 << 40)
    ),
    "list": patched(pa.array([[7, 8, 9], [7]]), offsets(0, 3, 4), offsets(0, 3_000_000, 4)),
    "compressed": stream(pa.table({"a": ["x" * 100_000]}), compression="zstd"),
    "compressed otherwise": stream(pa.table({"a": ["x" * 100_000]}), compression="lz4"),
    "dictionary": stream(pa.table({"a": pa.array(["x", "x"]).dictionary_encode()})),
    "runs": stream(pa.table({"a": pa.RunEndEncodedArray.from_arrays(pa.array([9], pa.int32()), pa.array(["x"]))})),
    "views": stream(pa.table({"a": pa.array(["x"], pa.string_view())})),
    "view of lists": stream(pa.table({"a": pa.array([[1]], pa.list_view(pa.int8()))})),
    "rows of nothing": stream(pa.table({"a": pa.nulls(1_234_567)})).replace(
        struct.pack("<q", 1_234_567), struct.pack("<q", 1 << 50)
    ),
    "lists of nothing": stream(
        pa.table({"a": pa.ListArray.from_arrays(pa.array([0, 2_000_000_000], pa.int32()), pa.nulls(2_000_000_000))})
    ),
    "shared buffers": shared_buffers(),
    "many columns": stream(pa.table({f"c{at}": pa.array([], pa.int8()) for at in range(10_001)})),
    "no stream": b"PAR1 and more",
    "empty": b"",
    "cut": stream(PLAIN)[:-200],
}


def test_a_plain_stream_comes_back_as_it_was() -> None:
    assert pa.ipc.open_stream(rewritten(stream(PLAIN))[0]).read_all().equals(PLAIN)
    assert checked_table(pa.py_buffer(stream(PLAIN.slice(1)))).equals(PLAIN.slice(1))
    assert checked_table(pa.py_buffer(stream(PLAIN.slice(0, 0)))).schema == PLAIN.schema


@pytest.mark.parametrize("name", MADE)
def test_a_stream_that_was_made_to_break_its_reader_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        checked_table(pa.py_buffer(MADE[name]))


def test_no_cut_or_changed_byte_makes_more_of_a_stream_than_a_refusal() -> None:
    data = stream(PLAIN)
    for at in range(0, len(data), 7):
        for changed in (data[:at], data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]):
            try:
                rewritten(changed)
            except ValueError:
                continue


def test_rows_of_a_plan_are_read_before_spark_reads_them() -> None:
    from pyspark.sql.connect.proto import relations_pb2

    def plan(data: bytes) -> Any:
        return relations_pb2.Relation(local_relation=relations_pb2.LocalRelation(data=data))

    assert not refusal_of(plan(stream(PLAIN)))
    assert "rows" in refusal_of(plan(MADE["long offset"]))


def test_rows_are_stored_without_what_stands_for_more_rows() -> None:
    table = pa.table(dict(_encoded()))
    stored = pa.Table.from_batches(list(StoredRows(table.to_reader(), "a.py")))
    assert checked_table(pa.py_buffer(stream(stored))).to_pylist() == [{"a": "x", "b": "x", "c": "x"}] * 2


def _encoded() -> Iterator[tuple[str, pa.Array]]:
    yield "a", pa.array(["x", "x"]).dictionary_encode()
    yield "b", pa.RunEndEncodedArray.from_arrays(pa.array([2], pa.int32()), pa.array(["x"]))
    yield "c", pa.array(["x", "x"], pa.string_view())


def test_a_type_that_tables_do_not_have_is_named() -> None:
    table = pa.table({"a": pa.array([1], pa.duration("s"))})
    with pytest.raises(QueryError, match="column 'a' of the result is of Arrow's type duration"):
        StoredRows(table.to_reader(), "a.py")
