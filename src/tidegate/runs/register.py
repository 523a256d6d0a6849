"""The first thing a run does: say in the state database that it is there, or that it is there again."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from tidegate.config import Settings
from tidegate.errors import KeyTakenError, OptionsError, RunExistsError, RunInFlightError
from tidegate.runs.answered import answer_to, repeated
from tidegate.runs.clock import Clock
from tidegate.runs.options import RunOptions
from tidegate.runs.result import RunResult
from tidegate.state import KeyRecord, RunRecord, StateReader, StateStore
from tidegate.state.alive import has_ended, last_sign, lives, process_mark
from tidegate.state.finding import find_run

__all__ = ["Begun", "begin", "interrupted_runs"]

_LONGEST_KEY = 255


@dataclass(frozen=True, slots=True)
class Begun:
    """A run that this process does now. `options`: what it was asked for when it was first begun."""

    record: RunRecord
    options: RunOptions


def begin(store: StateStore, settings: Settings, options: RunOptions, clock: Clock) -> Begun | RunResult:
    """A new run, or one that is taken up again; or the result of one that has answered already, and nothing to do."""
    if options.resume is not None:
        return _take_up(store, settings, options, clock.now())
    if options.idempotency_key is not None and not 0 < len(options.idempotency_key) <= _LONGEST_KEY:
        raise OptionsError(f"An idempotency key has 1 to {_LONGEST_KEY} characters", remedy="Give another one.")
    while True:
        seen = None
        if options.idempotency_key is not None:
            seen = store.reader().key(settings.project.name, options.idempotency_key)
            if (answer := answer_to(store.reader(), seen, options, clock.now())) is not None:
                return answer
        try:
            return Begun(_register(store, settings, options, clock.now(), seen), options)
        except KeyTakenError:
            continue  # by somebody at the same moment, who is to be seen now


def _register(
    store: StateStore, settings: Settings, options: RunOptions, started_at: datetime, seen: KeyRecord | None
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
            process=process_mark(os.getpid()),
            options=options.to_record(),
        )
        key = None
        if options.idempotency_key is not None:
            key = KeyRecord(project, options.idempotency_key, run_id, options.digest, started_at)
        try:
            store.start_run(record, key, seen)
            return record
        except RunExistsError:
            moment += timedelta(milliseconds=1)


def _take_up(store: StateStore, settings: Settings, options: RunOptions, now: datetime) -> Begun | RunResult:
    """Of several who want the same run, one gets it."""
    seen = find_run(store.reader(), options.resume or "", settings.project.name)
    if seen.status in ("success", "skipped"):
        return repeated(seen)
    if lives(seen, now):
        raise _in_flight(seen)
    asked = RunOptions.from_dict(seen.options).taken_up(options, seen.run_id)
    taken = replace(
        seen,
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
        process=process_mark(os.getpid()),
        options=asked.to_record(),
        resumes=seen.resumes + 1,
        cancel_requested_at=None,
    )
    if not store.take_over(seen, taken):
        raise _in_flight(store.reader().run(seen.run_id) or seen)
    return Begun(taken, asked)


def _in_flight(run: RunRecord) -> RunInFlightError:
    sign = f"last sign of life {last_sign(run):%Y-%m-%d %H:%M:%S} UTC"
    return RunInFlightError(
        f"Run {run.run_id} is at work: process {run.pid} on {run.host}, {sign}",
        remedy=f"Wait for it, or end it with: tidegate cancel {run.run_id}",
    )


def interrupted_runs(reader: StateReader, record: RunRecord, now: datetime) -> tuple[str, ...]:
    """Of the two latest runs of the project, those whose process ended before they did."""
    runs = reader.runs(2, project=record.project)
    return tuple(r.run_id for r in runs if r.run_id != record.run_id and not has_ended(r) and not lives(r, now))
