"""`branches`, `maintain` and `reap`: the upkeep of the lake."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from tidegate.amounts import age, plural, size, timestamp
from tidegate.cli.invocation import Invocation, common_options, open_workspace, pass_invocation, worker_option
from tidegate.cli.terminal import OutputLine, TextTable
from tidegate.operations.listings import ListedBranch, list_branches

if TYPE_CHECKING:
    from tidegate.operations.maintain import MaintenanceReport
    from tidegate.operations.reap import ReapReport

__all__ = ["branches", "maintain", "reap"]


@click.command()
@common_options
@pass_invocation
def branches(invocation: Invocation) -> None:
    """List the branches of the lake and what they changed.

    \b
    Example:
      tidegate branches
    """
    listed = list_branches(open_workspace(invocation).settings)
    invocation.output().show({"branches": [branch.document() for branch in listed]}, lambda: _branch_lines(listed))


def _branch_lines(branches: tuple[ListedBranch, ...]) -> Iterator[OutputLine]:
    if not branches:
        yield "No branches: every run has published or dropped its own."
        return
    now = datetime.now(UTC)
    rows = (
        (
            branch.name,
            timestamp(branch.created_at),
            f"{age(branch.heartbeat_at, now)} ago",
            "kept for publish" if branch.kept else "run",
            ", ".join(branch.changed_tables) or "-",
        )
        for branch in branches
    )
    yield TextTable(("branch", "created (UTC)", "last heartbeat", "state", "changed tables"), rows)
    if any(branch.kept for branch in branches):
        yield "Publish a kept branch with `tidegate publish RUN`."


@click.command()
@click.option("--dry-run", is_flag=True, help="Only report what would be done.")
@worker_option
@common_options
@pass_invocation
def maintain(invocation: Invocation, dry_run: bool) -> int:
    """Compact small files, expire old snapshots, sweep unused files.

    Branches that no process has kept alive are dropped first. What a live branch needs is never touched.
    Delta tables of chunked loads are compacted and vacuumed too.

    \b
    Example:
      tidegate maintain --dry-run
    """
    # `branches` lives in this file too, and must not wait for the rooms that work with Spark.
    from tidegate.operations.maintain import maintain_lake

    output = invocation.output()
    report = maintain_lake(open_workspace(invocation).settings, output.note, dry_run)
    output.show(report.document(), lambda: _report(report))
    return report.exit_code


def _report(report: MaintenanceReport) -> Iterator[str]:
    would = "would be " if report.dry_run else ""
    for branch in report.dropped_branches:
        yield f"branch {branch} {would}dropped: its process is gone"
    for done in report.compacted:
        about = "about " if report.dry_run else ""
        yield f"{done.table}: {done.files_before} files {would}compacted to {about}{done.files_after}"
    for table, count in report.expired.items():
        yield f"{table}: {plural(count, 'snapshot')} {would}expired"
    for table, count in report.vacuumed.items():
        yield f"{table}: {plural(count, 'unused file')} {would}deleted"
    if report.swept and report.swept.files:
        yield f"{plural(len(report.swept.files), 'unused file')} ({size(report.swept.bytes)}) {would}deleted"
    if report.swept and report.swept.left:
        yield f"unused files are left: {report.swept.left}"
    for table in report.gave_way:
        yield f"{table}: skipped, a run is changing it"
    for error in report.errors:
        yield f"[WARN] {error}"
    did = report.dropped_branches or report.compacted or report.expired or report.vacuumed
    if not did and not (report.swept and report.swept.files) and not report.errors:
        yield "Nothing to do."


@click.command()
@click.option("--dry-run", is_flag=True, help="Only report what would be done.")
@common_options
@pass_invocation
def reap(invocation: Invocation, dry_run: bool) -> int:
    """Fail runs whose process is gone, and drop branches that no process uses.

    The hooks and the callback of the project are notified of each run that is failed.
    [reaper] in tidegate.toml sets after how long without a heartbeat. Kept branches are never dropped.

    \b
    Example:
      tidegate reap --dry-run
    """
    from tidegate.operations.reap import reap as reap_project

    report = reap_project(open_workspace(invocation).settings, dry_run=dry_run)
    invocation.output().show(report.document(), lambda: _reap_lines(report))
    return report.exit_code


def _reap_lines(report: ReapReport) -> Iterator[str]:
    would = "would be " if report.dry_run else ""
    for run in report.failed_runs:
        yield f"run {run.name} {would}failed: no heartbeat since {timestamp(run.last_sign_of_life)} UTC"
    for branch in report.dropped_branches:
        yield f"branch {branch.name} {would}dropped: no heartbeat since {timestamp(branch.last_sign_of_life)} UTC"
    for table in report.dropped_tables:
        yield f"table {table.name} {would}dropped: a run that wrote main itself was killed while it made it"
    for error in report.errors:
        yield f"[WARN] {error}"
    if not (report.failed_runs or report.dropped_branches or report.dropped_tables or report.errors):
        yield "Nothing to do."
