"""`worker`: the process that holds Spark for the next command."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from tidegate.amounts import duration, plural, size
from tidegate.cli.invocation import Invocation, common_options, open_workspace, pass_invocation

if TYPE_CHECKING:
    from tidegate.operations.worker import WorkersReport, WorkerState

__all__ = ["worker"]


@click.group()
@common_options
def worker() -> None:
    """Show or stop the process that holds Spark for the project's next command.

    \b
    Example:
      tidegate worker status
    """


@worker.command()
@common_options
@pass_invocation
def status(invocation: Invocation) -> int:
    """Show the project's worker: its process, age, commands and memory.

    \b
    Example:
      tidegate worker status --json
    """
    invocation.command = "worker status"
    from tidegate.operations.worker import worker_status

    report = worker_status(open_workspace(invocation).settings)
    invocation.output().show(report.document(), lambda: _lines(report))
    return 0


@worker.command()
@common_options
@pass_invocation
def stop(invocation: Invocation) -> int:
    """Stop the project's worker; one that a command uses ends with that command.

    \b
    Example:
      tidegate worker stop
    """
    invocation.command = "worker stop"
    from tidegate.operations.worker import stop_workers

    report = stop_workers(open_workspace(invocation).settings)
    invocation.output().show(report.document(), lambda: _stopped_lines(report))
    return 0


def _lines(report: WorkersReport) -> Iterator[str]:
    if not report.workers:
        yield "No worker runs for this project."
    for each in report.workers:
        yield from _described(each)


def _described(each: WorkerState) -> Iterator[str]:
    if each.state == "silent":
        yield f"worker {each.name}  answers nothing; the next command replaces it"
        return
    idle = f" for {_seconds(each.idle_seconds)}" if each.state == "idle" else ""
    yield (
        f"process {each.pid}  {each.state}{idle}, {_seconds(each.age_seconds)} old,"
        f" {size(each.memory_bytes)}, {plural(each.leases_given, 'command')} so far"
    )
    for lease in each.leases:
        process = "" if lease.pid is None else f" (process {lease.pid})"
        yield f"  serves {lease.command}{process} since {_seconds(lease.seconds)}"
    yield f"  ends after {_seconds(each.keep_alive_seconds)} without a command"


def _stopped_lines(report: WorkersReport) -> Iterator[str]:
    if not report.workers:
        yield "No worker runs for this project."
    for each in report.workers:
        if each.state == "silent":
            yield f"worker {each.name} answers nothing; the next command replaces it"
        elif each.leases:
            yield f"process {each.pid} ends with the last of {plural(len(each.leases), 'command')}"
        else:
            yield f"process {each.pid} has stopped"


def _seconds(count: int) -> str:
    return duration(count * 1000)
