"""The writing side of the state database: each call is one short transaction."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from types import TracebackType
from typing import Any

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import IntegrityError

from tidegate.errors import RunExistsError, StateError
from tidegate.state.anomalies import put_anomaly
from tidegate.state.events import append_event
from tidegate.state.failures import translated
from tidegate.state.model_runs import put_model_run
from tidegate.state.profiles import mark_published, put_profile
from tidegate.state.quality_results import put_check
from tidegate.state.reader import StateReader
from tidegate.state.records import (
    AnomalyRecord,
    EventRecord,
    ModelRunRecord,
    ProfileRecord,
    QualityRecord,
    RunRecord,
)
from tidegate.state.runs import change_run, insert_run

__all__ = ["StateStore"]


class StateStore:
    """May be shared by threads."""

    def __init__(self, engine: Engine, where: str) -> None:
        self._engine = engine
        self._where = where
        # Our own threads wait here, in order; the database's lock is polled and can starve one of them.
        self._lock = threading.Lock()

    def start_run(self, run: RunRecord) -> None:
        try:
            with self._writing() as connection:
                insert_run(connection, run)
        except StateError as error:
            if isinstance(error.__cause__, IntegrityError):
                raise RunExistsError(
                    f"Run {run.run_id} is in the state database already",
                    where=self._where,
                    remedy="Run again: the next run has a new id.",
                ) from error
            raise

    def set_status(self, run_id: str, status: str) -> None:
        self._change(run_id, {"status": status})

    def heartbeat(self, run_id: str, at: datetime) -> None:
        self._change(run_id, {"heartbeat_at": at})

    def finish_run(
        self,
        run_id: str,
        status: str,
        *,
        finished_at: datetime,
        duration_ms: int,
        rows_written: int = 0,
        phase_profiles: Mapping[str, int] | None = None,
        result: Mapping[str, Any] | None = None,
        error: str | None = None,
    ) -> None:
        values = {
            "status": status,
            "finished_at": finished_at,
            "duration_ms": duration_ms,
            "rows_written": rows_written,
            "phase_profiles": dict(phase_profiles or {}),
            "result": result,
            "error": error,
        }
        self._change(run_id, values)

    def add_model_run(self, record: ModelRunRecord) -> None:
        with self._writing() as connection:
            put_model_run(connection, record)

    def add_check(self, record: QualityRecord) -> None:
        with self._writing() as connection:
            put_check(connection, record)

    def add_profile(self, record: ProfileRecord) -> None:
        with self._writing() as connection:
            put_profile(connection, record)

    def add_anomaly(self, record: AnomalyRecord) -> None:
        with self._writing() as connection:
            put_anomaly(connection, record)

    def profiles_published(self, run_id: str, models: Sequence[str]) -> None:
        """What the run wrote to these models' tables is on main now."""
        with self._writing() as connection:
            mark_published(connection, run_id, models)

    def add_event(self, event: EventRecord) -> None:
        with self._writing() as connection:
            append_event(connection, event)

    def reader(self) -> StateReader:
        return StateReader(self._engine, self._where)

    def close(self) -> None:
        self._engine.dispose()

    def __enter__(self) -> StateStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _change(self, run_id: str, values: dict[str, Any]) -> None:
        with self._writing() as connection:
            known = change_run(connection, run_id, values)
        if not known:
            raise StateError(
                f"Run {run_id} is not in the state database",
                where=self._where,
                remedy="Its record was removed while it ran; the lake is not affected.",
            )

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with self._lock, translated(self._where), self._engine.begin() as connection:
            yield connection
