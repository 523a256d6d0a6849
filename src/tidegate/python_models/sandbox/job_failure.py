"""What is reported of a job that failed: which limit it reached, which setting that is, and what to do."""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from tidegate.amounts import format_duration, size
from tidegate.config.sandbox_settings import SandboxSection
from tidegate.errors import PythonCodeError, RunCancelledError, SandboxDiedError, SandboxMissingError, TidegateError
from tidegate.python_models.sandbox.job_run import JobEnd
from tidegate.python_models.sandbox.printable_text import printable
from tidegate.python_models.sandbox.sandbox_job import SandboxJob
from tidegate.spark.spark_errors import sentence

__all__ = ["failure_of", "raised_by"]

_LONGEST_MESSAGE = 4_000
_LONGEST_TRACEBACK = 40_000


def failure_of(job: SandboxJob, end: JobEnd, section: SandboxSection, timeout: timedelta) -> TidegateError:
    """Of a job that gave no result."""
    if end.stopped == "cancelled":
        return RunCancelledError(f"{job.file} was cancelled")
    if end.wall is not None:
        return SandboxMissingError(
            f"A wall of the sandbox that this system has could not be put up around {job.file}: "
            f"{printable(end.wall.get('wall'))}: {printable(end.wall.get('why'))}",
            remedy="Run again; `tidegate doctor` lists the walls.",
        )
    reason = _reason(end, section)
    if reason in _LIMITS:
        failure = end.failure or {}
        message, remedy = _LIMITS[reason]
        values = {
            "file": job.file,
            "cpu_time": format_duration(section.cpu_time),
            "timeout": format_duration(timeout),
            "memory": size(section.memory),
            "processes": section.processes,
            "file_size": size(section.file_size),
            "local_rows": size(section.local_rows),
            "signal": _signal_name(end.process.get("signal")),
            "code": end.process.get("code"),
            "nonsense": end.nonsense,
        }
        return PythonCodeError(
            message.format(**values),
            reason=reason,
            line=_line(failure),
            traceback=printable(failure.get("traceback"), _LONGEST_TRACEBACK),
            where=_where(job, failure),
            remedy=remedy.format(**values),
        )
    if end.failure is not None:
        error = raised_by(job, end.failure)
        if error.remedy is None and printable(end.failure.get("exception"), 200).endswith(_OUTSIDE):
            error.remedy = _NO_OUTSIDE.format(file=job.file)
        return error
    return SandboxDiedError(
        f"The sandbox ended before {job.file} did, and reported nothing",
        remedy="Run again; if it repeats, the system may be out of memory.",
    )


_LIMITS = {
    "timeout": (
        "{file} was ended after {timeout}",
        "Look for a loop that does not end; or raise `timeout` of [sandbox], or of the model.",
    ),
    "cpu_time": (
        "{file} used more than {cpu_time} of CPU time",
        "Look for a loop that does not end; let Spark do work on many rows; or raise [sandbox] cpu_time.",
    ),
    "memory": (
        "{file} needed more than {memory} of memory",
        "Let Spark do the work instead of collecting rows; or raise [sandbox] memory.",
    ),
    "processes": (
        "{file} tried to start a process, or more than {processes} threads",
        "Code in the sandbox cannot start processes; raise [sandbox] processes for more threads.",
    ),
    "file_size": (
        "{file} wrote more than {file_size} into its folder",
        "Give rows to Spark instead of writing files; or raise [sandbox] file_size.",
    ),
    "local_rows": (
        "{file} returned more than {local_rows} of rows that it had made itself",
        "Return a DataFrame of Spark, so that the rows do not pass through one process; or raise [sandbox] local_rows.",
    ),
    "output": (
        "{file} printed without end, and was stopped",
        "Print less: only the first part of what is printed is kept.",
    ),
    "signal": (
        "The process of {file} was killed by {signal}",
        "A package with native code may have crashed, or memory was short; `print` what it does to find the place.",
    ),
    "exit": (
        "The process of {file} ended itself with status {code}",
        "Return from the model instead of ending the process.",
    ),
    "protocol": (
        "The process of {file} sent what is no answer: {nonsense}",
        "Code in the sandbox must not use the connection to Tidegate itself.",
    ),
}


_OUTSIDE = ("FileNotFoundError", "PermissionError", "ConnectionError", "ConnectError", "URLError", "gaierror")
_NO_OUTSIDE = (
    "In the sandbox there are no files of this machine and no network. Read files with tg.landing_zone; or trust the"
    ' code: trusted = ["{file}"] in [sandbox].'
)
_OUT_OF_BOUNDS = re.compile("would result in out of bounds timestamp|Out of bounds nanosecond timestamp")
_EARLY = "pandas gets times from 1677 to 2262 alone: take them with toArrow(), or leave them out before toPandas()."
_ADVICE = {
    "ModuleNotFoundError": "Install the package into the Python that runs Tidegate. Files of the project cannot be"
    " imported.",
}


def _reason(end: JobEnd, section: SandboxSection) -> str:
    if end.stopped is not None:
        return end.stopped
    if end.process.get("output"):
        return "output"
    if end.nonsense is not None:
        return "protocol"
    if end.failure is not None:
        kind = end.failure.get("kind")
        return kind if isinstance(kind, str) and kind in _LIMITS else "exception"
    number = end.process.get("signal")
    if number == signal.SIGXCPU or (
        number == signal.SIGKILL and end.process.get("cpu", 0) >= section.cpu_time.total_seconds()
    ):
        return "cpu_time"
    if number == signal.SIGXFSZ:
        return "file_size"
    if number == signal.SIGABRT and end.process.get("memory", 0) >= section.memory // 2:
        return "memory"
    if number is not None:
        return "signal"
    return "exit" if end.process.get("code") is not None else "died"


def raised_by(job: SandboxJob, failure: Mapping[str, Any]) -> PythonCodeError:
    """Of an exception of the code, as `describe_failure` gives it."""
    name, message = printable(failure.get("exception"), 200), printable(failure.get("message"), _LONGEST_MESSAGE)
    return PythonCodeError(
        _text(name or "Exception", message),
        line=_line(failure),
        traceback=printable(failure.get("traceback"), _LONGEST_TRACEBACK),
        where=_where(job, failure),
        remedy=printable(failure.get("remedy"), _LONGEST_MESSAGE) or _advice(name, message),
    )


def _advice(name: str, message: str) -> str | None:
    return _EARLY if _OUT_OF_BOUNDS.search(message) else _ADVICE.get(name)


def _text(name: str, message: str) -> str:
    if message and name.startswith("tidegate."):  # it is Tidegate that refused something, in words of its own
        return message
    if message and name.startswith(("pyspark.", "py4j.")):
        return sentence(message)
    return f"{name}: {message}" if message else name


def _where(job: SandboxJob, failure: Mapping[str, Any]) -> str:
    line = _line(failure)
    return f"{job.file}:{line}" if line else job.file


def _line(failure: Mapping[str, Any]) -> int | None:
    line = failure.get("line")
    return line if type(line) is int and 0 < line < 1_000_000 else None


def _signal_name(number: object) -> str:
    try:
        return signal.Signals(number).name if isinstance(number, int) else "a signal"
    except ValueError:
        return f"signal {number}"
