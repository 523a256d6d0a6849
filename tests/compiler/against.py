"""A small project with all its diagnostics: files under `before/` are an earlier state that it is compared with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.compiler.projects import build
from tidegate.compiler.changes.interface_changes import change_diagnostics, compare, not_compared
from tidegate.compiler.changes.interfaces import interfaces
from tidegate.compiler.compiled import Diagnostic
from tidegate.compiler.lineage_graph import LineageGraph

__all__ = ["diagnose"]


def diagnose(root: Path, files: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    """In the order of their places."""
    earlier = {name.removeprefix("before/"): text for name, text in files.items() if name.startswith("before/")}
    now = build(root / "now", {name: text for name, text in files.items() if not name.startswith("before/")})
    if not earlier:
        return now.compiled.diagnostics
    before = build(root / "before", earlier).compiled
    unjudged = before.broken | now.compiled.broken
    changes = compare(interfaces(before), interfaces(now.compiled), LineageGraph.of(before).impact, unjudged)
    told = [*change_diagnostics(changes, now.compiled), *not_compared(unjudged, now.compiled, "before")]
    found = [*now.compiled.diagnostics, *told]
    return tuple(sorted(found, key=lambda d: (d.span.file, d.span.line, d.span.col) if d.span else ("", 0, 0)))
