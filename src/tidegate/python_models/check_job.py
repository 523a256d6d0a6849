"""The job of one of the project's own checks, inside the sandbox: the condition that its function returns, as an
expression of Spark Connect."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

from tidegate.python_models.code_runner import CodeFailure, line_of, loaded_code
from tidegate.python_models.model_api import CallFacts
from tidegate.python_models.sandbox.link import FrameKind, Link, LinkFrame
from tidegate.python_models.sandbox.sandbox_job import SandboxJob
from tidegate.python_models.table_function import api_of_function

__all__ = ["run_check_job"]


def run_check_job(job: SandboxJob, link: Link) -> Iterator[LinkFrame]:
    """Values: `name`, `arguments`, `facts`."""
    from pyspark.sql import Column

    from tidegate.python_models.connect.frame_channel import connect_session

    def log(message: str) -> None:
        link.send(FrameKind.LOG, {"message": message})

    session = connect_session(link)  # functions of Spark ask the active session for the types that texts name
    name, arguments = job.values["name"], job.values["arguments"]
    with loaded_code(job.file, job.source, api_of_function(CallFacts.of(job.values["facts"]), log), log) as module:
        function = module.__dict__[name]
        result = function(**{word: _passed(value) for word, value in arguments.items()})
        if not isinstance(result, Column):
            raise CodeFailure(f"{name} gives {type(result).__name__}, not a Column", line_of(function))
        condition: Any = result
        plan = condition._expr.to_plan(session.client).SerializeToString()
    yield LinkFrame(FrameKind.RESULT, {"kind": "plan"}, plan)


def _passed(value: Any) -> Any:
    """From JSON, see `check_conditions`."""
    from pyspark.sql import functions as f

    match value:
        case {"column": str(text)}:
            return f.col(text)
        case {"decimal": str(text)}:
            return Decimal(text)
        case {"seconds": float(number)}:
            return timedelta(seconds=number)
        case list():
            return [_passed(one) for one in value]
    return value
