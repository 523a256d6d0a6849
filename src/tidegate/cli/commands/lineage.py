"""`lineage`: where columns come from and what is made of them, without a JVM."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import click

from tidegate.cli.context import Invocation, common_options, open_workspace, pass_invocation
from tidegate.cli.lineage_text import dot_lines, mermaid_lines, text_lines
from tidegate.cli.options import variables_option
from tidegate.cli.paint import Paint
from tidegate.compiler.values import count_line
from tidegate.jsontext import json_text
from tidegate.operations.lineage import Direction, View, find_lineage

__all__ = ["lineage"]

_FORMATS = ("text", "json", "mermaid", "dot", "openlineage")


@click.command()
@click.argument("name", metavar="[MODEL[.COLUMN]]", required=False)
@click.option("--up/--down", default=True, help="What it comes from (default), or what is made of it.")
@click.option("--depth", type=click.IntRange(min=1), metavar="N", help="How many steps (a model: 1, a column: all).")
@click.option("--format", "form", type=click.Choice(_FORMATS), default="text", help="How to show it.")
@click.option("--run", "run_id", metavar="RUN", help="With openlineage: which run; without it, the latest.")
@variables_option
@common_options
@pass_invocation
def lineage(
    invocation: Invocation,
    name: str | None,
    up: bool,
    depth: int | None,
    form: str,
    run_id: str | None,
    variables: dict[str, str],
) -> None:
    """Show where columns come from, or what is made of them.

    MODEL[.COLUMN] is a model, a table of the lake or landing:ZONE, with or without a column. `--format openlineage`
    gives a past run as OpenLineage events, one a line, with the columns as the project has them now.

    \b
    Example:
      tidegate lineage gold.revenue.amount
      tidegate lineage silver.orders --down --format mermaid
      tidegate lineage --format openlineage --run run-20261115-101112-123
    """
    if form != "openlineage" and run_id is not None:
        raise click.UsageError("--run goes with --format openlineage.")
    if form != "openlineage" and name is None:
        raise click.UsageError("Name a model or a column: tidegate lineage MODEL[.COLUMN].")
    invocation.json = invocation.json or form == "json"
    workspace = open_workspace(invocation)
    compiled = workspace.compile(variables)
    output = invocation.output()
    if form == "openlineage":
        from tidegate.operations.openlineage import past_run_events  # only here: other formats need no history

        # One event a line, as collectors of them read it, whatever --json says.
        for event in past_run_events(workspace, compiled, run_id or "latest", name):
            print(json_text(event))
    else:
        shown = find_lineage(compiled, name or "", Direction.UP if up else Direction.DOWN, depth)
        output.show(shown.document(), lambda: _lines(shown, form, invocation.painter(sys.stdout)))
    if compiled.errors:
        output.note(f"The project has {count_line(compiled.errors)}: `tidegate compile` shows them.")


def _lines(shown: View, form: str, paint: Paint) -> Iterable[str]:
    if form == "mermaid":
        return mermaid_lines(shown)
    return dot_lines(shown) if form == "dot" else text_lines(shown, paint)
