"""Cancel a run of another process: the request is written to its record, which that process watches.

A run whose process is gone is closed here, in its record and for the hooks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from tidegate.config import Settings
from tidegate.errors import FailureKind, TidegateError
from tidegate.hooks.events import Ending, Event
from tidegate.hooks.run_hooks import open_run_hooks
from tidegate.lake import MAIN, open_catalog
from tidegate.runs.clock import Clock, SystemClock
from tidegate.state import EventRecord, RunRecord, StateStore, open_reader, open_state
from tidegate.state.liveness import HEARTBEAT_TIMEOUT, has_ended, last_heartbeat, process_is_alive
from tidegate.state.reader import find_run

__all__ = ["CancelResult", "cancel_run", "close_run", "notify_closed", "whereabouts"]

_LOOK_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class CancelResult:
    run: RunRecord
    """As it is now."""

    requested: bool = True
    """False: it had ended before."""

    left: str | None = None
    """Where its process was gone: why its branch could not be dropped."""

    warnings: tuple[str, ...] = ()
    """Where its process was gone: which hooks could not be notified."""

    @property
    def ended(self) -> bool:
        return has_ended(self.run)

    @property
    def silent_since(self) -> datetime | None:
        """Its last heartbeat, where that was so long ago that its process may be gone."""
        sign = last_heartbeat(self.run)
        return None if datetime.now(UTC) - sign < HEARTBEAT_TIMEOUT else sign

    @property
    def exit_code(self) -> int:
        return 0 if self.run.status == "cancelled" else 1

    def document(self) -> dict[str, Any]:
        return {
            "run_id": self.run.run_id,
            "status": self.run.status,
            "ended": self.ended,
            "finished_at": self.run.finished_at,
            "error": self.run.error,
            "branch_left": self.left,
            "warnings": list(self.warnings),
        }


def cancel_run(settings: Settings, name: str, clock: Clock | None = None, patience: float = 10.0) -> CancelResult:
    """Request that the run end, and wait `patience` seconds for it. One whose process is gone is closed here.

    `name`: a run's id, or `latest`. Raises SelectionError where there is no such run.
    """
    clock = clock or SystemClock()
    with open_reader(settings.state.url) as state:
        run = find_run(state, name, settings.project.name)
    if has_ended(run):
        return CancelResult(run, requested=False)
    with open_state(settings.state.url) as store:
        store.request_cancel(run.run_id, clock.now())
        deadline = clock.monotonic() + patience
        while True:
            run = store.reader().run(run.run_id) or run
            if has_ended(run) or clock.monotonic() >= deadline:
                return CancelResult(run)
            if process_is_alive(run) is not False:
                clock.sleep(_LOOK_SECONDS)
            elif (ended := _close_dead(settings, store, run, clock)) is not None:
                return ended


def _close_dead(settings: Settings, store: StateStore, record: RunRecord, clock: Clock) -> CancelResult | None:
    """None where it has ended, or was resumed, at this moment."""
    run = close_run(store, record, "cancelled", f"Cancelled when {whereabouts(record)} was gone", clock.now())
    if run is None:
        return None
    left = None
    try:
        if run.branch != MAIN:
            open_catalog(settings).drop_branch(run.branch)
    except TidegateError as error:
        left = str(error)
    return CancelResult(run, left=left, warnings=notify_closed(settings, "cancel", run, clock.now()))


def close_run(store: StateStore, record: RunRecord, status: str, why: str, now: datetime) -> RunRecord | None:
    """The closed run. None, and nothing is changed, where the run ended or was resumed after `record` was read."""
    took = round((last_heartbeat(record) - record.started_at).total_seconds() * 1000)
    closed = replace(record, status=status, error=why, finished_at=now, duration_ms=took)
    if not store.take_over(record, closed):
        return None
    store.add_event(EventRecord(record.run_id, now, "pipeline_error", None, _facts(closed)))
    return closed


def notify_closed(settings: Settings, command: str, run: RunRecord, now: datetime) -> tuple[str, ...]:
    """Call the hooks and the callback of the project. Returns what could not be delivered, one line each."""
    lines: list[str] = []

    def emit(name: str, model: str | None, data: Mapping[str, Any]) -> None:
        lines.append(str(data["message"]))

    def halt(error: TidegateError) -> None:
        lines.append(str(error))

    watch = open_run_hooks(settings, command, emit, halt)
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
