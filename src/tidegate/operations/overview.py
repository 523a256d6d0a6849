"""A project in a few facts: its models by layer, and its last run."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tidegate.errors import TidegateError
from tidegate.operations.workspace import Workspace
from tidegate.project.discover import discover
from tidegate.state import RunRecord

__all__ = ["Overview", "overview"]


@dataclass(frozen=True, slots=True)
class Overview:
    """`layers`: how many models each has. `last_run`: None also where the history does not answer."""

    project: str
    root: str
    layers: dict[str, int]
    last_run: RunRecord | None

    @property
    def models(self) -> int:
        return sum(self.layers.values())

    def document(self) -> dict[str, Any]:
        last = self.last_run
        run = last and {"run_id": last.run_id, "status": last.status, "started_at": last.started_at}
        facts = {"project": self.project, "root": self.root, "models": self.models}
        return {**facts, "layers": self.layers, "last_run": run}


def overview(workspace: Workspace) -> Overview:
    settings, last = workspace.settings, None
    models = discover(settings.root, settings.project.namespace).models
    with suppress(TidegateError), workspace.state() as state:
        last = next(iter(state.runs(1, project=settings.project.name)), None)
    layers = Counter(files.table.layer for files in models)
    return Overview(settings.project.name, str(settings.root), dict(layers), last)
