"""Registers a run in the state database, or resumes one that is registered."""

from __future__ import annotations

import os
import socket
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from tidegate.compiler.compiled import Compiled
from tidegate.config import Settings
from tidegate.errors import KeyTakenError, OptionsError, RunExistsError, RunInFlightError, StateError
from tidegate.lake.branch_catalog import MAIN, BranchCatalog
from tidegate.names import TableName
from tidegate.planner.decide import keeps_history
from tidegate.planner.selection import read_states, select, uses_state
from tidegate.redaction import redact
from tidegate.runs.clock import Clock
from tidegate.runs.options import CALL_OPTIONS, RunOptions
from tidegate.runs.result import RunResult
from tidegate.state import KeyRecord, RunRecord, StateReader, StateStore
from tidegate.state.liveness import has_ended, is_alive, last_heartbeat, process_identity, process_is_alive
from tidegate.state.reader import find_run

__all__ = [
    "RegisteredRun",
    "interrupted_runs",
    "register_run",
    "repeated",
    "require_confirmation",
    "result_for_key",
    "select_for_run",
]

_LONGEST_KEY = 255


@dataclass(frozen=True, slots=True)
class RegisteredRun:
    """A run of this process. `options`: those that it was first started with."""

    record: RunRecord
    options: RunOptions


def register_run(store: StateStore, settings: Settings, options: RunOptions, clock: Clock) -> RegisteredRun | RunResult:
    """A new run, or one that is resumed; or the result of one that succeeded before, and nothing to do."""
    if options.resume is not None:
        return _resume(store, settings, options, clock.now())
    if options.idempotency_key is not None and not 0 < len(options.idempotency_key) <= _LONGEST_KEY:
        raise OptionsError(f"An idempotency key has 1 to {_LONGEST_KEY} characters", remedy="Give another one.")
    while True:
        former_key = None
        if options.idempotency_key is not None:
            former_key = store.reader().key(settings.project.name, options.idempotency_key)
            if (answer := result_for_key(store.reader(), former_key, options, clock.now())) is not None:
                return answer
        try:
            return RegisteredRun(_register(store, settings, options, clock.now(), former_key), options)
        except KeyTakenError:
            continue  # by another process at the same moment: read it again


def _register(
    store: StateStore, settings: Settings, options: RunOptions, started_at: datetime, former_key: KeyRecord | None
) -> RunRecord:
    """Its id is the first free one at or after this millisecond."""
    moment, project = started_at, settings.project.name
    while True:
        run_id = f"run-{moment:%Y%m%d-%H%M%S}-{moment.microsecond // 1000:03d}"
        record = RunRecord(
            run_id=run_id,
            project=project,
            command="run",
            branch=run_id,
            publish_mode=options.publish or settings.run.publish,
            started_at=started_at,
            heartbeat_at=started_at,
            pid=os.getpid(),
            host=socket.gethostname(),
            process=process_identity(os.getpid()),
            options=options.to_record(),
        )
        key = None
        if options.idempotency_key is not None:
            key = KeyRecord(project, options.idempotency_key, run_id, options.digest, started_at)
        try:
            store.start_run(record, key, former_key)
            return record
        except RunExistsError:
            moment += timedelta(milliseconds=1)


def _resume(store: StateStore, settings: Settings, options: RunOptions, now: datetime) -> RegisteredRun | RunResult:
    """If several processes resume the same run, only one of them succeeds."""
    run = find_run(store.reader(), options.resume or "", settings.project.name)
    if run.status in ("success", "skipped"):
        return repeated(run)
    if is_alive(run, now):
        raise _in_flight(run)
    resumed_options = RunOptions.from_dict(run.options).resumed_with(options, run.run_id)
    resumed = replace(
        run,
        status="running",
        finished_at=None,
        duration_ms=None,
        rows_written=0,
        phase_profiles={},
        result=None,
        error=None,
        heartbeat_at=now,
        pid=os.getpid(),
        host=socket.gethostname(),
        process=process_identity(os.getpid()),
        options=resumed_options.to_record(),
        resumes=run.resumes + 1,
        cancel_requested_at=None,
    )
    if not store.take_over(run, resumed):
        raise _in_flight(store.reader().run(run.run_id) or run)
    return RegisteredRun(resumed, resumed_options)


