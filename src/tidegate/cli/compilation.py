"""One compilation of a project as the command `compile` tells it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tidegate.cli.context import Workspace
from tidegate.cli.diagnostics import count_line, render_diagnostics
from tidegate.cli.paint import Paint, plain
from tidegate.cli.table import plural
from tidegate.compiler import compile_project
from tidegate.compiler.values import Compiled, Diagnostic, DiagnosticSeverity
from tidegate.project import load_project
from tidegate.project.git_ref import at_git_ref, settings_of_past

__all__ = ["PUBLISHED", "Compilation", "compile_workspace"]

PUBLISHED = "published"
"""Stands for the lake's last published state where else a git ref is named."""


@dataclass(frozen=True, slots=True)
class Compilation:
    """`root`: what the places of its diagnostics are relative to. `models`: how many there are, sound or not."""

    root: Path
    models: int
    diagnostics: tuple[Diagnostic, ...]
    seconds: float

    @property
    def exit_code(self) -> int:
        return int(any(d.severity is DiagnosticSeverity.ERROR for d in self.diagnostics))

    def document(self) -> dict[str, Any]:
        return {
            "diagnostics": [asdict(diagnostic) for diagnostic in self.diagnostics],
            "models": self.models,
            "duration_ms": round(self.seconds * 1000),
        }

    def lines(self, paint: Paint = plain) -> Iterator[str]:
        yield from render_diagnostics(self.diagnostics, self.root, paint)
        found = count_line(self.diagnostics) or "no errors"
        yield f"{plural(self.models, 'model')}, {found} in {_took(self.seconds)}"


def _took(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 0.1 else f"{round(seconds * 1000)} ms"


def compile_workspace(workspace: Workspace, variables: Mapping[str, str], against: str | None = None) -> Compilation:
    started = time.perf_counter()
    compiled = workspace.compile(variables)
    found = [*compiled.diagnostics, *_changes(workspace, compiled, variables, against)]
    found.sort(key=_place)
    return Compilation(workspace.settings.root, _count(compiled), tuple(found), time.perf_counter() - started)


def _changes(
    workspace: Workspace, compiled: Compiled, variables: Mapping[str, str], against: str | None
) -> tuple[Diagnostic, ...]:
    """What readers of the tables would notice, compared with a git ref, or with what was last published."""
    if against is None:
        return ()
    from tidegate.compiler.change_diagnostics import change_diagnostics
    from tidegate.compiler.changes import compare
    from tidegate.compiler.interfaces import interfaces, published_interfaces
    from tidegate.compiler.lineage import LineageGraph

    project = load_project(workspace.settings)
    broken = {model.table for model in project.models if model.table not in compiled.models}
    if against == PUBLISHED:
        namespaces = {model.table.namespace for model in project.models}
        before, reach = published_interfaces(workspace.heads(), namespaces), LineageGraph.of(compiled).impact
    else:
        with at_git_ref(workspace.settings.root, against) as folder:
            past_settings = settings_of_past(folder, workspace.settings)
            past_project = load_project(past_settings)
            past = compile_project(past_project, past_settings, workspace.heads(), variables)
            broken |= {model.table for model in past_project.models if model.table not in past.models}
            before, reach = interfaces(past), LineageGraph.of(past).impact
    changes = compare(before, interfaces(compiled), reach, unjudged=broken)
    return tuple(change_diagnostics(changes, compiled))


def _place(diagnostic: Diagnostic) -> tuple[str, int, int]:
    span = diagnostic.span
    return (span.file, span.line, span.col) if span else ("", 0, 0)


def _count(compiled: Compiled) -> int:
    """Models with errors are not among the compiled ones."""
    failed = {diagnostic.model for diagnostic in compiled.errors if diagnostic.model}
    return len(failed | {table.short(compiled.namespace) for table in compiled.models})
