"""Cancelling a run from outside: its record says so, and its process, which looks there, ends it."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.config import Settings
from tidegate.errors import TidegateError
from tidegate.lake import MAIN, open_catalog
from tidegate.operations.closing import close_run, tell_of_closed, whereabouts
from tidegate.runs.clock import Clock, SystemClock
from tidegate.state import RunRecord, StateStore, open_reader, open_state
from tidegate.state.alive import has_ended, process_lives
from tidegate.state.finding import find_run

__all__ = ["Cancelling", "cancel_run"]

_LOOK_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Cancelling:
    """The run as it is now. `asked` False: it had ended before. Where its process was gone, `left`: why its branch
    could not be dropped, and `warnings`: who could not be told."""

    run: RunRecord
    asked: bool = True
    left: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def ended(self) -> bool:
        return has_ended(self.run)


def cancel_run(settings: Settings, name: str, clock: Clock | None = None, patience: float = 10.0) -> Cancelling:
    """Ask the run to end, and wait `patience` seconds for it. One whose process is gone is ended in its place.

    `name`: a run's id, or `latest`. Raises SelectionError where there is no such run.
    """
    clock = clock or SystemClock()
    with open_reader(settings.state.url) as state:
        run = find_run(state, name, settings.project.name)
    if has_ended(run):
        return Cancelling(run, asked=False)
    with open_state(settings.state.url) as store:
        store.request_cancel(run.run_id, clock.now())
        deadline = clock.monotonic() + patience
        while True:
            run = store.reader().run(run.run_id) or run
            if has_ended(run) or clock.monotonic() >= deadline:
                return Cancelling(run)
            if process_lives(run) is not False:
                clock.sleep(_LOOK_SECONDS)
            elif (ended := _end_dead(settings, store, run, clock)) is not None:
                return ended


def _end_dead(settings: Settings, store: StateStore, seen: RunRecord, clock: Clock) -> Cancelling | None:
    """None where it has ended, or was taken up again, at this moment."""
    run = close_run(store, seen, "cancelled", f"Cancelled when {whereabouts(seen)} was gone", clock.now())
    if run is None:
        return None
    left = None
    try:
        if run.branch != MAIN:
            open_catalog(settings).drop_branch(run.branch)
    except TidegateError as error:
        left = str(error)
    return Cancelling(run, left=left, warnings=tell_of_closed(settings, "cancel", run, clock.now()))
