"""Calls of the project's table functions: their arguments, and where they may stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tidegate.compiler.analysis.functions.lookup import NAMES
from tidegate.compiler.compiled import Diagnostic, DiagnosticSeverity, FunctionRead, Span
from tidegate.compiler.drafts import CompilationState, Draft, Rendering
from tidegate.compiler.sql.queries import TableCall
from tidegate.names import nearest
from tidegate.problems import did_you_mean
from tidegate.project import Materialized
from tidegate.project.lib_functions import LibFunction, arguments_of

__all__ = ["check_function_names", "resolve_calls"]


def resolve_calls(
    work: CompilationState, draft: Draft, rendering: Rendering, calls: Sequence[TableCall]
) -> Iterator[Diagnostic]:
    for call in calls:
        function = work.project.functions[call.name.lower()]
        if draft.model.settings.materialized is Materialized.VIEW:
            message = f"a view calls {function.name}, which only a run of Tidegate can do, and others read the view"
            place = work.place(draft, rendering.later, call.start)
            yield work.error(draft, "MisplacedFunction", message, place, "make it a table")
            continue
        read = _read(function, call)
        if isinstance(read, str):
            place = work.place(draft, rendering.later, call.start)
            yield work.error(draft, "WrongArguments", read, place, _signature(function, read))
        elif read not in draft.content.functions:
            draft.content.functions.append(read)


def _read(function: LibFunction, call: TableCall) -> FunctionRead | str:
    if call.arguments is None:
        return f"the arguments of {function.name} must be constants: it is called before the query runs"
    try:
        return FunctionRead(function.name, arguments_of(function, call.arguments))
    except ValueError as error:
        return str(error)


def _signature(function: LibFunction, message: str) -> str:
    optional = function.parameters[function.required :]
    words = [*function.parameters[: function.required], *(f"[{name}]" for name in optional)]
    wrong = message.rpartition(" ")[2].strip("'") if "no parameter" in message else ""
    near = did_you_mean(nearest(wrong, function.parameters)) if wrong else None
    return near or f"write {function.name}({', '.join(words)}), with texts, numbers, true, false or NULL"


def check_function_names(work: CompilationState) -> Iterator[Diagnostic]:
    """Spark would call its own."""
    for name, function in work.project.functions.items():
        if name in NAMES or name in work.own_functions:
            owner = "[spark] functions names" if name in work.own_functions else "Spark has"
            message = f"{owner} a function '{function.name}' already"
            error = DiagnosticSeverity.ERROR
            yield Diagnostic(error, "InvalidLibFunction", message, None, Span(function.file, 1), "rename the file")
