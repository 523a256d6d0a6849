"""The rows of the state database, as values. Their fields are its columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from tidegate.results import CheckResult, ModelResult

__all__ = [
    "AnomalyRecord",
    "EventRecord",
    "KeyRecord",
    "ModelRunRecord",
    "ProfileRecord",
    "ProgressEntry",
    "QualityRecord",
    "RunRecord",
]


@dataclass(frozen=True, slots=True)
class RunRecord:
    run_id: str
    project: str
    command: str
    branch: str
    publish_mode: str
    started_at: datetime
    status: str = "pending"
    """pending, running, success, partial, failed, cancelled or skipped"""
    finished_at: datetime | None = None
    duration_ms: int | None = None
    rows_written: int = 0
    phase_profiles: Mapping[str, int] = field(default_factory=dict)
    result: Mapping[str, Any] | None = None
    error: str | None = None
    heartbeat_at: datetime | None = None
    pid: int | None = None
    """The process that does the work, on `host`."""
    host: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    """As the caller gave them."""
    resumes: int = 0
    """How often it was resumed; the process that resumed it last owns it."""
    cancel_requested_at: datetime | None = None
    process: str | None = None
    """Distinguishes the process from others with the same pid on that host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRunRecord(ModelResult):
    """One model of one run; a model built again within a run replaces its record."""

    run_id: str
    finished_at: datetime

    @classmethod
    def of(cls, result: ModelResult, run_id: str, finished_at: datetime) -> ModelRunRecord:
        return cls(**_fields(result, ModelResult), run_id=run_id, finished_at=finished_at)

    @property
    def result(self) -> ModelResult:
        return ModelResult(**_fields(self, ModelResult))


@dataclass(frozen=True, slots=True)
class ProgressEntry:
    """A model that a run built and checked on its branch; or, where `file` is given, a landing file that it read."""

    run_id: str
    model: str
    at: datetime
    file: str = ""
    pointers: Mapping[str, str | None] = field(default_factory=dict)
    """The metadata file of each table that the model owns; None: there is no such table."""
    read: Mapping[str, str] = field(default_factory=dict)
    """What else it depends on, as a digest each: settings of sources, and tables that its checks read."""


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """The run that answers a caller's idempotency key."""

    project: str
    key: str
    run_id: str
    digest: str
    """Of the options that the caller gave with it."""
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityRecord(CheckResult):
    """One check of one model in one run; a check done again within a run replaces its record."""

    run_id: str
    at: datetime

    @classmethod
    def of(cls, result: CheckResult, run_id: str, at: datetime) -> QualityRecord:
        return cls(**_fields(result, CheckResult), run_id=run_id, at=at)

    @property
    def result(self) -> CheckResult:
        return CheckResult(**_fields(self, CheckResult))


def _fields(value: Any, kind: type[Any]) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(kind)}


@dataclass(frozen=True, slots=True)
class ProfileRecord:
    """A profile of the rows that one run wrote to one table."""

    run_id: str
    model: str
    at: datetime
    """When the run started."""
    scope: str
    """`table` where `rows` are all of the table's, `written` where they are this run's only."""
    rows: int
    table_rows: int
    snapshot_id: int | None
    published: bool
    """They are, or were, on main."""
    columns: tuple[Mapping[str, Any], ...] = ()
    """Name, type, nulls, distinct, min, max and mean of each."""


@dataclass(frozen=True, slots=True)
class AnomalyRecord:
    """Something unusual about what one run wrote; `column` None: about the whole table."""

    run_id: str
    model: str
    kind: str
    column: str | None
    at: datetime
    value: float
    expected: float
    deviation: float
    message: str


@dataclass(frozen=True, slots=True)
class EventRecord:
    run_id: str
    at: datetime
    name: str
    model: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    seq: int | None = None
    """Counts a run's events from 1; the store assigns it."""
