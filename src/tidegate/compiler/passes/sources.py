"""Sources that could not be asked which tables they have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tidegate.compiler.drafts import Workspace
from tidegate.compiler.values import Diagnostic, DiagnosticSeverity, Span

__all__ = ["report_sources"]


def report_sources(work: Workspace) -> Iterator[Diagnostic]:
    """Only those that something reads: a source that nobody uses may be down."""
    used = {table.namespace for draft in work.drafts for table in draft.sources}
    for failure in work.outside.failures:
        if failure.source in used:
            span = _span(work, failure.source)
            yield Diagnostic(DiagnosticSeverity.ERROR, "SourceUnavailable", failure.message, None, span, failure.remedy)
    for stale in work.outside.warnings:
        if stale.source in used:
            span = _span(work, stale.source)
            yield Diagnostic(DiagnosticSeverity.WARNING, "StaleSource", stale.message, None, span, stale.failure.remedy)


def _span(work: Workspace, source: str) -> Span:
    file = work.settings.file
    name = file.relative_to(work.settings.root) if file.is_relative_to(work.settings.root) else file
    return Span(name.as_posix(), _line(file, f"[sources.{source}]"))


def _line(file: Path, heading: str) -> int:
    try:
        lines = file.read_text("utf-8-sig").splitlines()
    except OSError:
        return 1
    return next((number for number, line in enumerate(lines, 1) if line.strip().startswith(heading)), 1)
