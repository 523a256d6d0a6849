"""Writes what happens in a run to the state database, as it happens."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

from tidegate.errors import StateError
from tidegate.hooks.events import Event
from tidegate.quality.column_profiles import ColumnProfile, Profile, Scope
from tidegate.results import CheckResult, ModelResult
from tidegate.runs.result import RunResult
from tidegate.state import AnomalyRecord, EventRecord, ModelRunRecord, ProfileRecord, QualityRecord, StateStore

__all__ = ["Recorder", "profile_of_record", "profile_record"]


class Recorder:
    """A listener. `warning` and `phase` events are recorded, too: they are the run's log.

    Never raises: `failure` is why the first event could not be recorded. Later events are not tried, because each would
    wait for a database that does not answer.
    """

    def __init__(self, store: StateStore) -> None:
        self._store = store
        self.failure: StateError | None = None

    def __call__(self, event: Event) -> None:
        if self.failure is not None:
            return
        try:
            self._record(event)
        except StateError as error:
            self.failure = error

    def _record(self, event: Event) -> None:
        data = dict(event.data)
        result = data.pop("result", None)
        if isinstance(result, ModelResult):
            add = self._store.add_kept_model if data.get("kept") else self._store.add_model_run
            add(ModelRunRecord.of(result, event.run_id, event.at))
            data["result"] = asdict(result)
        elif isinstance(result, CheckResult):
            self._store.add_check(QualityRecord.of(result, event.run_id, event.at))
            data["result"] = asdict(result)
        elif event.name == "anomaly_detected":
            self._store.add_anomaly(AnomalyRecord(run_id=event.run_id, at=event.at, **data))
        elif event.name == "published":
            # The profiles of a branch that was kept become published now.
            self._store.profiles_published(event.run_id, [str(name) for name in data.get("tables", ())])
        self._store.add_event(EventRecord(event.run_id, event.at, event.name, event.model, data))

    def finish(self, result: RunResult, finished_at: datetime) -> None:
        """Tried even where an event was lost: the database may be back."""
        try:
            self._store.finish_run(
                result.run_id,
                result.status,
                finished_at=finished_at,
                duration_ms=result.duration_ms,
                rows_written=result.rows_written,
                phase_profiles=result.phase_profiles,
                result=result.to_dict(),
                error=result.error,
                resumes=result.resumes,
            )
        except StateError as error:
            self.failure = self.failure or error


def profile_record(run_id: str, model: str, at: datetime, profile: Profile) -> ProfileRecord:
    """Of what is on the branch; the publish marks the record as published."""
    return ProfileRecord(
        run_id=run_id,
        model=model,
        at=at,
        scope=profile.scope,
        rows=profile.rows,
        table_rows=profile.table_rows,
        snapshot_id=profile.snapshot_id,
        published=False,
        columns=tuple(map(asdict, profile.columns)),
    )


def profile_of_record(record: ProfileRecord) -> Profile:
    columns = tuple(ColumnProfile(**column) for column in record.columns)
    scope: Scope = "table" if record.scope == "table" else "written"
    return Profile(record.rows, columns, scope, record.table_rows, record.snapshot_id)
