"""The job of a Python model, inside the sandbox: its result goes back as an unexecuted plan of Spark Connect, or as
rows in Arrow's format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tidegate.errors import QueryError
from tidegate.python_models.code_runner import CodeFailure, call_model, line_of, loaded_code
from tidegate.python_models.connect.frame_channel import connect_session
from tidegate.python_models.model_api import CallFacts, ModelApi
from tidegate.python_models.plan_lines import analyze, note_lines
from tidegate.python_models.returned_value import LINE, is_spark_frame, rows_of
from tidegate.python_models.sandbox.link import FrameKind, Link, LinkFrame
from tidegate.python_models.sandbox.sandbox_job import SandboxJob
from tidegate.python_models.stored_rows import StoredRows

__all__ = ["pieces_of", "run_model_job"]


def run_model_job(job: SandboxJob, link: Link) -> Iterator[LinkFrame]:
    def log(message: str) -> None:
        link.send(FrameKind.LOG, {"message": message})

    port = _ConnectPort(link, job.file, log)
    api = ModelApi(CallFacts.of(job.values), port)
    with loaded_code(job.file, job.source, api) as module:
        value = call_model(module, api)
        if is_spark_frame(value):
            analyze(value, job.file)
            # Functions of the module are pickled now, while it can be found.
            plan = _relation(value)
            yield LinkFrame(FrameKind.RESULT, {"kind": "plan"}, plan)
            return
        line = line_of(module.__dict__.get("model"))
        for piece in pieces_of(rows_of(value, line), line):
            yield LinkFrame(FrameKind.DATA, {}, piece)
    yield LinkFrame(FrameKind.RESULT, {"kind": "arrow"}, b"")


class _ConnectPort:
    """Each input is a table of the proxy, by its handle."""

    def __init__(self, link: Link, file: str, log: Callable[[str], None]) -> None:
        # Before the code runs: PySpark asks for the session of the process where a function is given a type as a text.
        self._session = connect_session(link)
        note_lines(file)
        self.log = log

    def frame(self, handle: str) -> Any:
        return self._session.table(handle)

    def sql(self, text: str) -> Any:
        return self._session.sql(text)


def _relation(frame: Any) -> bytes:
    plan: bytes = frame._plan.to_proto(frame.sparkSession.client).root.SerializeToString()
    return plan


def pieces_of(rows: Any, line: int | None) -> Iterator[bytes]:
    """An IPC stream, in pieces as its batches come. `line`: where the model begins."""
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


class _PieceSink:
    closed = False

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self._pieces.append(piece)
        return len(piece)

    def take(self) -> list[bytes]:
        pieces, self._pieces = self._pieces, []
        return [b"".join(pieces)] if pieces else []

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True
