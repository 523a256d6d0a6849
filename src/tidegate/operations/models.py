"""The models of a project, with what became of each when it last ran."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tidegate.compiler.values import Compiled
from tidegate.names import TableName
from tidegate.operations.workspace import Workspace
from tidegate.state import ModelRunRecord

__all__ = ["ListedModel", "ModelList", "list_models"]


@dataclass(frozen=True, slots=True)
class ListedModel:
    model: str
    strategy: str
    upstreams: tuple[str, ...]
    zones: tuple[str, ...]
    tags: tuple[str, ...]
    path: str
    description: str
    last_status: str | None
    last_run: str | None

    @classmethod
    def of(cls, table: TableName, compiled: Compiled, last: ModelRunRecord | None) -> ListedModel:
        model = compiled.models[table]
        return cls(
            model=table.short(compiled.namespace),
            strategy=model.model.settings.written_as,
            upstreams=tuple(upstream.short(compiled.namespace) for upstream in (*model.depends_on, *model.sources)),
            zones=model.zones,
            tags=model.model.settings.tags,
            path=str(model.model.path),
            description=model.model.settings.description,
            last_status=last.status if last else None,
            last_run=last.run_id if last else None,
        )


@dataclass(frozen=True, slots=True)
class ModelList:
    models: tuple[ListedModel, ...]
    compiled: Compiled

    def document(self) -> dict[str, Any]:
        diagnostics = [asdict(diagnostic) for diagnostic in self.compiled.diagnostics]
        return {"models": [asdict(model) for model in self.models], "diagnostics": diagnostics}


def list_models(workspace: Workspace, select: Sequence[str] = (), exclude: Sequence[str] = ()) -> ModelList:
    """In order of name. The project may have errors."""
    compiled = workspace.compile()
    selected = workspace.select(compiled, select, exclude, ephemeral=True)
    with workspace.state() as state:
        latest = state.latest_of_each_model()
    names = sorted((table.short(compiled.namespace), table) for table in selected)
    return ModelList(tuple(ListedModel.of(table, compiled, latest.get(name)) for name, table in names), compiled)
