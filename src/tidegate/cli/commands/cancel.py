"""`cancel`: end a run of another process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from tidegate.amounts import duration, timestamp
from tidegate.cli.invocation import Invocation, common_options, open_workspace, pass_invocation

if TYPE_CHECKING:
    from tidegate.config import ReaperSection
    from tidegate.operations.cancel import CancelResult

__all__ = ["cancel"]


@click.command()
@click.argument("run_id", metavar="RUN")
@click.option("--wait", type=click.FloatRange(min=0), default=10, show_default=True, metavar="SECONDS", help="At most.")
@common_options
@pass_invocation
def cancel(invocation: Invocation, run_id: str, wait: float) -> int:
    """End a run of another terminal or machine, and wait until it has ended.

    RUN is a run's id, or `latest`. Its Spark jobs are stopped, its branch is dropped, and nothing more of it is
    published.

    \b
    Example:
      tidegate cancel run-20261115-101112-123
    """
    from tidegate.operations.cancel import cancel_run

    settings = open_workspace(invocation).settings
    done = cancel_run(settings, run_id, patience=wait)
    invocation.output().show(done.document(), lambda: _lines(done, settings.reaper))
    return done.exit_code


def _lines(done: CancelResult, reaper: ReaperSection) -> Iterator[str]:
    run = done.run
    if not done.ended:
        yield from _still_there(done, reaper)
        return
    if not done.requested:
        yield f"{run.run_id} had ended already: {run.status}, at {timestamp(run.finished_at or run.started_at)} UTC"
        return
    if run.status != "cancelled":
        yield f"{run.run_id} was not cancelled: it ended as {run.status} first"
        return
    yield f"{run.run_id} is cancelled after {duration(run.duration_ms or 0)}{f': {run.error}' if run.error else ''}"
    published = ((run.result or {}).get("publish") or {}).get("tables") or []
    if published:
        yield f"What it had published before stays: {', '.join(published)}"
    if done.left:
        yield f"[WARN] its branch is still there: {done.left}; `tidegate reap` drops it later"
    for warning in done.warnings:
        yield f"[WARN] {warning}"


def _still_there(done: CancelResult, reaper: ReaperSection) -> Iterator[str]:
    from tidegate.operations.cancel import whereabouts

    yield f"{done.run.run_id} was asked to end and has not yet ({whereabouts(done.run)})"
    if done.silent_since is None:
        yield "  fix: It is alive, and ends when it can: see `tidegate history`. End its process if it does not."
        return
    yield f"  no heartbeat since {timestamp(done.silent_since)} UTC"
    yield (
        f"  fix: If its process is gone, `tidegate reap` fails the run {reaper.stuck_run_timeout_minutes} minutes after"
        f" its last heartbeat, and drops its branch after {reaper.orphan_branch_max_age_hours} hours. If it wakes"
        " up, it ends by itself."
    )
