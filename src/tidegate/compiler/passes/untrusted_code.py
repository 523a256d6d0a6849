"""Python of the project that is not trusted, held against what it may do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tidegate.compiler.compiled import Diagnostic, DiagnosticSeverity, Span
from tidegate.compiler.drafts import CompilationState, Draft
from tidegate.problems import Place

if TYPE_CHECKING:
    from tidegate.compiler.python_code import CodeProblem

__all__ = ["check_code_files", "check_model_code"]


def check_model_code(work: CompilationState, draft: Draft) -> Iterator[Diagnostic]:
    if draft.python is None:
        return
    for problem in _problems(work, draft.model.file, draft.model.source):
        place = Place(draft.model.file, problem.line, problem.col)
        yield work.error(draft, problem.code, problem.message, place, problem.suggestion)


def check_code_files(work: CompilationState) -> Iterator[Diagnostic]:
    """Those that are no models."""
    for file in work.project.code_files:
        for problem in _problems(work, file.path, file.source):
            span = Span(file.path, problem.line, problem.col)
            error = DiagnosticSeverity.ERROR
            yield Diagnostic(error, problem.code, problem.message, None, span, problem.suggestion)


def _problems(work: CompilationState, file: str, source: str) -> Iterator[CodeProblem]:
    sandbox = work.settings.sandbox
    if sandbox.is_trusted(file):
        return
    # Only here: most projects hold no Python.
    from tidegate.compiler.python_code import SYNTAX, check_source

    for problem in check_source(source, file, sandbox.imports):
        # What is no Python was reported where the file was read.
        if problem.code != SYNTAX:
            yield problem
