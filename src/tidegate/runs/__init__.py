"""The life of a run, from its registration to its result."""

from tidegate.runs.options import RunOptions
from tidegate.runs.result import RunResult

__all__ = ["RunOptions", "RunResult"]
