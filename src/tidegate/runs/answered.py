"""Calls that a run has answered already: those with the idempotency key of an earlier one."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from tidegate.errors import KeyTakenError, RunInFlightError, StateError
from tidegate.runs.options import OF_THE_CALL, RunOptions
from tidegate.runs.result import RunResult
from tidegate.state import KeyRecord, RunRecord, StateReader
from tidegate.state.alive import has_ended, last_sign, process_lives

__all__ = ["answer_to", "repeated"]

IN_FLIGHT = timedelta(hours=24)
"""So long a run that gives no sign of its end is waited for."""


def answer_to(reader: StateReader, seen: KeyRecord | None, options: RunOptions, now: datetime) -> RunResult | None:
    """The result of the run that succeeded under the key; None where one is to be begun.

    Raises where that run is at work, and where the key was given to another request.
    """
    if seen is None:
        return None
    run = reader.run(seen.run_id)
    if seen.digest != options.digest:
        raise _of_another(seen, run, options)
    if run is None:
        return None
    if run.status in ("success", "skipped"):
        return repeated(run)
    if not has_ended(run) and process_lives(run) is not False and now - last_sign(run) < IN_FLIGHT:
        sign = f"process {run.pid} on {run.host}, last sign of life {last_sign(run):%Y-%m-%d %H:%M:%S} UTC"
        raise RunInFlightError(
            f"Run {run.run_id} with the idempotency key '{seen.key}' is at work: {sign}",
            remedy="Call again when it has ended. One whose machine is gone is given up by `tidegate reap`.",
        )
    return None


def repeated(run: RunRecord) -> RunResult:
    """What the run came to, once more."""
    if run.result is None:
        raise StateError(f"Run {run.run_id} has succeeded, but its result is not in the state database any more")
    return replace(RunResult.from_dict(run.result), repeated=True)


def _of_another(seen: KeyRecord, run: RunRecord | None, options: RunOptions) -> KeyTakenError:
    before = RunOptions.from_dict(run.options).to_dict() if run else {}
    now = options.to_record()
    counted = now.keys() & before.keys() - set(OF_THE_CALL)
    other = sorted(name.rstrip("_") for name in counted if now[name] != before[name])
    what = f" (not the same: {', '.join(other)})" if other else ""
    return KeyTakenError(
        f"The idempotency key '{seen.key}' belongs to another request, that of run {seen.run_id}{what}",
        remedy="Give each request a key of its own; the same key means the same request.",
    )
