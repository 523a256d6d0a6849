"""`branches` and `maintain`: the lake's own upkeep."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING

import click

from tidegate.amounts import age, plural, size, timestamp
from tidegate.cli.context import Invocation, common_options, open_workspace, pass_invocation
from tidegate.cli.output import Output
from tidegate.cli.table import text_table
from tidegate.operations.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.operations.maintain import MaintenanceReport

__all__ = ["branches", "maintain"]


@click.command()
@common_options
@pass_invocation
def branches(invocation: Invocation) -> None:
    """List the branches of the lake and what they changed.

    \b
    Example:
      tidegate branches
    """
    workspace = open_workspace(invocation)
    namespace = workspace.settings.project.namespace
    found = workspace.branches()
    now = datetime.now(UTC)

    def lines() -> Iterator[str]:
        if not found:
            yield "No branches: every run has published or dropped its own."
            return
        headers = ("branch", "created (UTC)", "last sign of life", "state", "changed tables")
        yield from text_table(
            headers,
            (
                (
                    info.name,
                    timestamp(info.created_at),
                    f"{age(info.heartbeat_at, now)} ago",
                    "kept for publish" if info.kept else "run",
                    ", ".join(change.table.short(namespace) for change in changes) or "-",
                )
                for info, changes in found
            ),
        )
        if any(info.kept for info, _changes in found):
            yield "Publish a kept branch with `tidegate publish RUN`."

    document = [
        {
            "name": info.name,
            "created_at": info.created_at,
            "heartbeat_at": info.heartbeat_at,
            "kept": info.kept,
            "changed_tables": [change.table.short(namespace) for change in changes],
        }
        for info, changes in found
    ]
    invocation.output().show({"branches": document}, lines)


@click.command()
@common_options
@pass_invocation
def maintain(invocation: Invocation) -> int:
    """Compact small files, expire old snapshots, sweep unused files.

    Branches that no process has kept alive are dropped first. What a live branch needs is never touched.

    \b
    Example:
      tidegate maintain
    """
    # `branches` lives in this file too, and must not wait for the rooms that work with Spark.
    from tidegate.operations.maintain import maintain as maintain_lake

    workspace = open_workspace(invocation)
    with _Sessions(workspace, invocation.output()) as sessions:
        report = maintain_lake(workspace.settings, workspace.catalog(), sessions)
    status = "partial" if report.errors else "success"
    invocation.output().show({"status": status, **report.to_dict()}, lambda: _report(report))
    return 2 if report.errors else 0


class _Sessions:
    """Child sessions of a Spark that starts when the first table needs it, which is seldom."""

    def __init__(self, workspace: Workspace, output: Output) -> None:
        self._workspace = workspace
        self._output = output
        self._root: SparkSession | None = None

    def __enter__(self) -> _Sessions:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._root is not None:
            self._root.stop()

    def __call__(self, branch: str) -> SparkSession:
        from tidegate.spark.opening import open_spark
        from tidegate.spark.session import child_session

        settings, catalog = self._workspace.settings, self._workspace.catalog()
        if self._root is None:
            self._root = open_spark(settings, self._output.note)
        return child_session(self._root, catalog.spark_conf(branch), catalog.spark_catalog(branch))


def _report(report: MaintenanceReport) -> Iterator[str]:
    for branch in report.dropped_branches:
        yield f"branch {branch} dropped: its process is gone"
    for done in report.compacted:
        yield f"{done.table}: {done.files_before} files compacted to {done.files_after}"
    for table, count in report.expired.items():
        yield f"{table}: {plural(count, 'snapshot')} expired"
    if report.swept and report.swept.files:
        yield f"{plural(len(report.swept.files), 'unused file')} ({size(report.swept.bytes)}) deleted"
    if report.swept and report.swept.left:
        yield f"unused files are left: {report.swept.left}"
    for table in report.gave_way:
        yield f"{table}: left as it is, a run is changing it"
    for error in report.errors:
        yield f"[WARN] {error}"
    did = report.dropped_branches or report.compacted or report.expired or (report.swept and report.swept.files)
    if not did and not report.errors:
        yield "Nothing to do."
