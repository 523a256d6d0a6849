"""Clean up after processes that are gone: unfinished runs, orphan branches, and tables that one write was to use.

Each task fails on its own; an error becomes a line of the report.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from tidegate.config import ReaperSection, Settings
from tidegate.errors import TidegateError
from tidegate.lake import MAIN, BranchCatalog, BranchInfo, BranchView, is_initialized, open_catalog
from tidegate.lake.unfinished_writes import staged_tables
from tidegate.operations.cancel import close_run, notify_closed, whereabouts
from tidegate.runs.clock import Clock, SystemClock
from tidegate.state import RunRecord, open_reader, open_state
from tidegate.state.liveness import has_ended, last_heartbeat, process_is_alive

__all__ = ["ReapReport", "Reaped", "best_effort", "drop_orphans", "reap"]

_PREFIXES = ("run-", "read-", "maintain-", "load-")
_OWN_NUMBER = timedelta(hours=24)
"""After this long without a heartbeat, a process with the run's number is another one that was given it again."""


@dataclass(frozen=True, slots=True)
class Reaped:
    """A run, a branch or a table."""

    name: str
    last_sign_of_life: datetime


@dataclass(frozen=True, slots=True)
class ReapReport:
    failed_runs: tuple[Reaped, ...] = ()
    dropped_branches: tuple[Reaped, ...] = ()
    dropped_tables: tuple[Reaped, ...] = ()
    """Left by runs that wrote main itself."""

    errors: tuple[str, ...] = ()
    """What could not be done, one line each."""

    dry_run: bool = False
    """Nothing was done; this is what would be."""

    @property
    def exit_code(self) -> int:
        return 2 if self.errors else 0

    def document(self) -> dict[str, Any]:
        return {"status": "partial" if self.errors else "success", **asdict(self)}


@contextmanager
def best_effort(what: str, errors: list[str]) -> Iterator[None]:
    """What goes wrong becomes a line of `errors`."""
    try:
        yield
    except TidegateError as error:
        place = f" ({error.where})" if error.where else ""
        errors.append(f"{what}: {error}{place}")
    except Exception as error:
        lines = str(error).strip().splitlines()
        errors.append(f"{what}: {type(error).__name__}: {lines[0] if lines else 'no message'}")


def reap(settings: Settings, clock: Clock | None = None, dry_run: bool = False) -> ReapReport:
    now, errors = (clock or SystemClock()).now(), list[str]()
    failed, dropped, tables = list[Reaped](), list[Reaped](), list[Reaped]()
    with best_effort("stuck runs", errors):
        failed += _fail_stuck(settings, now, errors, dry_run)
    with best_effort("orphan branches", errors):
        if is_initialized(settings):
            catalog = open_catalog(settings)
            dropped += drop_orphans(settings, catalog, now, errors, dry_run)
            with best_effort("unfinished tables", errors):
                tables += _drop_unfinished(settings, catalog, now, errors, dry_run)
    return ReapReport(tuple(failed), tuple(dropped), tuple(tables), tuple(errors), dry_run)


def drop_orphans(
    settings: Settings, catalog: BranchCatalog, now: datetime, errors: list[str], dry_run: bool = False
) -> list[Reaped]:
    """Drop the branches that no process uses, and what was written to some of them after they had been dropped."""
    dropped = []
    for branch in _orphans(settings, catalog, now):
        with best_effort(f"branch {branch.name}", errors):
            if not dry_run:
                catalog.drop_branch(branch.name)
            dropped.append(Reaped(branch.name, branch.heartbeat_at))
    if not dry_run:
        with best_effort("what was left of branches", errors):
            catalog.drop_strays()
    return dropped


def _orphans(settings: Settings, catalog: BranchCatalog, now: datetime) -> list[BranchInfo]:
    limit = now - timedelta(hours=settings.reaper.orphan_branch_max_age_hours)
    ours = (branch for branch in catalog.list_branches() if branch.name.startswith(_PREFIXES) and not branch.kept)
    silent = [branch for branch in ours if branch.heartbeat_at < limit]
    if not silent:
        return []
    with open_reader(settings.state.url) as state:
        return [branch for branch in silent if not _in_use(state.run(_run_of(branch.name)), limit, now)]


def _run_of(branch: str) -> str:
    """On Nessie a publish may need a short-lived branch, which is named after that of the run."""
    return branch.removesuffix("-publish")


def _in_use(run: RunRecord | None, limit: datetime, now: datetime) -> bool:
    """By the state. A run that ended may be resumed until its last heartbeat is older than `limit`."""
    return run is not None and (last_heartbeat(run) >= limit or (not has_ended(run) and _is_there(run, now)))


def _drop_unfinished(
    settings: Settings, catalog: BranchCatalog, now: datetime, errors: list[str], dry_run: bool
) -> list[Reaped]:
    """Drop tables of main that one write of a run that has ended was to use. On a branch they go with it."""
    main, dropped = BranchView(catalog, MAIN), list[Reaped]()
    if staged := tuple(staged_tables(main)):
        limit = now - timedelta(hours=settings.reaper.orphan_branch_max_age_hours)
        with open_reader(settings.state.url) as state:
            runs = {left.run_id: state.run(left.run_id) for left in staged if left.run_id}
        for left in staged:
            run = runs.get(left.run_id or "")
            if left.made_at >= limit if run is None else not _is_over(run):
                continue
            with best_effort(f"table {left.table}", errors):
                if not dry_run:
                    main.restore(left.table, None)
                dropped.append(Reaped(str(left.table), left.made_at))
    return dropped


def _is_over(run: RunRecord) -> bool:
    return has_ended(run) or process_is_alive(run) is False


def _fail_stuck(settings: Settings, now: datetime, errors: list[str], dry_run: bool) -> list[Reaped]:
    with open_reader(settings.state.url) as state:
        unfinished = state.unfinished_runs(settings.project.name)
    stuck = [run for run in unfinished if _is_stuck(run, settings.reaper, now)]
    if dry_run or not stuck:
        return [Reaped(run.run_id, last_heartbeat(run)) for run in stuck]
    failed = []
    with open_state(settings.state.url) as store:
        for run in stuck:
            with best_effort(f"run {run.run_id}", errors):
                why = f"No heartbeat since {last_heartbeat(run):%Y-%m-%d %H:%M:%S} UTC from {whereabouts(run)}"
                closed = close_run(store, run, "failed", why, now)
                if closed is not None:
                    failed.append(Reaped(run.run_id, last_heartbeat(run)))
                    warnings = notify_closed(settings, "reap", closed, now)
                    errors += [f"run {run.run_id}: {line}" for line in warnings]
    return failed


def _is_stuck(run: RunRecord, reaper: ReaperSection, now: datetime) -> bool:
    waiting = run.pid is None
    limit = (
        timedelta(hours=reaper.pending_run_timeout_hours)
        if waiting
        else timedelta(minutes=reaper.stuck_run_timeout_minutes)
    )
    return now - last_heartbeat(run) >= limit and not _is_there(run, now)


def _is_there(run: RunRecord, now: datetime) -> bool:
    """It runs on this host, though its heartbeat stopped: the machine or the process may have been suspended."""
    return process_is_alive(run) is True and now - last_heartbeat(run) < _OWN_NUMBER
