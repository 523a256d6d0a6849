"""Table functions of the project, as a run calls them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tidegate.runs.context import RunContext

if TYPE_CHECKING:
    from tidegate.python_models.function_views import FunctionCalls

__all__ = ["function_calls", "log_of_code"]


def function_calls(run: RunContext, log: Callable[[str], None]) -> FunctionCalls:
    """`log`: takes each line that the code prints or logs."""
    from tidegate.python_models.function_views import FunctionCalls  # few projects have one

    return FunctionCalls(
        run.settings,
        run.compiled.project.functions,
        run.sandbox,
        run.values.run_started_at,
        {**run.settings.vars, **run.vars},
        log,
        lambda: run.cancellation.requested,
    )


def log_of_code(line: str) -> Mapping[str, str]:
    """The data of the event with a line of the log."""
    return {"phase": "log", "message": line}
