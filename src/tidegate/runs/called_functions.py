"""Table functions of the project, as a run calls them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

from tidegate.compiler.compiled import Compiled
from tidegate.errors import PythonCodeError, SandboxDiedError, SandboxMissingError
from tidegate.names import TableName
from tidegate.python_models.run_sandbox import RunSandbox
from tidegate.runs.context import RunContext

if TYPE_CHECKING:
    from tidegate.python_models.function_views import FunctionCalls

__all__ = ["function_calls", "log_of_code", "versions_of_functions"]


def function_calls(run: RunContext, log: Callable[[str], None]) -> FunctionCalls:
    """`log`: takes each line that the code prints or logs."""
    from tidegate.python_models.function_views import FunctionCalls  # few projects have one
    from tidegate.python_models.model_result import limited_log

    return FunctionCalls(
        run.settings,
        run.compiled.project.functions,
        run.sandbox,
        run.values.run_started_at,
        {**run.settings.vars, **run.vars},
        limited_log(log),
        lambda: run.cancellation.requested,
    )


def versions_of_functions(
    compiled: Compiled,
    selected: Collection[TableName],
    sandbox: RunSandbox,
    run_started_at: str,
    given: Mapping[str, object],
    log: Callable[[str], None],
    cancelled: Callable[[], bool],
) -> Mapping[str, str]:
    """By call, which state of its data it gives now, for functions that say so. `given`: variables of the command line.

    Calls whose arguments depend on the run are not asked. One that fails is left out: its model runs and reports it.
    """
    functions = compiled.project.functions
    models = (compiled.models[table] for table in selected)
    reads = {read.key: read for model in models if model.repeatable and not model.manual for read in model.functions}
    asked = {key: read for key, read in reads.items() if functions[read.name.lower()].gives_version}
    if not asked:
        return {}
    from tidegate.python_models.function_views import FunctionCalls  # few projects have one
    from tidegate.python_models.model_result import limited_log

    variables, shown = {**compiled.settings.vars, **given}, limited_log(log)
    calls = FunctionCalls(compiled.settings, functions, sandbox, run_started_at, variables, shown, cancelled)
    versions = {}
    for key, read in sorted(asked.items()):
        try:
            version = calls.version(read)
        except (PythonCodeError, SandboxDiedError, SandboxMissingError) as error:
            log(f"the version of {key} is not known: {error.message}")
            continue
        if version is not None:
            versions[key] = version
    return versions


def log_of_code(line: str) -> Mapping[str, str]:
    """The data of the event with a line of the log."""
    return {"phase": "log", "message": line}
