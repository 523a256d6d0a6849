"""`diff`: what a run or a branch changed, row by row."""

from __future__ import annotations

import sys

import click

from tidegate.cli.context import Invocation, common_options, open_workspace, pass_invocation
from tidegate.cli.diff_text import diff_lines
from tidegate.operations.diff.compare import diff as find_diff

__all__ = ["diff"]


@click.command()
@click.argument("name", metavar="RUN|BRANCH")
@click.argument("tables", metavar="[TABLE]...", nargs=-1)
@click.option(
    "--limit", type=click.IntRange(min=0), default=5, show_default=True, help="Sample rows of each kind and table."
)
@common_options
@pass_invocation
def diff(invocation: Invocation, name: str, tables: tuple[str, ...], limit: int) -> None:
    """Show which rows a run or a branch inserted, updated and deleted.

    RUN is the id of a run (`latest`: the newest, also one that changed nothing or failed), BRANCH one that
    `run --no-publish` kept. TABLE names tables to look at; without it, all that changed. Nothing is changed by looking.

    \b
    Example:
      tidegate diff latest silver.orders
    """
    workspace = open_workspace(invocation)
    output = invocation.output()
    found = find_diff(workspace.settings, name, tables, limit, say=output.note)
    output.show(found.document(), lambda: diff_lines(found, limit, invocation.painter(sys.stdout)))
    if name == "latest" and not found.tables:
        output.note("`latest` is the newest run, whatever became of it: `tidegate history` lists the ones before.")
