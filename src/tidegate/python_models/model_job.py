"""The job of a Python model, inside the sandbox: its result goes back as an unexecuted plan of Spark Connect, or as
rows in Arrow's format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tidegate.python_models.arrow_pieces import frames_of
from tidegate.python_models.code_runner import call_model, line_of, loaded_code
from tidegate.python_models.connect.frame_channel import connect_session
from tidegate.python_models.model_api import CallFacts, ModelApi
from tidegate.python_models.plan_lines import analyze, note_lines
from tidegate.python_models.returned_value import is_spark_frame, rows_of
from tidegate.python_models.sandbox.link import FrameKind, Link, LinkFrame
from tidegate.python_models.sandbox.sandbox_job import SandboxJob

__all__ = ["run_model_job"]


def run_model_job(job: SandboxJob, link: Link) -> Iterator[LinkFrame]:
    port = _ConnectPort(link, job.file)
    api = ModelApi(CallFacts.of(job.values), port)
    with loaded_code(job.file, job.source, api) as module:
        value = call_model(module, api)
        if is_spark_frame(value):
            analyze(value)
            # Functions of the module are pickled now, while it can be found.
            plan = _relation(value)
            yield LinkFrame(FrameKind.RESULT, {"kind": "plan"}, plan)
            return
        line = line_of(module.__dict__.get("model"))
        yield from frames_of(rows_of(value, line), line)


class _ConnectPort:
    """Each input is a table of the proxy, by its handle."""

    def __init__(self, link: Link, file: str) -> None:
        # Before the code runs: PySpark asks for the session of the process where a function is given a type as a text.
        self._session = connect_session(link)
        note_lines(file)
        _raise_only()
        self.log = link.log

    def frame(self, handle: str) -> Any:
        return self._session.table(handle)

    def sql(self, text: str) -> Any:
        return self._session.sql(text)


def _raise_only() -> None:
    """PySpark prints the whole traceback of what cannot be pickled, and raises it, too."""
    import pyspark.util

    def print_nothing(stream: Any) -> None:
        pass

    pyspark.util.print_exec = print_nothing


def _relation(frame: Any) -> bytes:
    plan: bytes = frame._plan.to_proto(frame.sparkSession.client).root.SerializeToString()
    return plan
