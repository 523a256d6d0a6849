"""The writing side of the state database: each call is one short transaction."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from types import TracebackType
from typing import Any

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import IntegrityError, OperationalError

from tidegate.errors import KeyTakenError, RunExistsError, RunTakenOverError, StateError
from tidegate.state.database_errors import errors_as_state_error, is_restarting
from tidegate.state.model_tables import has_model_run, put_entries, put_model_run
from tidegate.state.quality_tables import mark_published, put_anomaly, put_check, put_profile
from tidegate.state.reader import StateReader
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
from tidegate.state.run_tables import (
    append_event,
    change_run,
    insert_run,
    put_key,
    request_cancel,
    run_by_id,
    take_over_run,
)

__all__ = ["StateStore"]

_RESTART_SECONDS = 10.0
_POLL_SECONDS = 0.2


class StateStore:
    """Threads may share one."""

    def __init__(self, engine: Engine, where: str) -> None:
        self._engine = engine
        self._where = where
        # Threads of this process wait here, in order: the database's lock is polled and can starve one of them.
        self._lock = threading.Lock()
        self._unreachable = False

    def start_run(self, run: RunRecord, key: KeyRecord | None = None, expected_key: KeyRecord | None = None) -> None:
        """`key`: the idempotency key that this run answers from now on, replacing `expected_key`.

        Raises RunExistsError or KeyTakenError.
        """
        try:
            with self._writing() as connection:
                if key is not None and not put_key(connection, key, expected_key):
                    raise KeyTakenError(
                        f"Another run has taken the idempotency key '{key.key}' at this moment",
                        where=self._where,
                        remedy="Call again with the same key.",
                    )
                insert_run(connection, run)
        except StateError as error:
            if isinstance(error.__cause__, IntegrityError):
                raise RunExistsError(
                    f"Run {run.run_id} is in the state database already",
                    where=self._where,
                    remedy="Run again: the next run has a new id.",
                ) from error
            raise

    def take_over(self, expected: RunRecord, record: RunRecord) -> bool:
        """Of several processes that saw the same record only one succeeds."""
        with self._writing() as connection:
            return take_over_run(connection, expected, record)

    def set_status(self, run_id: str, status: str) -> None:
        self._change(run_id, {"status": status})

    def heartbeat(self, run_id: str, at: datetime, resumes: int | None = None) -> None:
        """`resumes`: of the caller's attempt; raises RunTakenOverError where another attempt has started since."""
        self._change(run_id, {"heartbeat_at": at}, resumes)

    def request_cancel(self, run_id: str, at: datetime) -> bool:
        """Whether there was such a run that had not ended. It reads the request with its next heartbeat."""
        with self._writing() as connection:
            return request_cancel(connection, run_id, at)

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
        resumes: int | None = None,
    ) -> None:
        """`resumes`: see `heartbeat`."""
        values = {
            "status": status,
            "finished_at": finished_at,
            "duration_ms": duration_ms,
            "rows_written": rows_written,
            "phase_profiles": dict(phase_profiles or {}),
            "result": result,
            "error": error,
        }
        self._change(run_id, values, resumes)

    def add_model_run(self, record: ModelRunRecord) -> None:
        with self._writing() as connection:
            put_model_run(connection, record)

    def add_kept_model(self, record: ModelRunRecord) -> None:
        """Unless an earlier attempt of the run recorded the model."""
        with self._writing() as connection:
            if not has_model_run(connection, record.run_id, record.model):
                put_model_run(connection, record)

    def add_progress(self, entry: ProgressEntry, files: Sequence[str] = ()) -> None:
        """Replaces the run's earlier entry of this model. `files`: landing files that it consumed."""
        with self._writing() as connection:
            put_entries(connection, entry, files)

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

    def _change(self, run_id: str, values: dict[str, Any], resumes: int | None = None) -> None:
        with self._writing() as connection:
            now = run_by_id(connection, run_id) if resumes is not None else None
            if now is not None and now.resumes != resumes:
                raise RunTakenOverError(
                    f"Run {run_id} was taken over by another process: {now.pid} on {now.host}",
                    where=self._where,
                    remedy=f"It continues there; `tidegate logs {run_id}` shows it.",
                )
            exists = change_run(connection, run_id, values)
        if not exists:
            raise StateError(
                f"Run {run_id} is not in the state database",
                where=self._where,
                remedy="Its record was removed while it ran; the lake is not affected.",
            )

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with self._lock, errors_as_state_error(self._where), ExitStack() as stack:
            yield self._begin(stack)

    def _begin(self, stack: ExitStack) -> Connection:
        """Waits, once, for a server that is being restarted: nothing has been sent to it yet."""
        deadline = time.monotonic() + (0 if self._unreachable else _RESTART_SECONDS)
        while True:
            try:
                connection = stack.enter_context(self._engine.begin())
                self._unreachable = False
                return connection
            except OperationalError as error:
                if not is_restarting(error) or time.monotonic() >= deadline:
                    self._unreachable = True
                    raise
            time.sleep(_POLL_SECONDS)
