"""`lineage`: where columns come from and what reads them, as text, Mermaid, DOT or OpenLineage; without a JVM."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

import click

from tidegate.cli.invocation import Invocation, common_options, open_workspace, pass_invocation
from tidegate.cli.shared_options import variables_option
from tidegate.cli.terminal import Paint, clean, plain
from tidegate.compiler.compiled import EdgeKind, count_line
from tidegate.compiler.lineage_graph import Branch
from tidegate.jsontext import json_text
from tidegate.operations.lineage import Direction, LineageLink, LineageNode, LineageView, find_lineage

__all__ = ["dot_lines", "lineage", "mermaid_lines", "text_lines"]

_FORMATS = ("text", "json", "mermaid", "dot", "openlineage")


@click.command()
@click.argument("name", metavar="[MODEL[.COLUMN]]", required=False)
@click.option("--up/--down", default=True, help="What it comes from (default), or what is built from it.")
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
    """Show where columns come from, or what is built from them.

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

        # One event a line, as collectors of them read it, with or without --json.
        for event in past_run_events(workspace, compiled, run_id or "latest", name):
            print(json_text(event))
    else:
        view = find_lineage(compiled, name or "", Direction.UP if up else Direction.DOWN, depth)
        output.show(view.document(), lambda: _lines(view, form, invocation.painter(sys.stdout)))
    if compiled.errors:
        output.note(f"The project has {count_line(compiled.errors)}: `tidegate compile` shows them.")


def _lines(view: LineageView, form: str, paint: Paint) -> Iterable[str]:
    if form == "mermaid":
        return mermaid_lines(view)
    return dot_lines(view) if form == "dot" else text_lines(view, paint)


_ROWS = "(rows)"


def text_lines(view: LineageView, paint: Paint = plain) -> Iterator[str]:
    """One column is a tree; a model is the trees of its columns below each other."""
    if view.column is None:
        yield paint(clean(view.table), "strong")
        verb = "reads" if view.direction is Direction.UP else "read by"
        yield f"  {verb}: {clean(', '.join(view.tables)) or 'nothing'}"
        if not view.trees:
            yield "  its columns are not known"
    for tree, type_ in view.trees:
        yield from _tree_lines(view, tree, type_, paint)
    yield from _condition_lines(view)


def _tree_lines(view: LineageView, tree: Branch, type_: str | None, paint: Paint) -> Iterator[str]:
    indent = "" if view.column is not None else "  "
    name = f"{view.table}.{tree.column}" if view.column is not None else tree.column
    yield f"{indent}{paint(clean(name), 'strong')}{paint(f'  {clean(type_)}', 'quiet') if type_ else ''}"
    if tree.branches:
        yield from (f"{indent}{line}" for line in _branch_lines(view, tree.branches, paint))
    elif view.column is not None:
        what = "no column that is known" if view.direction is Direction.UP else "nothing that is known"
        yield f"└─ {'comes from' if view.direction is Direction.UP else 'is in'} {what}"


def _branch_lines(view: LineageView, branches: Iterable[Branch], paint: Paint, indent: str = "") -> Iterator[str]:
    *others, last = branches
    for branch in (*others, last):
        joint, below = ("└─ ", "   ") if branch is last else ("├─ ", "│  ")
        node = view.node(branch)
        kind = f"{branch.kind}, shown above" if branch.repeated else str(branch.kind)
        yield f"{indent}{joint}{clean(f'{node.table}.{node.column}')}  {paint(f'({kind})', 'quiet')}"
        if branch.branches:
            yield from _branch_lines(view, branch.branches, paint, indent + below)


def _condition_lines(view: LineageView) -> Iterator[str]:
    if not view.conditions:
        return
    yield ""
    if view.direction is Direction.UP:
        names = ", ".join(f"{node.table}.{node.column}" for node in view.conditions)
        yield clean(f"which rows {view.table} has is decided by: {names}")
    else:
        yield clean(f"it decides which rows these have: {', '.join(node.table for node in view.conditions)}")


def mermaid_lines(view: LineageView) -> Iterator[str]:
    tables, ids = _numbered(view)
    yield "flowchart LR"
    for number, (table, nodes) in enumerate(tables.items()):
        yield f'  subgraph t{number}["{_mermaid(table)}"]'
        yield from (f'    {ids[node]}["{_mermaid(node.column or _ROWS)}"]' for node in nodes)
        yield "  end"
    for link in view.links:
        source, target = ids[link.source], ids[link.target]
        if _is_about_rows(link):
            yield f"  {source} -.-> {target}"
        elif link.kind is EdgeKind.IDENTITY:
            yield f"  {source} --> {target}"
        else:
            yield f"  {source} -- {link.kind} --> {target}"


def dot_lines(view: LineageView) -> Iterator[str]:
    tables, ids = _numbered(view)
    yield "digraph lineage {"
    yield "  rankdir=LR;"
    yield '  node [shape=box, fontname="sans-serif"];'
    for number, (table, nodes) in enumerate(tables.items()):
        yield f"  subgraph cluster_{number} {{"
        yield f"    label={_quoted(table)};"
        yield from (f"    {ids[node]} [label={_quoted(node.column or _ROWS)}];" for node in nodes)
        yield "  }"
    for link in view.links:
        style = "style=dashed" if _is_about_rows(link) else f"label={_quoted(link.kind)}"
        attributes = "" if link.kind is EdgeKind.IDENTITY else f" [{style}]"
        yield f"  {ids[link.source]} -> {ids[link.target]}{attributes};"
    yield "}"


def _numbered(view: LineageView) -> tuple[dict[str, list[LineageNode]], dict[LineageNode, str]]:
    """The nodes by table, and a name for each that every language takes."""
    nodes = {view.node(tree): None for tree, _type in view.trees}
    nodes |= {node: None for link in view.links for node in (link.source, link.target)}
    tables: dict[str, list[LineageNode]] = {}
    for node in nodes:
        tables.setdefault(node.table, []).append(node)
    return tables, {node: f"c{number}" for number, node in enumerate(nodes)}


def _is_about_rows(link: LineageLink) -> bool:
    return not link.target.column


def _mermaid(text: str) -> str:
    return clean(text).replace("#", "#35;").replace('"', "#quot;")


def _quoted(text: str) -> str:
    escaped = clean(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
