"""Ending the record of a run whose process cannot do it any more."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from tidegate.state import EventRecord, RunRecord, StateStore
from tidegate.state.alive import last_sign

__all__ = ["close_run", "whereabouts"]


def close_run(store: StateStore, seen: RunRecord, status: str, why: str, now: datetime) -> bool:
    """False, and nothing is changed, where the run has ended, or was taken up again, since it was `seen`."""
    took = round((last_sign(seen) - seen.started_at).total_seconds() * 1000)
    if not store.take_over(seen, replace(seen, status=status, error=why, finished_at=now, duration_ms=took)):
        return False
    data = {"status": status, "error": why, "duration_ms": took}
    store.add_event(EventRecord(seen.run_id, now, "pipeline_error", None, data))
    return True


def whereabouts(run: RunRecord) -> str:
    return "no process" if run.pid is None else f"process {run.pid} on {run.host}"
