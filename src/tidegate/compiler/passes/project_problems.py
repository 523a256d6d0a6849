"""Problems found while files were read, models that claim one table, and sources that did not answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tidegate.compiler.compiled import SOURCE_UNAVAILABLE, Diagnostic, DiagnosticSeverity, Span
from tidegate.compiler.drafts import CompilationState
from tidegate.config.toml_lines import line_of
from tidegate.names import TableName
from tidegate.project import Place, Problem, Severity
from tidegate.sources.chunk_tables import CHUNK_LAYER

__all__ = ["report_problems", "report_sources"]

_SEVERITIES = {Severity.ERROR: DiagnosticSeverity.ERROR, Severity.WARN: DiagnosticSeverity.WARNING}


def report_problems(work: CompilationState) -> Iterator[Diagnostic]:
    for problem in (*work.project.problems, *work.templates.problems):
        yield _diagnostic(problem)
    first: dict[str, str] = {}
    chunked = _chunked(work)
    for draft in (draft for draft in work.drafts if draft.test is None):
        name = str(draft.model.table).lower()
        if name in first:
            message = f"{work.short(draft.model.table)} is made by this file and by {first[name]}"
            yield work.error(draft, "DuplicateModel", message, Place(draft.file), "remove or rename one of them")
        first.setdefault(name, draft.file)
        source = chunked.get(name)
        if source is not None:
            message = f"{work.short(draft.model.table)} is made by this file and by [chunks.sources.{source}]"
            yield work.error(draft, "DuplicateModel", message, Place(draft.file), "rename one of them")


def _chunked(work: CompilationState) -> Mapping[str, str]:
    """The sources of chunked loads, by the tables that they fill."""
    namespace = work.settings.project.namespace
    return {str(TableName(namespace, CHUNK_LAYER, name)).lower(): name for name in work.settings.chunks.sources}


def _diagnostic(problem: Problem) -> Diagnostic:
    span = Span(problem.place.file, problem.place.line, problem.place.col)
    severity = _SEVERITIES[problem.severity]
    return Diagnostic(severity, problem.code, problem.message, problem.model, span, problem.suggestion)


def report_sources(work: CompilationState) -> Iterator[Diagnostic]:
    yield from _taken_names(work)
    yield from _unavailable(work)


def _taken_names(work: CompilationState) -> Iterator[Diagnostic]:
    """Spark would look for such a model's table in the source."""
    names = {name.lower(): name for name in work.settings.sources}
    for draft in work.drafts if names else ():
        namespace = draft.model.table.namespace
        if draft.test is None and (source := names.get(namespace.lower())) is not None:
            message = f"the model's namespace '{namespace}' is the name of a source too"
            fix = f"rename [sources.{source}] in {_file(work)}, or move the model to another namespace"
            yield work.error(draft, "SourceNameTaken", message, Place(draft.file), fix)


def _unavailable(work: CompilationState) -> Iterator[Diagnostic]:
    """Only sources that a model reads: an unused source may be down."""
    if not (work.external.failures or work.external.warnings):
        return
    used = {table.namespace for draft in work.drafts for table in draft.content.sources}
    for failure in work.external.failures:
        if failure.source in used:
            span = _span(work, failure.source)
            error, fix = DiagnosticSeverity.ERROR, failure.remedy
            yield Diagnostic(error, SOURCE_UNAVAILABLE, failure.message, None, span, fix)
    for stale in work.external.warnings:
        if stale.source in used:
            span = _span(work, stale.source)
            yield Diagnostic(DiagnosticSeverity.WARNING, "StaleSource", stale.message, None, span, stale.failure.remedy)


def _span(work: CompilationState, source: str) -> Span:
    try:
        text = work.settings.file.read_text("utf-8-sig")
    except OSError:
        return Span(_file(work), 1)
    return Span(_file(work), line_of(text, ("sources", source)))


def _file(work: CompilationState) -> str:
    file = work.settings.file
    name = file.relative_to(work.settings.root) if file.is_relative_to(work.settings.root) else file
    return name.as_posix()
