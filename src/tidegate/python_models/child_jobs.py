"""The kinds of jobs that a sandbox runs. This is imported inside the sandbox."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tidegate.python_models.check_job import run_check_job
from tidegate.python_models.model_job import run_model_job
from tidegate.python_models.sandbox.link import Link, LinkFrame
from tidegate.python_models.sandbox.sandbox_job import SandboxJob
from tidegate.python_models.sandbox.script_job import run_script
from tidegate.python_models.table_function import run_function_job

__all__ = ["JOBS", "ChildJob"]

ChildJob = Callable[[SandboxJob, Link], Iterator[LinkFrame]]
"""Gives DATA frames, if any, and one RESULT. What it raises becomes a FAILURE; calls of Spark go over the link."""

JOBS: Mapping[str, ChildJob] = {
    "check": run_check_job,
    "function": run_function_job,
    "model": run_model_job,
    "script": run_script,
}
