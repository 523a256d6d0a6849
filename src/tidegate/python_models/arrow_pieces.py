"""Rows that a job returns, as the pieces of an Arrow IPC stream that go over the link. This runs inside the sandbox."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tidegate.errors import QueryError
from tidegate.python_models.code_runner import CodeFailure
from tidegate.python_models.returned_value import LINE
from tidegate.python_models.sandbox.link import FrameKind, LinkFrame
from tidegate.python_models.stored_rows import StoredRows

__all__ = ["frames_of"]

_LONGEST_PIECE = 1 << 20
"""A frame of the link has a longest length."""


def frames_of(rows: Any, line: int | None) -> Iterator[LinkFrame]:
    """DATA frames, as the batches come, and the RESULT. `line`: where the code begins that returned the rows."""
    import pyarrow as pa

    sink = _PieceSink()
    try:
        stored = StoredRows(rows, "")
        schema = stored.schema.with_metadata({**(rows.schema.metadata or {}), LINE: str(line or "").encode()})
        with pa.ipc.new_stream(pa.PythonFile(sink, mode="w"), schema) as writer:
            for batch in stored:
                for part in _parts(batch):
                    writer.write_batch(part)
                    yield from sink.take()
    except QueryError as error:
        raise CodeFailure(error.message, line, error.remedy) from error
    yield from sink.take()
    yield LinkFrame(FrameKind.RESULT, {"kind": "arrow"}, b"")


def _parts(batch: Any) -> Iterator[Any]:
    """A batch of pandas has all rows, and one of a few rows is written without holding them twice."""
    rows = max(1, batch.num_rows * _LONGEST_PIECE // max(1, batch.nbytes))
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


class _PieceSink:
    closed = False

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self._pieces.append(piece)
        return len(piece)

    def take(self) -> Iterator[LinkFrame]:
        pieces, self._pieces = self._pieces, []
        whole = memoryview(b"".join(pieces))
        for start in range(0, len(whole), _LONGEST_PIECE):
            yield LinkFrame(FrameKind.DATA, {}, bytes(whole[start : start + _LONGEST_PIECE]))

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True
