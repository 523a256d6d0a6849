"""The line of a Python model behind an error of Spark: Spark computes what the code asked for when it is written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tidegate.errors import FailureKind, ModelError, QueryError
from tidegate.failures import causes

__all__ = ["with_place"]


_OF_A_SERVICE = (FailureKind.UNKNOWN, FailureKind.AUTH_FAILED, FailureKind.QUOTA_EXCEEDED)
"""What is known by words of the message. In a function they are the author's, and may not end or slow a whole run."""


def with_place(explained: ModelError, error: BaseException, file: str) -> ModelError:
    """`explained`: the error for the author. `file`: of the model."""
    if isinstance(explained, QueryError):
        in_worker = _line_in_worker(error, file)
        line = in_worker or _line_in_plan(error, file)
        explained.where = f"{file}:{line}" if line else file
        if explained.kind in _OF_A_SERVICE and (in_worker or _is_of_a_function(error)):
            explained.kind = FailureKind.QUERY_REJECTED
    return explained


def _is_of_a_function(error: BaseException) -> bool:
    """It was raised by Python in one of Spark's workers."""
    return any("PythonException" in f"{type(each).__name__} {each}" for each in causes(error))


def _line_in_worker(error: BaseException, file: str) -> int | None:
    """Of a function of the file that Spark called."""
    lines = [line for each in causes(error) for line in re.findall(rf'File "{re.escape(file)}", line (\d+)', str(each))]
    return int(lines[-1]) if lines else None


def _line_in_plan(error: BaseException, file: str) -> int | None:
    """Where the part of the plan was made that failed."""
    sites = "\n".join(_call_site(context) for each in causes(error) for context in _contexts(each))
    line = re.search(rf"^{re.escape(file)}:(\d+)$", sites, re.MULTILINE)
    return int(line[1]) if line else None


def _contexts(error: BaseException) -> Sequence[Any]:
    try:
        return list(error.getQueryContext())  # type: ignore[attr-defined]
    except Exception:  # no exception of Spark's, or its JVM has ended
        return ()


def _call_site(context: Any) -> str:
    try:
        return str(context.callSite())
    except Exception:  # the place is one in SQL
        return ""
