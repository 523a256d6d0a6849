"""Errors of Spark as a sandboxed model may see them: without paths, names of views, and stacks of the JVM."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status

from tidegate.python_models.sandbox.sandbox_job import CallRefusedError

__all__ = ["ScrubbedText", "scrubbed_error"]

_PATHS = re.compile(
    r"""
    \b(?:file|s3[an]?|gs|abfss?|wasbs?|hdfs|jdbc|https?|dbfs|classpath|jar)[:/][^\s\]\),;'"`]*  # URIs
    | (?<![\w.:/<])/(?:[\w.\-%=+@~]+/)+[\w.\-%=+@~]*                                            # absolute paths
    """,
    re.VERBOSE,
)
_STACK = re.compile(r"\n[ \t]*(?:at [\w.$]+\(|JVM stacktrace:|Caused by: ).*", re.DOTALL)
_PLAN = re.compile(r"(SQLSTATE: \w{5}(?:; line \d+ pos \d+)?);\n['\w].*", re.DOTALL)
"""The plan behind the message of the analyzer, which names branches and views."""
_KEPT = ("classes", "errorClass", "sqlState")
_LONGEST = 20_000


class ScrubbedText:
    """`views`: what the user wrote, by the name of the view that stands for it."""

    def __init__(self, views: Mapping[str, str]) -> None:
        self._views = {view.lower(): name for view, name in views.items()}
        names = "|".join(sorted(map(re.escape, self._views)))
        self._names = re.compile(rf"(?:`?global_temp`?\.)?`?\b({names})\b`?", re.IGNORECASE) if names else None

    def __call__(self, text: str) -> str:
        text = text[: 5 * _LONGEST]
        text = _PATHS.sub("<path>", _PLAN.sub(r"\1", _STACK.sub("", text)))
        if self._names is not None:
            text = self._names.sub(lambda found: self._views[found[1].lower()], text)
        return text[:_LONGEST]


def scrubbed_error(error: grpc.RpcError, scrub: ScrubbedText, details_of: Callable[[str], Any]) -> CallRefusedError:
    """With Spark's condition and the whole message. `details_of`: what the server knows of an error, by its id."""
    code: grpc.StatusCode = error.code()
    status = None
    with contextlib.suppress(ValueError):
        status = rpc_status.from_call(error)
    info = _info(status)
    if status is None or info is None:
        message = scrub(str(error.details() or code.name))
        return CallRefusedError(code.name, message)
    message = status.message
    with contextlib.suppress(grpc.RpcError, IndexError):
        if info.metadata.get("errorId"):
            details = details_of(info.metadata["errorId"])
            if details.HasField("root_error_idx"):
                message = details.errors[details.root_error_idx].message or message
    message = scrub(message)
    kept = ErrorInfo(reason=info.reason, domain=info.domain)
    kept.metadata.update({key: info.metadata[key] for key in _KEPT if key in info.metadata})
    if parameters := _parameters(info, scrub):
        kept.metadata["messageParameters"] = parameters
    packed = AnyMessage()
    packed.Pack(kept)
    cleaned = Status(code=code.value[0], message=message, details=[packed])
    return CallRefusedError(code.name, message, cleaned.SerializeToString())


def _info(status: Any) -> ErrorInfo | None:
    for detail in status.details if status is not None else ():
        if detail.Is(ErrorInfo.DESCRIPTOR):
            info = ErrorInfo()
            detail.Unpack(info)
            return info
    return None


def _parameters(info: ErrorInfo, scrub: ScrubbedText) -> str:
    try:
        parameters = json.loads(info.metadata.get("messageParameters") or "{}")
    except ValueError:
        return ""
    return json.dumps({str(key): scrub(str(value)) for key, value in parameters.items()}) if parameters else ""
