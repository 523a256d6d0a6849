"""Everything that is wrong with a project, and what changed for readers of its tables."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tidegate.compiler import compile_project
from tidegate.compiler.compiled import Compiled, Diagnostic, DiagnosticSeverity, in_order
from tidegate.compiler.diagnostic_registry import DiagnosticKind, registry
from tidegate.compiler.from_disk import sources_named
from tidegate.config import FILE_NAME
from tidegate.errors import ConfigError, SelectionError
from tidegate.names import nearest
from tidegate.operations.workspace import Workspace
from tidegate.project import load_project
from tidegate.project.loading import PROJECT_FOLDERS
from tidegate.project.model_files import PROJECT_ENDINGS
from tidegate.sources import known_tables

__all__ = ["PROJECT_ENDINGS", "PROJECT_FOLDERS", "PUBLISHED", "Compilation", "compile_workspace", "explain"]

PUBLISHED = "published"
"""Stands for the lake's last published state where else a git ref is named."""


@dataclass(frozen=True, slots=True)
class Compilation:
    root: Path
    """What the places of its diagnostics are relative to."""

    models: int
    """How many there are, with or without errors."""

    diagnostics: tuple[Diagnostic, ...]
    seconds: float

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        return tuple(d for d in self.diagnostics if d.severity is DiagnosticSeverity.ERROR)

    @property
    def exit_code(self) -> int:
        return 1 if self.errors else 0

    def document(self) -> dict[str, Any]:
        return {
            "diagnostics": [asdict(diagnostic) for diagnostic in self.diagnostics],
            "models": self.models,
            "duration_ms": round(self.seconds * 1000),
        }


def compile_workspace(workspace: Workspace, variables: Mapping[str, str], against: str | None = None) -> Compilation:
    started = time.perf_counter()
    compiled = workspace.compile(variables)
    diagnostics = in_order([*compiled.diagnostics, *_changes(workspace, compiled, variables, against)])
    return Compilation(
        workspace.settings.root,
        len(compiled.models) + len(compiled.broken),
        diagnostics,
        time.perf_counter() - started,
    )


def _changes(
    workspace: Workspace, compiled: Compiled, variables: Mapping[str, str], against: str | None
) -> Iterator[Diagnostic]:
    """What readers of the tables would notice, compared with a git ref, or with what was last published."""
    if against is None:
        return
    from tidegate.compiler.changes.interface_changes import change_diagnostics, compare, not_compared
    from tidegate.compiler.changes.interfaces import interfaces, published_interfaces
    from tidegate.compiler.lineage_graph import LineageGraph

    now, unjudged = interfaces(compiled), set(compiled.broken)
    if against == PUBLISHED:
        namespaces = {table.namespace for table in (*compiled.models, *compiled.broken)}
        before, reach = published_interfaces(workspace.heads(), namespaces), LineageGraph.of(compiled).impact
    else:
        past = _past(workspace, variables, against)
        unjudged |= past.broken
        before, reach = interfaces(past), LineageGraph.of(past).impact
    yield from change_diagnostics(compare(before, now, reach, unjudged), compiled)
    yield from not_compared(unjudged & (before.keys() | now.keys() | compiled.broken), compiled, against)


def _past(workspace: Workspace, variables: Mapping[str, str], ref: str) -> Compiled:
    """The project as it was, over the lake and the sources of today."""
    from tidegate.project.git_ref import at_git_ref, settings_of_past

    with at_git_ref(workspace.settings.root, ref) as folder:
        try:
            settings = settings_of_past(folder, workspace.settings)
        except ConfigError as error:
            message = f"the project as it was at '{ref}' cannot be read: {error.message.replace(str(folder), '')}"
            raise SelectionError(message, where=FILE_NAME, remedy="compare with another ref") from error
        project = load_project(settings)
        discovery = known_tables(settings, names=sources_named(project, settings, variables))
        return compile_project(project, settings, workspace.heads(), variables, discovery)


def explain(code: str) -> DiagnosticKind:
    """What a diagnostic means; `code` in any case."""
    kinds = registry()
    kind = next((kind for name, kind in kinds.items() if name.lower() == code.lower()), None)
    if kind is None:
        close = nearest(code, kinds)
        meant = f"Did you mean {' or '.join(close)}? " if close else ""
        raise SelectionError(f"There is no diagnostic '{code}'", remedy=f"{meant}docs/diagnostics.md lists all.")
    return kind
