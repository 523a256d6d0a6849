"""What a job raised, as the header of a FAILURE frame: without any line of Tidegate. Runs inside the sandbox."""

from __future__ import annotations

import errno
import linecache
import traceback
from pathlib import Path
from typing import Any

from tidegate.python_models.sandbox.sandbox_job import SandboxJob

__all__ = ["describe_failure", "show_source"]

_LONGEST_MESSAGE = 4_000
_LONGEST_TRACEBACK = 40_000
_MOST_CAUSES = 10
_PACKAGE = str(Path(__file__).parents[2]) + "/"


def show_source(job: SandboxJob) -> None:
    """The file itself cannot be read here, and tracebacks quote its lines."""
    linecache.cache[job.file] = (len(job.source), None, job.source.splitlines(keepends=True), job.file)


def describe_failure(error: BaseException, job: SandboxJob) -> dict[str, Any]:
    kind = _kind(error)
    try:
        return _described(error, kind, job)
    except BaseException:  # its class may be the user's own, and do anything
        return {
            "kind": kind,
            "exception": _name(type(error)),
            "message": "",
            "line": _line(error, job),
            "traceback": "",
        }


def _described(error: BaseException, kind: str, job: SandboxJob) -> dict[str, Any]:
    report = traceback.TracebackException.from_exception(error, limit=None)
    _trim(report, job, 0)
    return {
        "kind": kind,
        "exception": _name(type(error)),
        "message": str(error)[:_LONGEST_MESSAGE],
        "line": _line(error, job) or getattr(error, "line", None),
        "remedy": getattr(error, "remedy", None),
        "traceback": "".join(report.format(chain=True))[-_LONGEST_TRACEBACK:],
    }


def _kind(error: BaseException) -> str:
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return "memory"
    if isinstance(error, OSError) and error.errno in (errno.EFBIG, errno.ENOSPC, errno.EDQUOT):
        return "file_size"
    if isinstance(error, OSError) and error.errno == errno.EAGAIN and isinstance(error, BlockingIOError):
        return "processes"
    if type(error) is RuntimeError and "can't start new thread" in str(error):
        return "processes"
    return "exception"


def _name(kind: type) -> str:
    return str(
        kind.__name__ if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{kind.__qualname__}"
    )


def _line(error: BaseException, job: SandboxJob) -> int | None:
    """The innermost line of the user's file."""
    if isinstance(error, SyntaxError) and error.filename == job.file:
        return error.lineno
    line, at = None, error.__traceback__
    while at is not None:
        if at.tb_frame.f_code.co_filename == job.file:
            line = at.tb_lineno
        at = at.tb_next
    return line


def _trim(report: traceback.TracebackException | None, job: SandboxJob, depth: int) -> None:
    """Leave out what was called before the user's file, and Tidegate's own lines after it."""
    if report is None:
        return
    frames = list(report.stack)
    first = next((place for place, frame in enumerate(frames) if frame.filename == job.file), len(frames))
    kept = [frame for frame in frames[first:] if not frame.filename.startswith((_PACKAGE, "<frozen "))]
    report.stack[:] = kept
    if depth == _MOST_CAUSES:
        report.__cause__ = report.__context__ = None
        return
    _trim(report.__cause__, job, depth + 1)
    if report.__context__ is not report.__cause__:
        _trim(report.__context__, job, depth + 1)
