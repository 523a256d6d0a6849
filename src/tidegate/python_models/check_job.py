"""The job of one of the project's own checks, inside the sandbox: the condition that its function returns, as an
expression of Spark Connect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tidegate.python_models.api_without_inputs import api_without_inputs
from tidegate.python_models.check_arguments import argument_from_json
from tidegate.python_models.code_runner import CodeFailure, line_of, loaded_code
from tidegate.python_models.model_api import CallFacts
from tidegate.python_models.sandbox.link import FrameKind, Link, LinkFrame
from tidegate.python_models.sandbox.sandbox_job import SandboxJob

__all__ = ["run_check_job"]


def run_check_job(job: SandboxJob, link: Link) -> Iterator[LinkFrame]:
    """Values: `name`, `arguments`, `facts`."""
    from pyspark.sql import Column

    from tidegate.python_models.connect.frame_channel import connect_session

    session = connect_session(link)  # functions of Spark ask the active session for the types that texts name
    name, arguments = job.values["name"], job.values["arguments"]
    api = api_without_inputs(CallFacts.of(job.values["facts"]), link.log)
    with loaded_code(job.file, job.source, api, link.log) as module:
        function = module.__dict__[name]
        result = function(**{word: argument_from_json(value) for word, value in arguments.items()})
        if not isinstance(result, Column):
            raise CodeFailure(f"{name} gives {type(result).__name__}, not a Column", line_of(function))
        condition: Any = result
        plan = condition._expr.to_plan(session.client).SerializeToString()
    yield LinkFrame(FrameKind.RESULT, {"kind": "plan"}, plan)
