"""A diagnostic as a modern compiler shows it: the message, the place, the line itself with a marker, the help."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tidegate.compiler.values import Diagnostic, DiagnosticSeverity, Span

__all__ = ["count_line", "render_diagnostic"]

_WORD = re.compile(r"[\w.`@$]+|\S")


def render_diagnostic(diagnostic: Diagnostic, root: Path) -> Iterator[str]:
    """`root` is the folder that spans are relative to."""
    model = f" ({diagnostic.model})" if diagnostic.model and not diagnostic.span else ""
    yield f"{diagnostic.severity.value}[{diagnostic.code}]: {diagnostic.message}{model}"
    margin = ""
    if diagnostic.span:
        margin = " " * len(str(diagnostic.span.line))
        yield from _place(diagnostic.span, root, margin)
    if diagnostic.suggestion:
        yield f"{margin} = help: {diagnostic.suggestion}"


def _place(span: Span, root: Path, margin: str) -> Iterator[str]:
    yield f"{margin}--> {span.file}:{span.line}:{span.col}"
    source = _source_line(root / span.file, span.line)
    if source is None:
        return
    # Tabs would move the marker away from what it marks.
    shown = source.replace("\t", " ")
    start = min(max(span.col - 1, 0), len(shown))
    word = _WORD.match(shown, start)
    yield f"{margin} |"
    yield f"{span.line} | {shown}"
    yield f"{margin} | {' ' * start}{'^' * (len(word.group()) if word else 1)}"


def _source_line(path: Path, line: int) -> str | None:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    return lines[line - 1].rstrip() if 0 < line <= len(lines) else None


def count_line(diagnostics: Iterable[Diagnostic]) -> str:
    severities = [diagnostic.severity for diagnostic in diagnostics]
    counts = [(severity.value, severities.count(severity)) for severity in DiagnosticSeverity]
    return ", ".join(f"{count} {name}{'' if count == 1 else 's'}" for name, count in counts if count)
