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


def frames_of(rows: Any, line: int | None) -> Iterator[LinkFrame]:
    """DATA frames, as the batches come, and the RESULT. `line`: where the code begins that returned the rows."""
    import pyarrow as pa

    sink = _PieceSink()
    try:
        stored = StoredRows(rows, "")
        schema = stored.schema.with_metadata({**(rows.schema.metadata or {}), LINE: str(line or "").encode()})
        with pa.ipc.new_stream(pa.PythonFile(sink, mode="w"), schema) as writer:
            for batch in stored:
                writer.write_batch(batch)
                yield from sink.take()
    except QueryError as error:
        raise CodeFailure(error.message, line, error.remedy) from error
    yield from sink.take()
    yield LinkFrame(FrameKind.RESULT, {"kind": "arrow"}, b"")


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
        if pieces:
            yield LinkFrame(FrameKind.DATA, {}, b"".join(pieces))

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True
