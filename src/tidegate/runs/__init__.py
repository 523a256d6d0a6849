"""A run from top to bottom."""

from tidegate.runs.kept import publish_run
from tidegate.runs.options import RunOptions
from tidegate.runs.result import RunResult
from tidegate.runs.run import run_project

__all__ = ["RunOptions", "RunResult", "publish_run", "run_project"]