def _in_flight(run: RunRecord) -> RunInFlightError:
    sign = f"last heartbeat {last_heartbeat(run):%Y-%m-%d %H:%M:%S} UTC"
    return RunInFlightError(
        f"Run {run.run_id} is at work: process {run.pid} on {run.host}, {sign}",
        remedy=f"Wait for it, or end it with: tidegate cancel {run.run_id}",
    )


def interrupted_runs(reader: StateReader, record: RunRecord, now: datetime) -> tuple[str, ...]:
    """Of the two latest runs of the project, those whose process ended before they did."""
    runs = reader.runs(2, project=record.project)
    return tuple(r.run_id for r in runs if r.run_id != record.run_id and not has_ended(r) and not is_alive(r, now))


def select_for_run(
    compiled: Compiled, options: RunOptions, catalog: BranchCatalog, record: RunRecord, state: StateReader
) -> frozenset[TableName]:
    """A resumed run whose selection depends on main keeps the models that it began with: what it has published since
    is no longer modified, but what reads it may still have to be built."""
    if record.resumes and uses_state([*options.select, *options.exclude]):
        begun = next((event for event in state.events(record.run_id) if event.name == "pipeline_start"), None)
        if begun is not None:
            names = frozenset(map(str, begun.data["models"]))  # as they were stored: redacted
            tables = (table for wave in compiled.waves for table in wave)
            return frozenset(table for table in tables if redact(table.short(compiled.namespace)) in names)
    return select(compiled, options.select, options.exclude, lambda: read_states(compiled, catalog.head(MAIN)))


IN_FLIGHT = timedelta(hours=24)
"""How long a run without a heartbeat is taken to be at work."""


def result_for_key(reader: StateReader, key: KeyRecord | None, options: RunOptions, now: datetime) -> RunResult | None:
    """The result of the run that succeeded under the key; None where one is to be begun.

    Raises where that run is at work, and where the key was given to another request.
    """
    if key is None:
        return None
    run = reader.run(key.run_id)
    if key.digest != options.digest:
        raise _key_of_another_request(key, run, options)
    if run is None:
        return None
    if run.status in ("success", "skipped"):
        return repeated(run)
    if not has_ended(run) and process_is_alive(run) is not False and now - last_heartbeat(run) < IN_FLIGHT:
        sign = f"process {run.pid} on {run.host}, last heartbeat {last_heartbeat(run):%Y-%m-%d %H:%M:%S} UTC"
        raise RunInFlightError(
            f"Run {run.run_id} with the idempotency key '{key.key}' is at work: {sign}",
            remedy="Call again when it has ended. One whose machine is gone is given up by `tidegate reap`.",
        )
    return None


def repeated(run: RunRecord) -> RunResult:
    """The result of the run, marked as repeated."""
    if run.result is None:
        raise StateError(f"Run {run.run_id} has succeeded, but its result is not in the state database any more")
    return replace(RunResult.from_dict(run.result), repeated=True)


def _key_of_another_request(key: KeyRecord, run: RunRecord | None, options: RunOptions) -> KeyTakenError:
    before = RunOptions.from_dict(run.options).to_dict() if run else {}
    now = options.to_record()
    counted = now.keys() & before.keys() - set(CALL_OPTIONS)
    other = sorted(name.rstrip("_") for name in counted if now[name] != before[name])
    what = f" (not the same: {', '.join(other)})" if other else ""
    return KeyTakenError(
        f"The idempotency key '{key.key}' belongs to another request, that of run {key.run_id}{what}",
        remedy="Give each request a key of its own; the same key means the same request.",
    )


def require_confirmation(compiled: Compiled, selected: Collection[TableName], options: RunOptions) -> None:
    """Raise where --full-refresh would lose history, unless that was confirmed."""
    if not options.full_refresh or options.confirmed:
        return
    history = sorted(table.short(compiled.namespace) for table in selected if keeps_history(compiled.models[table]))
    if history:
        raise OptionsError(
            f"--full-refresh would rebuild tables that keep history: {', '.join(history)}",
            remedy="What their inputs no longer hold would be lost. Add --yes if that is meant.",
        )
