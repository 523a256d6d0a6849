"""`lineage`: where columns come from and what is made of them, without a JVM."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import click

from tidegate.cli.context import Invocation, common_options, open_workspace, pass_invocation
from tidegate.cli.lineage_text import dot_lines, mermaid_lines, text_lines
from tidegate.cli.options import variables_option
from tidegate.cli.paint import Paint
from tidegate.compiler.lineage import LineageGraph
from tidegate.compiler.values import Compiled, count_line
from tidegate.operations.lineage import Direction, View, find_target, view
from tidegate.operations.workspace import Workspace

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
        _print_events(workspace, compiled, name, run_id)
    else:
        graph = LineageGraph.of(compiled)
        direction = Direction.UP if up else Direction.DOWN
        shown = view(compiled, graph, find_target(name or "", compiled, graph), direction, depth)
        output.show(shown.document(), lambda: _lines(shown, form, invocation.painter(sys.stdout)))
    if compiled.errors:
        output.note(f"The project has {count_line(compiled.errors)}: `tidegate compile` shows them.")


def _lines(shown: View, form: str, paint: Paint) -> Iterable[str]:
    if form == "mermaid":
        return mermaid_lines(shown)
    return dot_lines(shown) if form == "dot" else text_lines(shown, paint)


def _print_events(workspace: Workspace, compiled: Compiled, name: str | None, run_id: str | None) -> None:
    """One event a line, as collectors of them read it, whatever --json says."""
    from tidegate.jsontext import json_text
    from tidegate.operations.openlineage import run_events
    from tidegate.state.finding import find_run

    with workspace.state() as state:
        run = find_run(state, run_id or "latest")
        models = state.model_runs(run.run_id)
    if name is not None:
        wanted = workspace.find_model(compiled, name).model.table.short(compiled.namespace)
        models = tuple(model for model in models if model.model == wanted)
    for event in run_events(compiled, workspace.settings, run, models):
        print(json_text(event))
