"""Everything that is known about one model without starting a JVM."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from typing import Any

from tidegate.checks.check_values import Check
from tidegate.compiler.compiled import CompiledModel
from tidegate.lake.iceberg_types import type_text
from tidegate.lake.metadata import TableMetadata, ViewMetadata
from tidegate.lake.progress import Progress
from tidegate.operations.redact import HiddenColumnRedactor
from tidegate.operations.workspace import Workspace
from tidegate.project.model import ModelSettings
from tidegate.state import AnomalyRecord, ModelRunRecord, QualityRecord

__all__ = ["ModelFacts", "TableFacts", "gather_facts"]


@dataclass(frozen=True, slots=True)
class TableFacts:
    """A published table by its own metadata. A view has no rows of its own."""

    is_view: bool
    columns: tuple[tuple[str, str], ...]
    location: str
    rows: int = 0
    files: int = 0
    bytes: int = 0
    snapshots: int = 0
    changed_at: datetime | None = None
    progress: Progress | None = None


@dataclass(frozen=True, slots=True)
class ModelFacts:
    name: str
    compiled: CompiledModel
    upstreams: tuple[str, ...]
    downstreams: tuple[str, ...]
    table: TableFacts | None
    runs: tuple[ModelRunRecord, ...]
    checks: tuple[QualityRecord, ...]
    """Of the latest runs in which the model was checked, newest first."""

    anomalies: tuple[AnomalyRecord, ...] = ()
    """Newest first."""

    @property
    def code(self) -> str | None:
        """The source of a Python model."""
        model = self.compiled.model
        return model.source if model.python is not None else None

    @property
    def declared(self) -> dict[str, Any]:
        """The settings that differ from the defaults."""
        own, default = self.compiled.model.settings, ModelSettings()
        values = {field.name: getattr(own, field.name) for field in fields(ModelSettings)}
        return {name: value for name, value in values.items() if value != getattr(default, name)}

    def document(self) -> dict[str, Any]:
        model = self.compiled.model
        return {
            "model": self.name,
            "path": str(model.path),
            "settings": asdict(model.settings),
            "upstreams": list(self.upstreams),
            "downstreams": list(self.downstreams),
            "zones": list(self.compiled.zones),
            "code": self.code,
            "functions": [read.key for read in self.compiled.functions],
            "fingerprint": self.compiled.fingerprint,
            "checks": [_declared(check) for check in self.compiled.checks],
            "table": asdict(self.table) if self.table else None,
            "runs": [asdict(run) for run in self.runs],
            "check_results": [asdict(check) for check in self.checks],
            "anomalies": [asdict(anomaly) for anomaly in self.anomalies],
        }


def _declared(check: Check) -> dict[str, Any]:
    return {
        "name": check.name,
        "stage": check.stage,
        "severity": check.severity,
        "description": check.description,
        "tags": list(check.tags),
        "file": check.place.file,
        "line": check.place.line,
    }


def gather_facts(workspace: Workspace, name: str) -> ModelFacts:
    compiled = workspace.compile()
    namespace = compiled.namespace
    model = workspace.find_model(compiled, name)
    table = model.model.table
    short = table.short(namespace)
    downstreams = sorted(other.short(namespace) for other, m in compiled.models.items() if table in m.depends_on)
    metadata = workspace.metadata(table)
    with workspace.state() as state:
        runs = state.runs_of_model(short)
        checks = state.checks_of_model(short)
        anomalies = state.anomalies_of_model(short)
    redactor = HiddenColumnRedactor(workspace)
    return ModelFacts(
        name=short,
        compiled=model,
        upstreams=tuple(up.short(namespace) for up in (*model.depends_on, *model.sources)),
        downstreams=tuple(downstreams),
        table=None if metadata is None else _table_facts(metadata),
        runs=redactor.runs(runs),
        checks=redactor.checks(checks),
        anomalies=redactor.anomalies(anomalies),
    )


def _table_facts(metadata: TableMetadata | ViewMetadata) -> TableFacts:
    columns = tuple((field.name, type_text(field.type)) for field in metadata.fields)
    if isinstance(metadata, ViewMetadata):
        return TableFacts(True, columns, metadata.table_location, progress=metadata.progress)
    current, change = metadata.current, metadata.last_change
    return TableFacts(
        is_view=False,
        columns=columns,
        location=metadata.table_location,
        rows=metadata.total_records,
        files=current.count("total-data-files") if current else 0,
        bytes=current.count("total-files-size") if current else 0,
        snapshots=len(metadata.snapshots),
        changed_at=datetime.fromtimestamp(change.timestamp_ms / 1000, UTC) if change else None,
        progress=metadata.progress,
    )
