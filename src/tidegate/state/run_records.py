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
    """`status`: pending, running, success, partial, failed, cancelled or skipped. `pid` on `host` does the work;
    `process` tells it from others that had or have the same number there.

    `options`: what the caller asked for. `resumes`: how often it was taken up again; who took it up last owns it.
    """

    run_id: str
    project: str
    command: str
    branch: str
    publish_mode: str
    started_at: datetime
    status: str = "pending"
    finished_at: datetime | None = None
    duration_ms: int | None = None
    rows_written: int = 0
    phase_profiles: Mapping[str, int] = field(default_factory=dict)
    result: Mapping[str, Any] | None = None
    error: str | None = None
    heartbeat_at: datetime | None = None
    pid: int | None = None
    host: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    resumes: int = 0
    cancel_requested_at: datetime | None = None
    process: str | None = None


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
    """A model that a run built and checked on its branch; or, where `file` is not empty, a landing file that it read.

    `pointers`: where the metadata of each table that the model owns stands; None: that table is not there. `read`:
    what else it goes back to, in one word each: the settings of sources, and tables that its checks looked at.
    """

    run_id: str
    model: str
    at: datetime
    file: str = ""
    pointers: Mapping[str, str | None] = field(default_factory=dict)
    read: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """The run that answers a caller's key; `digest`: of what the caller asked for under it."""

    project: str
    key: str
    run_id: str
    digest: str
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
    """What the rows looked like that one run brought to one table; `at`: when the run began.

    `scope`: `table` where `rows` are all of the table's, `written` where they are this run's only. `columns`: name,
    type, nulls, distinct, min, max and mean of each. `published`: they are, or were, on main.
    """

    run_id: str
    model: str
    at: datetime
    scope: str
    rows: int
    table_rows: int
    snapshot_id: int | None
    published: bool
    columns: tuple[Mapping[str, Any], ...] = ()


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
    """`seq` counts a run's events from 1; the store gives it."""

    run_id: str
    at: datetime
    name: str
    model: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    seq: int | None = None
