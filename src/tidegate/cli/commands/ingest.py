"""`ingest`: land what is new in the source of a contract."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING

import click

from tidegate.amounts import plural
from tidegate.cli.invocation import Invocation, common_options, open_workspace, pass_invocation, worker_option
from tidegate.cli.terminal import is_terminal

if TYPE_CHECKING:
    from tidegate.operations.ingest import IngestResult

__all__ = ["ingest"]


@click.command()
@click.argument("contract")
@click.option("--restart", is_flag=True, help="Discard what an unfinished read has landed, and read it again.")
@worker_option
@common_options
@pass_invocation
def ingest(invocation: Invocation, contract: str, restart: bool) -> int:
    """Land what is new in the source of CONTRACT; no table is built.

    CONTRACT is a file, the id of a contract, or the name of one of its objects. The raw files go to its landing zone,
    where `tidegate run` reads them. A read that was interrupted goes on where it stopped, with the same bounds. The
    next one starts where this one ends, whether a run comes in between or not, so that nothing is landed twice.

    \b
    Example:
      tidegate ingest orders
      tidegate ingest contracts/orders.odcs.yml --json
    """
    workspace = open_workspace(invocation)
    # Only here: HTTP takes a while to load.
    from tidegate.cli.ingest_progress import IngestProgress
    from tidegate.operations.ingest import IngestOptions
    from tidegate.operations.ingest import ingest as land

    output = invocation.output()
    watched = is_terminal(sys.stderr) and not invocation.quiet and not invocation.json
    with IngestProgress(sys.stderr, color=not invocation.no_color) if watched else nullcontext() as screen:
        report = screen.show if screen is not None else None
        result = land(workspace, contract, IngestOptions(restart=restart, report=report, notify=output.note))
    output.show(result.document(), lambda: _lines(result))
    return 0


def _lines(result: IngestResult) -> Iterator[str]:
    landed, bounds = result.landed, result.landed.bounds
    yield from (f"{result.contract}: {note}" for note in landed.notes)
    if result.status == "pushed":
        yield f"{result.contract}: nothing to read; others put files into zone {result.zone}"
        return
    if result.status == "nothing_new":
        after = f" after {landed.checkpoint}" if landed.checkpoint is not None else ""
        yield f"{result.contract}: nothing new{after}"
        return
    parts = [plural(len(landed.files), "file")]
    if landed.rows is not None:
        parts.append(plural(landed.rows, "row"))
    line = f"{result.contract}: {', '.join(parts)} landed in {result.zone}/{landed.run_id}"
    limits = [f"after {bounds.lower}" if bounds.lower is not None else ""]
    limits.append(f"up to {bounds.upper}" if bounds.upper is not None else "")
    if any(limits):
        line += f", {' '.join(filter(None, limits))}"
    if landed.resumed:
        line += ", continued"
    if landed.checkpoint is not None:
        line += f"; next checkpoint {landed.checkpoint}"
    yield line
