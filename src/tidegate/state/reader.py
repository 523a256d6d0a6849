"""The reading side of the state database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from types import TracebackType

from sqlalchemy import Connection, Engine

from tidegate.errors import SelectionError
from tidegate.names import nearest
from tidegate.state.database_errors import errors_as_state_error
from tidegate.state.model_tables import entries_of_run, latest_of_each_model, models_of_run, runs_of_model
from tidegate.state.quality_tables import (
    anomalies_of_model,
    anomalies_of_run,
    checks_of_model,
    checks_of_run,
    profile_of_run,
    profiles_of_model,
)
from tidegate.state.run_records import (
    AnomalyRecord,
    EventRecord,
    KeyRecord,
    ModelRunRecord,
    ProfileRecord,
    ProgressEntry,
    QualityRecord,
    RunRecord,
)
from tidegate.state.run_tables import events_of_run, find_key, newest_runs, run_by_id, unfinished_runs

__all__ = ["StateReader", "find_run"]


class StateReader:
    def __init__(self, engine: Engine, where: str) -> None:
        self._engine = engine
        self._where = where

    def run(self, run_id: str) -> RunRecord | None:
        with self._reading() as connection:
            return run_by_id(connection, run_id)

    def runs(
        self, limit: int = 20, before: datetime | None = None, project: str | None = None
    ) -> tuple[RunRecord, ...]:
        """Newest first; `before` a start time pages on. `project` None: those of all."""
        with self._reading() as connection:
            return newest_runs(connection, limit, before, project)

    def unfinished_runs(self, project: str) -> tuple[RunRecord, ...]:
        """Oldest first; their processes may have ended."""
        with self._reading() as connection:
            return unfinished_runs(connection, project)

    def progress_entries(self, run_id: str) -> tuple[ProgressEntry, ...]:
        """By model and file."""
        with self._reading() as connection:
            return entries_of_run(connection, run_id)

    def key(self, project: str, key: str) -> KeyRecord | None:
        with self._reading() as connection:
            return find_key(connection, project, key)

    def model_runs(self, run_id: str) -> tuple[ModelRunRecord, ...]:
        """In the order in which they ended."""
        with self._reading() as connection:
            return models_of_run(connection, run_id)

    def runs_of_model(
        self, model: str, limit: int = 10, status: str | None = None, run_type: str | None = None
    ) -> tuple[ModelRunRecord, ...]:
        """Newest first; `limit` counts those of the given status and run type."""
        with self._reading() as connection:
            return runs_of_model(connection, model, limit, status, run_type)

    def latest_of_each_model(self) -> dict[str, ModelRunRecord]:
        with self._reading() as connection:
            return {record.model: record for record in latest_of_each_model(connection)}

    def checks(self, run_id: str, model: str | None = None) -> tuple[QualityRecord, ...]:
        with self._reading() as connection:
            return checks_of_run(connection, run_id, model)

    def checks_of_model(self, model: str, runs: int = 10) -> tuple[QualityRecord, ...]:
        """Those of the latest runs in which the model was checked, newest first."""
        with self._reading() as connection:
            return checks_of_model(connection, model, runs)

    def profiles(
        self, model: str, limit: int = 10, scope: str | None = None, but_run: str | None = None
    ) -> tuple[ProfileRecord, ...]:
        """Those that were published, newest first; `but_run`: without that of this run."""
        with self._reading() as connection:
            return profiles_of_model(connection, model, limit, scope, but_run)

    def profile(self, run_id: str, model: str) -> ProfileRecord | None:
        """What the run wrote to the model's table, published or not."""
        with self._reading() as connection:
            return profile_of_run(connection, run_id, model)

    def anomalies(self, run_id: str) -> tuple[AnomalyRecord, ...]:
        with self._reading() as connection:
            return anomalies_of_run(connection, run_id)

    def anomalies_of_model(self, model: str, limit: int = 10) -> tuple[AnomalyRecord, ...]:
        """Newest first."""
        with self._reading() as connection:
            return anomalies_of_model(connection, model, limit)

    def events(self, run_id: str, after: int = 0) -> tuple[EventRecord, ...]:
        """Those with a `seq` above `after`, in order."""
        with self._reading() as connection:
            return events_of_run(connection, run_id, after)

    def close(self) -> None:
        self._engine.dispose()

    def __enter__(self) -> StateReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with errors_as_state_error(self._where), self._engine.connect() as connection:
            yield connection.execution_options(tidegate_reading=True)


def find_run(state: StateReader, name: str, project: str | None = None) -> RunRecord:
    """`latest`, or a run's id; `project`: one of this project. Raises SelectionError where there is no such run."""
    newest = state.runs(200, project=project)
    if name == "latest":
        if newest:
            return newest[0]
        raise SelectionError("There is no run yet", remedy="`tidegate run` starts the first.")
    run = state.run(name)
    if run is None or project not in (None, run.project):
        close = nearest(name, (other.run_id for other in newest), most=1)
        remedy = f"Did you mean {close[0]}? " if close else ""
        raise SelectionError(f"There is no run '{name}'", remedy=f"{remedy}See `tidegate history` for all runs.")
    return run
