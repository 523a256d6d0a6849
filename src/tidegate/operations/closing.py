"""Ending a run in the place of its process, which cannot do it any more: its record, and telling those outside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from tidegate.config import Settings
from tidegate.errors import FailureKind, TidegateError
from tidegate.hooks.events import Ending, Event
from tidegate.hooks.watch import open_watch
from tidegate.state import EventRecord, RunRecord, StateStore
from tidegate.state.alive import last_sign

__all__ = ["close_run", "tell_of_closed", "whereabouts"]


def close_run(store: StateStore, seen: RunRecord, status: str, why: str, now: datetime) -> RunRecord | None:
    """The run as it is now. None, and nothing done, where it has ended, or was taken up again, since it was `seen`."""
    took = round((last_sign(seen) - seen.started_at).total_seconds() * 1000)
    closed = replace(seen, status=status, error=why, finished_at=now, duration_ms=took)
    if not store.take_over(seen, closed):
        return None
    store.add_event(EventRecord(seen.run_id, now, "pipeline_error", None, _facts(closed)))
    return closed


def tell_of_closed(settings: Settings, command: str, run: RunRecord, now: datetime) -> tuple[str, ...]:
    """Call the hooks and the callback of the project. What did not get there, one line each."""
    lines: list[str] = []

    def emit(name: str, model: str | None, data: Mapping[str, Any]) -> None:
        lines.append(str(data["message"]))

    def halt(error: TidegateError) -> None:
        lines.append(str(error))

    watch = open_watch(settings, command, emit, halt)
    try:
        watch(Event("pipeline_error", run.run_id, now, None, _facts(run)))
        watch(Event("state_synced", run.run_id, now, None, {"status": run.status}))
    finally:
        watch.close(Ending(run.run_id, run.status, 0, run.duration_ms or 0, run.phase_profiles, run.error))
    return tuple(lines)


def whereabouts(run: RunRecord) -> str:
    return "no process" if run.pid is None else f"process {run.pid} on {run.host}"


def _facts(run: RunRecord) -> dict[str, Any]:
    kind = FailureKind.CANCELLED if run.status == "cancelled" else FailureKind.UNKNOWN
    return {"status": run.status, "error": run.error, "failure_kind": str(kind), "duration_ms": run.duration_ms}
