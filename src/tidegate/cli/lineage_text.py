"""Lineage as a tree of text, as a Mermaid flowchart, and as a DOT graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidegate.cli.paint import Paint, plain
from tidegate.cli.table import clean
from tidegate.compiler.lineage import Branch
from tidegate.compiler.values import EdgeKind
from tidegate.operations.lineage import Direction, Link, Node, View

__all__ = ["dot_lines", "mermaid_lines", "text_lines"]

_ROWS = "(rows)"


def text_lines(view: View, paint: Paint = plain) -> Iterator[str]:
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


def _tree_lines(view: View, tree: Branch, type_: str | None, paint: Paint) -> Iterator[str]:
    indent = "" if view.column is not None else "  "
    name = f"{view.table}.{tree.column}" if view.column is not None else tree.column
    yield f"{indent}{paint(clean(name), 'strong')}{paint(f'  {clean(type_)}', 'quiet') if type_ else ''}"
    if tree.branches:
        yield from (f"{indent}{line}" for line in _branch_lines(view, tree.branches, paint))
    elif view.column is not None:
        what = "no column that is known" if view.direction is Direction.UP else "nothing that is known"
        yield f"└─ {'comes from' if view.direction is Direction.UP else 'is in'} {what}"


def _branch_lines(view: View, branches: Iterable[Branch], paint: Paint, indent: str = "") -> Iterator[str]:
    *others, last = branches
    for branch in (*others, last):
        joint, below = ("└─ ", "   ") if branch is last else ("├─ ", "│  ")
        node = view.node(branch)
        kind = f"{branch.kind}, shown above" if branch.repeated else str(branch.kind)
        yield f"{indent}{joint}{clean(f'{node.table}.{node.column}')}  {paint(f'({kind})', 'quiet')}"
        if branch.branches:
            yield from _branch_lines(view, branch.branches, paint, indent + below)


def _condition_lines(view: View) -> Iterator[str]:
    if not view.conditions:
        return
    yield ""
    if view.direction is Direction.UP:
        names = ", ".join(f"{node.table}.{node.column}" for node in view.conditions)
        yield clean(f"which rows {view.table} has is decided by: {names}")
    else:
        yield clean(f"it decides which rows these have: {', '.join(node.table for node in view.conditions)}")


def mermaid_lines(view: View) -> Iterator[str]:
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


def dot_lines(view: View) -> Iterator[str]:
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
        shown = "" if link.kind is EdgeKind.IDENTITY else f" [{style}]"
        yield f"  {ids[link.source]} -> {ids[link.target]}{shown};"
    yield "}"


def _numbered(view: View) -> tuple[dict[str, list[Node]], dict[Node, str]]:
    """The nodes by table, and a name for each that every language takes."""
    found = {view.node(tree): None for tree, _type in view.trees}
    found |= {node: None for link in view.links for node in (link.source, link.target)}
    tables: dict[str, list[Node]] = {}
    for node in found:
        tables.setdefault(node.table, []).append(node)
    return tables, {node: f"c{number}" for number, node in enumerate(found)}


def _is_about_rows(link: Link) -> bool:
    return not link.target.column


def _mermaid(text: str) -> str:
    return clean(text).replace("#", "#35;").replace('"', "#quot;")


def _quoted(text: str) -> str:
    escaped = clean(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
