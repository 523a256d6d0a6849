"""What `lineage` shows of one model or column: the value behind the text, the JSON and the drawings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tidegate.compiler.compiled import Compiled, EdgeKind
from tidegate.compiler.lineage_graph import Branch, LineageGraph
from tidegate.compiler.table_columns import table_columns
from tidegate.datatypes import Relation
from tidegate.errors import SelectionError
from tidegate.names import TableName, nearest

__all__ = ["Direction", "LineageLink", "LineageNode", "LineageView", "Target", "find_lineage", "find_target", "view"]

_ONE = r"(?:`((?:[^`]|``)+)`|([^`.]+))"
_PART = re.compile(_ONE)
_NAME = re.compile(rf"{_ONE}(?:\.{_ONE})*")


class Direction(StrEnum):
    UP = "upstream"
    DOWN = "downstream"


@dataclass(frozen=True, slots=True, order=True)
class LineageNode:
    """A column, under its name within the project; `column` empty: the rows of the table."""

    table: str
    column: str


@dataclass(frozen=True, slots=True)
class LineageLink:
    """`target` comes from `source`."""

    source: LineageNode
    target: LineageNode
    kind: EdgeKind


@dataclass(frozen=True, slots=True)
class Target:
    key: str
    """The table as the lineage graph names it."""

    column: str | None = None
    """None: all of its columns."""


@dataclass(frozen=True, slots=True)
class LineageView:
    table: str
    column: str | None
    direction: Direction
    trees: tuple[tuple[Branch, str | None], ...]
    """One for each requested column, with its type if known."""

    tables: tuple[str, ...]
    """What the table reads, or what reads it."""

    conditions: tuple[LineageNode, ...]
    """Upstream, the columns that decide which rows the table has; downstream, the tables (`column` empty) whose rows it
    decides."""

    namespace: str

    def node(self, branch: Branch) -> LineageNode:
        return LineageNode(_short(branch.table, self.namespace), branch.column)

    @property
    def links(self) -> tuple[LineageLink, ...]:
        """Each once, those of the conditions last. Where no column is known, the tables themselves."""
        links = {link: None for tree, _type in self.trees for link in self._links_of(tree)}
        for table in self.tables if not self.trees else ():
            ends = (LineageNode(table, ""), LineageNode(self.table, ""))
            links[LineageLink(*(ends if self.direction is Direction.UP else ends[::-1]), EdgeKind.IDENTITY)] = None
        for node in self.conditions:
            if self.direction is Direction.UP:
                links[LineageLink(node, LineageNode(self.table, ""), EdgeKind.CONDITION)] = None
            else:
                links |= {LineageLink(self.node(tree), node, EdgeKind.CONDITION): None for tree, _ in self._starts}
        return tuple(links)

    @property
    def _starts(self) -> tuple[tuple[Branch, str | None], ...]:
        return self.trees if self.column is not None else ()

    def _links_of(self, branch: Branch) -> Iterator[LineageLink]:
        for other in branch.branches:
            ends = (self.node(other), self.node(branch))
            source, target = ends if self.direction is Direction.UP else ends[::-1]
            yield LineageLink(source, target, other.kind or EdgeKind.IDENTITY)
            yield from self._links_of(other)

    def document(self) -> Mapping[str, Any]:
        return {
            "model": self.table,
            "column": self.column,
            "direction": self.direction,
            "columns": [{"name": tree.column, "type": type_} for tree, type_ in self.trees],
            "tables": list(self.tables),
            "edges": [
                {"from": _end(link.source), "to": _end(link.target), "kind": link.kind}
                for link in self.links
                if link.source.column and link.target.column
            ],
            "conditions": [_end(node) for node in self.conditions],
        }


def _end(node: LineageNode) -> Mapping[str, str | None]:
    return {"table": node.table, "column": node.column or None}


def find_target(text: str, compiled: Compiled, graph: LineageGraph) -> Target:
    """`silver.orders`, `silver.orders.amount`, `landing:orders`, each with or without the namespace.

    A part may stand in backticks, as in a query; it must where it holds a dot.
    """
    keys = {str(table).lower(): str(table) for table in _tables(compiled)}
    keys |= {f"landing:{zone}".lower(): f"landing:{zone}" for m in compiled.models.values() for zone in m.zones}
    keys |= {f"lib:{read.name}".lower(): f"lib:{read.name}" for m in compiled.models.values() for read in m.functions}
    names = {_short(key, compiled.namespace): key for key in keys.values()}
    keys |= {name.lower(): key for name, key in names.items()}
    *others, column = parts = _parts(text)
    if (key := keys.get(".".join(parts).lower())) is not None:
        return Target(key)
    head = ".".join(others)
    if (key := keys.get(head.lower())) is None:
        raise _unknown(text, head, names, compiled)
    columns = _columns(key, compiled, graph)
    match = next((name for name in columns if name.lower() == column.lower()), None)
    if match is None:
        raise _unknown_column(_short(key, compiled.namespace), column, columns)
    return Target(key, match)


def _parts(text: str) -> list[str]:
    """The parts between the dots; what is not written as such is one part."""
    if not _NAME.fullmatch(text):
        return [text]
    return [bare or quoted.replace("``", "`") for quoted, bare in _PART.findall(text)]


def _tables(compiled: Compiled) -> Iterator[TableName]:
    for table, model in compiled.models.items():
        yield table
        yield from model.sources


def _unknown(text: str, head: str, names: Mapping[str, str], compiled: Compiled) -> SelectionError:
    by_last_part = tuple(sorted(n for n in names if n.rpartition(".")[2].lower() == text.lower()))
    close = by_last_part[:3] or nearest(text, names) or nearest(head, names)
    meant = f"Did you mean {' or '.join(close)}? " if close else ""
    broken = "A model with errors is left out: `tidegate compile` shows them." if compiled.errors else ""
    return SelectionError(f"There is no model '{text}'", remedy=f"{meant}{broken or '`tidegate ls` lists the models.'}")


def _unknown_column(table: str, column: str, columns: tuple[str, ...]) -> SelectionError:
    if not columns:
        return SelectionError(f"The columns of {table} are not known, so neither is '{column}'")
    close = nearest(column, columns)
    remedy = f"Did you mean {' or '.join(close)}?" if close else f"It has {', '.join(columns)}."
    return SelectionError(f"{table} has no column '{column}'", remedy=remedy)


def find_lineage(compiled: Compiled, name: str, direction: Direction, depth: int | None) -> LineageView:
    graph = LineageGraph.of(compiled)
    return view(compiled, graph, find_target(name, compiled, graph), direction, depth)


def view(
    compiled: Compiled, graph: LineageGraph, target: Target, direction: Direction, depth: int | None
) -> LineageView:
    """Without a column and a depth, one step: the whole lineage of every column would be too much to read."""
    key, names = target.key, (target.column,) if target.column else _columns(target.key, compiled, graph)
    depth = 1 if depth is None and target.column is None else depth
    grow = graph.upstream_tree if direction is Direction.UP else graph.downstream_tree
    relation = _relation(key, compiled)
    return LineageView(
        table=_short(key, compiled.namespace),
        column=target.column,
        direction=direction,
        trees=tuple((grow(key, name, depth), _type(relation, name)) for name in names),
        tables=tuple(_neighbours(key, compiled, direction)),
        conditions=tuple(_conditions(compiled, graph, target, direction, depth)),
        namespace=compiled.namespace,
    )


def _relation(key: str, compiled: Compiled) -> Relation | None:
    """The columns of its table, which may be more than those of its query."""
    model = compiled.model_of(key)
    return table_columns(model.model.settings, model.relation) if model else None


def _columns(key: str, compiled: Compiled, graph: LineageGraph) -> tuple[str, ...]:
    relation = _relation(key, compiled)
    own = [column.name for column in relation.columns] if relation else []
    if relation and relation.complete:
        return tuple(own)
    return tuple({name.lower(): name for name in (*graph.columns(key), *own)}.values())


def _type(relation: Relation | None, name: str) -> str | None:
    column = relation.find(name) if relation else None
    return column.type.text if column and column.type.known else None


def _neighbours(key: str, compiled: Compiled, direction: Direction) -> Iterator[str]:
    for table, model in compiled.models.items():
        reads = [*map(str, (*model.depends_on, *model.sources, *model.inlined)), *(f"landing:{z}" for z in model.zones)]
        reads += dict.fromkeys(f"lib:{read.name}" for read in model.functions)
        if direction is Direction.DOWN and key in reads:
            yield table.short(compiled.namespace)
        elif direction is Direction.UP and str(table) == key:
            yield from (_short(other, compiled.namespace) for other in reads)


def _conditions(
    compiled: Compiled, graph: LineageGraph, target: Target, direction: Direction, depth: int | None
) -> Iterator[LineageNode]:
    if direction is Direction.DOWN:
        names = (target.column,) if target.column else _columns(target.key, compiled, graph)
        steps = (step for name in names for step in graph.impact(target.key, name))
        reached = {step.table for step in steps if step.column is None and (depth is None or step.depth <= depth)}
        yield from (LineageNode(_short(table, compiled.namespace), "") for table in sorted(reached))
        return
    for table, model in compiled.models.items():
        if str(table) == target.key:
            yield from (LineageNode(_short(o.table, compiled.namespace), o.column) for o in model.conditions)


def _short(key: str, namespace: str) -> str:
    return key.removeprefix(f"{namespace}.")
