"""The smallest kind of job, to try the walls: a script whose global `result` is JSON, or bytes instead of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tidegate.python_models.sandbox.link import FrameKind, Link, LinkFrame
from tidegate.python_models.sandbox.sandbox_job import SandboxJob

__all__ = ["run_script"]


def run_script(job: SandboxJob, link: Link) -> Iterator[LinkFrame]:
    names: dict[str, Any] = {"__name__": "script", "values": job.values, "link": link}
    exec(compile(job.source, job.file, "exec", dont_inherit=True), names)
    result = names.get("result")
    if isinstance(result, bytes):
        yield LinkFrame(FrameKind.DATA, {}, result)
        yield LinkFrame(FrameKind.RESULT, {"kind": "arrow"}, b"")
    else:
        yield LinkFrame(FrameKind.RESULT, {"kind": "value", "value": result}, b"")
