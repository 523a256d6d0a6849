"""What Spark's exceptions mean: a kind, one readable sentence, a place and a remedy."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tidegate.errors import FailureKind

__all__ = ["Failure", "read_failure"]

_KINDS_BY_SQLSTATE = {
    "08": FailureKind.CONNECTION_FAILED,
    "22": FailureKind.QUERY_REJECTED,
    "28": FailureKind.AUTH_FAILED,
    "42": FailureKind.QUERY_REJECTED,
    "0A": FailureKind.QUERY_REJECTED,
    "21": FailureKind.QUERY_REJECTED,
    "54": FailureKind.QUERY_REJECTED,
    "57": FailureKind.TRANSIENT,
    "P0": FailureKind.QUERY_REJECTED,
}

_KINDS_BY_JAVA_CLASS = {
    "java.net.ConnectException": FailureKind.CONNECTION_FAILED,
    "java.net.UnknownHostException": FailureKind.CONNECTION_FAILED,
    "java.net.SocketTimeoutException": FailureKind.TRANSIENT,
    "java.io.FileNotFoundException": FailureKind.NOT_FOUND,
    "java.nio.file.AccessDeniedException": FailureKind.AUTH_FAILED,
    "org.apache.hadoop.security.AccessControlException": FailureKind.AUTH_FAILED,
    "org.apache.iceberg.exceptions.CommitFailedException": FailureKind.CONFLICT,
    "org.apache.iceberg.exceptions.NoSuchTableException": FailureKind.NOT_FOUND,
    "org.apache.iceberg.exceptions.ValidationException": FailureKind.QUERY_REJECTED,
    "java.lang.OutOfMemoryError": FailureKind.TRANSIENT,
}

_PLACE = re.compile(r"\bline (\d+),? pos(?:ition)? \d+")
_ADVICE = re.compile(r"\s*If necessary set \S+ to \S+ to bypass this error\.")
_TASK = re.compile(r"^.*?\(TID \d+\) \([^)]*\): ", re.DOTALL)
_SQLSTATE = re.compile(r"\s*SQLSTATE: [0-9A-Z]{5}")


@dataclass(frozen=True, slots=True)
class Failure:
    """`line` is in the SQL that Spark was given, from 1; `fragment` is the part of it that is to blame."""

    kind: FailureKind
    message: str
    line: int | None = None
    fragment: str | None = None
    remedy: str | None = None


def read_failure(error: BaseException) -> Failure:
    """The facts of an exception that came out of Spark (or of anything else, as kind Unknown)."""
    text = _message_of(error)
    state = _call(error, "getSqlState") or ""
    classes = re.findall(r"\b((?:java|org)\.[\w.]+(?:Exception|Error))\b", text)
    kind = _KINDS_BY_SQLSTATE.get(state[:2], FailureKind.UNKNOWN)
    for name in classes:
        kind = _KINDS_BY_JAVA_CLASS.get(name, kind)
    place = _PLACE.search(str(error))
    remedy = None
    if "No space left on device" in text or "Disk quota exceeded" in text:
        kind, remedy = (
            FailureKind.TRANSIENT,
            "Free disk space where the warehouse and Spark's temporary files are, then run again.",
        )
    elif "Permission denied" in text:
        kind, remedy = FailureKind.AUTH_FAILED, "Give this user write permission to the warehouse folder."
    elif "OutOfMemoryError" in text:
        remedy = "Raise [spark] memory in tidegate.toml."
    return Failure(kind, _sentence(text), int(place.group(1)) if place else None, _fragment(error), remedy)


def _fragment(error: BaseException) -> str | None:
    contexts = getattr(error, "getQueryContext", list)
    try:
        return next((str(context.fragment()) for context in contexts()), None)
    except Exception:
        return None


def _call(error: BaseException, name: str) -> str | None:
    method = getattr(error, name, None)
    try:
        value = method() if callable(method) else None
    except Exception:
        return None
    return value if isinstance(value, str) else None


def _message_of(error: BaseException) -> str:
    """The innermost cause says most: Spark wraps what a task threw in several layers."""
    java = getattr(error, "java_exception", None)
    return _call(error, "getMessage") or (str(java) if java is not None else None) or str(error) or type(error).__name__


def _sentence(text: str) -> str:
    """Without the query plan, the Java stack and the SQLSTATE that follow the first paragraph."""
    caused = re.findall(r"Caused by: ([^\n]+)", text)
    if "Job aborted" in text.split("\n", 1)[0]:
        text = caused[-1] if caused else _TASK.sub("", text)
    text = re.split(r"\n\s*at [\w.$/]+\(|\nDriver stacktrace|;\n'|\n== SQL|\n\+-|\nJVM stacktrace", text)[0]
    text = _ADVICE.sub("", _SQLSTATE.sub("", text)).strip().rstrip(";").strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " ".join(lines[:3]) if lines else "Spark gave no reason"
