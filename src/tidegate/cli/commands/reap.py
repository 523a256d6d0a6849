"""`reap`: clear up after processes that are gone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from tidegate.amounts import timestamp
from tidegate.cli.context import Invocation, common_options, open_workspace, pass_invocation

if TYPE_CHECKING:
    from tidegate.operations.reap import ReapReport

__all__ = ["reap"]


@click.command()
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@common_options
@pass_invocation
def reap(invocation: Invocation, dry_run: bool) -> int:
    """Fail runs whose process is gone, and drop branches that nobody works on.

    The hooks and the callback of the project are told of each run that is failed.
    [reaper] in tidegate.toml says after how long without a sign of life. Kept branches are never dropped.

    \b
    Example:
      tidegate reap --dry-run
    """
    from tidegate.operations.reap import reap as reap_project

    report = reap_project(open_workspace(invocation).settings, dry_run=dry_run)
    invocation.output().show(report.document(), lambda: _lines(report))
    return report.exit_code


def _lines(report: ReapReport) -> Iterator[str]:
    would = "would be " if report.dry_run else ""
    for run in report.failed_runs:
        yield f"run {run.name} {would}failed: no sign of life since {timestamp(run.last_sign_of_life)} UTC"
    for branch in report.dropped_branches:
        yield f"branch {branch.name} {would}dropped: no sign of life since {timestamp(branch.last_sign_of_life)} UTC"
    for table in report.dropped_tables:
        yield f"table {table.name} {would}dropped: a run that wrote main itself was killed while it made it"
    for error in report.errors:
        yield f"[WARN] {error}"
    if not (report.failed_runs or report.dropped_branches or report.dropped_tables or report.errors):
        yield "Nothing to do."
