"""What a project has: its models, the tables of its sources, the branches of its lake, and an overview."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tidegate.config import Settings
from tidegate.errors import SourceError, TidegateError
from tidegate.lake import is_initialized, open_catalog
from tidegate.names import TableName
from tidegate.operations.workspace import Workspace

if TYPE_CHECKING:
    from tidegate.compiler.compiled import Compiled
    from tidegate.sources import Discovery, SourceTable
    from tidegate.state import ModelRunRecord, RunRecord

__all__ = [
    "ListedBranch",
    "ListedModel",
    "ModelList",
    "Overview",
    "SourceList",
    "list_branches",
    "list_models",
    "list_sources",
    "overview",
]


@dataclass(frozen=True, slots=True)
class ListedModel:
    model: str
    strategy: str
    upstreams: tuple[str, ...]
    zones: tuple[str, ...]
    functions: tuple[str, ...]
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
            functions=tuple(dict.fromkeys(read.name for read in model.functions)),
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


@dataclass(frozen=True, slots=True)
class SourceList:
    discovery: Discovery
    declared: int
    """How many sources the project has."""

    @property
    def exit_code(self) -> int:
        return 1 if self.discovery.failures else 0

    def document(self) -> dict[str, Any]:
        return {
            "status": "error" if self.discovery.failures else "success",
            "tables": [_table_document(table) for table in self.discovery.tables],
            "failures": [_failure_document(failure) for failure in self.discovery.failures],
            "warnings": [
                {"source": warning.source, "message": warning.message, "found_at": warning.found_at}
                for warning in self.discovery.warnings
            ],
        }


def list_sources(settings: Settings) -> SourceList:
    # The other lists live in this file too, and must not wait for what reads sources.
    from tidegate.sources import Discovery, known_tables, together
    from tidegate.sources.chunk_tables import as_source_tables

    chunked = as_source_tables(settings)
    discovery = together([known_tables(settings, refresh=True), Discovery(tables=chunked)])
    return SourceList(discovery, len(settings.sources) + len(chunked))


def _table_document(table: SourceTable) -> dict[str, Any]:
    return {
        "source": table.source,
        "kind": table.kind,
        "table": str(table.table),
        "schema": table.table.layer,
        "name": table.table.name,
        "columns": [
            {"name": column.name, "type": str(column.type) if column.type.known else None, "nullable": column.nullable}
            for column in table.relation.columns
        ],
        "complete": table.relation.complete,
        "problem": table.problem,
    }


def _failure_document(failure: SourceError) -> dict[str, Any]:
    return {
        "source": failure.source,
        "failure_kind": failure.kind.value,
        "error": failure.message,
        "where": failure.where,
        "remedy": failure.remedy,
    }


@dataclass(frozen=True, slots=True)
class ListedBranch:
    name: str
    created_at: datetime
    heartbeat_at: datetime
    kept: bool
    """It waits for `publish`."""

    changed_tables: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        return asdict(self)


def list_branches(settings: Settings) -> tuple[ListedBranch, ...]:
    if not is_initialized(settings):
        return ()
    catalog, namespace = open_catalog(settings), settings.project.namespace
    return tuple(
        ListedBranch(
            name=branch.name,
            created_at=branch.created_at,
            heartbeat_at=branch.heartbeat_at,
            kept=branch.kept,
            changed_tables=tuple(change.table.short(namespace) for change in catalog.changed_tables(branch.name)),
        )
        for branch in catalog.list_branches()
    )


@dataclass(frozen=True, slots=True)
class Overview:
    project: str
    root: str
    layers: dict[str, int]
    """How many models each layer has."""

    last_run: RunRecord | None
    """None also where the history does not answer."""

    @property
    def models(self) -> int:
        return sum(self.layers.values())

    def document(self) -> dict[str, Any]:
        last = self.last_run
        run = last and {"run_id": last.run_id, "status": last.status, "started_at": last.started_at}
        facts = {"project": self.project, "root": self.root, "models": self.models}
        return {**facts, "layers": self.layers, "last_run": run}


def overview(workspace: Workspace) -> Overview:
    from tidegate.project.model_files import discover

    settings, last = workspace.settings, None
    models = discover(settings.root, settings.project.namespace).models
    with suppress(TidegateError), workspace.state() as state:
        last = next(iter(state.runs(1, project=settings.project.name)), None)
    layers = Counter(files.table.layer for files in models)
    return Overview(settings.project.name, str(settings.root), dict(layers), last)
