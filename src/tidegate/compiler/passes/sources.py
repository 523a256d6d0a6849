"""Sources that could not be asked which tables they have, and names that mean a source and a model at once."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.compiler.drafts import Workspace
from tidegate.compiler.values import SOURCE_UNAVAILABLE, Diagnostic, DiagnosticSeverity, Span
from tidegate.config.lines import line_of
from tidegate.project import Place

__all__ = ["report_sources"]


def report_sources(work: Workspace) -> Iterator[Diagnostic]:
    yield from _taken_names(work)
    yield from _not_asked(work)


def _taken_names(work: Workspace) -> Iterator[Diagnostic]:
    """Spark would look for such a model's table in the source."""
    names = {name.lower(): name for name in work.settings.sources}
    for draft in work.drafts if names else ():
        namespace = draft.model.table.namespace
        if draft.test is None and (source := names.get(namespace.lower())) is not None:
            message = f"the model's namespace '{namespace}' is the name of a source too"
            fix = f"rename [sources.{source}] in {_file(work)}, or move the model to another namespace"
            yield work.error(draft, "SourceNameTaken", message, Place(draft.file), fix)


def _not_asked(work: Workspace) -> Iterator[Diagnostic]:
    """Only those that something reads: a source that nobody uses may be down."""
    if not (work.outside.failures or work.outside.warnings):
        return
    used = {table.namespace for draft in work.drafts for table in draft.content.sources}
    for failure in work.outside.failures:
        if failure.source in used:
            span = _span(work, failure.source)
            error, fix = DiagnosticSeverity.ERROR, failure.remedy
            yield Diagnostic(error, SOURCE_UNAVAILABLE, failure.message, None, span, fix)
    for stale in work.outside.warnings:
        if stale.source in used:
            span = _span(work, stale.source)
            yield Diagnostic(DiagnosticSeverity.WARNING, "StaleSource", stale.message, None, span, stale.failure.remedy)


def _span(work: Workspace, source: str) -> Span:
    try:
        text = work.settings.file.read_text("utf-8-sig")
    except OSError:
        return Span(_file(work), 1)
    return Span(_file(work), line_of(text, ("sources", source)))


def _file(work: Workspace) -> str:
    file = work.settings.file
    name = file.relative_to(work.settings.root) if file.is_relative_to(work.settings.root) else file
    return name.as_posix()
