"""What was found while the files were read, and models that claim the same table."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.compiler.drafts import Workspace
from tidegate.compiler.values import Diagnostic, DiagnosticSeverity, Span
from tidegate.project import Place, Problem, Severity

__all__ = ["report_problems"]

_SEVERITIES = {Severity.ERROR: DiagnosticSeverity.ERROR, Severity.WARN: DiagnosticSeverity.WARNING}


def report_problems(work: Workspace) -> Iterator[Diagnostic]:
    for problem in (*work.project.problems, *work.templates.problems):
        yield _diagnostic(problem)
    first: dict[str, str] = {}
    for draft in (draft for draft in work.drafts if draft.test is None):
        name = str(draft.model.table).lower()
        if name in first:
            message = f"{work.short(draft.model.table)} is made by this file and by {first[name]}"
            yield work.error(draft, "DuplicateModel", message, Place(draft.file), "remove or rename one of them")
        first.setdefault(name, draft.file)


def _diagnostic(problem: Problem) -> Diagnostic:
    span = Span(problem.place.file, problem.place.line, problem.place.col)
    severity = _SEVERITIES[problem.severity]
    return Diagnostic(severity, problem.code, problem.message, problem.model, span, problem.suggestion)
