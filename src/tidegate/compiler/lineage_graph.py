"""Column lineage over all models of a project, in both directions."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from tidegate.compiler.compiled import Compiled, Edge, EdgeKind, Origin

__all__ = ["Branch", "LineageGraph", "LineageStep", "least_direct"]

_RANK = {kind: rank for rank, kind in enumerate(EdgeKind)}


@dataclass(frozen=True, slots=True)
class LineageStep:
    """A column upstream or downstream of another."""

    table: str
    column: str | None
    """None: it decides which rows the table has, and is in none of its columns."""
    kind: EdgeKind
    """How it is derived over the whole path; of several paths the least direct that carries the value."""
    depth: int
    """The number of models on the shortest path."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A column in a tree of lineage. `kind`: the step to it. `repeated`: its branches are elsewhere in the tree."""

    table: str
    column: str
    kind: EdgeKind | None
    branches: tuple[Branch, ...] = ()
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class _Link:
    table: str
    column: str
    kind: EdgeKind


@dataclass(slots=True)
class _Growing:
    link: _Link
    further: Iterator[_Link]
    branches: list[Branch] = field(default_factory=list)


_Node = tuple[str, str]
_Neighbours = Callable[[str, str], list[_Link]]


class LineageGraph:
    """Tables have their full names, `shop.silver.orders`; zones are `landing:orders`. Case does not count in the
    names of columns."""

    def __init__(self, edges: Mapping[str, Iterable[Edge]], conditions: Mapping[str, Iterable[Origin]]) -> None:
        """Both by the table that has the columns."""
        self._edges = edges
        self._conditions = conditions
        self._up: dict[str, dict[str, list[_Link]]] = {}
        self._down: dict[str, dict[str, list[_Link]]] = {}

    @classmethod
    def of(cls, compiled: Compiled) -> LineageGraph:
        return cls(
            {str(table): model.edges for table, model in compiled.models.items()},
            {str(table): model.conditions for table, model in compiled.models.items()},
        )

    def columns(self, table: str) -> tuple[str, ...]:
        """The columns of a table that have lineage."""
        own = [edge.column for edge in self._edges.get(table, ())]
        read = [edge.origin.column for _, edge in self._readers.get(table, ())]
        return tuple({name.lower(): name for name in (*read, *own)}.values())

    def upstream(self, table: str, column: str | None = None, depth: int | None = None) -> tuple[LineageStep, ...]:
        """The columns it comes from, nearest first; `column` None: those of any of the table's columns."""
        return self._reach(table, column, depth, self._sources_of)

    def downstream(self, table: str, column: str | None = None, depth: int | None = None) -> tuple[LineageStep, ...]:
        """The columns that come from it, nearest first."""
        return self._reach(table, column, depth, self._users_of)

    def impact(self, table: str, column: str | None = None) -> tuple[LineageStep, ...]:
        """What a change of it affects: the columns downstream, and tables whose rows it or one of those decides."""
        steps = self.downstream(table, column)
        starts = [(name.lower(), table, 0) for name in ((column,) if column else self.columns(table))]
        reached = [*starts, *((step.column.lower(), step.table, step.depth) for step in steps if step.column)]
        decided: dict[str, int] = {}
        for name, at, depth in reached:
            for user, origin in self._deciders.get(at, ()):
                if origin.column.lower() == name:
                    decided.setdefault(user, depth + 1)
        rows = [LineageStep(user, None, EdgeKind.CONDITION, depth) for user, depth in decided.items()]
        return tuple(sorted((*steps, *rows), key=lambda step: (step.depth, step.table, step.column or "")))

    def upstream_tree(self, table: str, column: str, depth: int | None = None) -> Branch:
        return self._tree(table, column, depth, self._sources_of)

    def downstream_tree(self, table: str, column: str, depth: int | None = None) -> Branch:
        return self._tree(table, column, depth, self._users_of)

    def _reach(
        self, table: str, column: str | None, depth: int | None, neighbours: _Neighbours
    ) -> tuple[LineageStep, ...]:
        names = (column,) if column is not None else self.columns(table)
        starts: set[_Node] = {(table, name.lower()) for name in names}
        depths: dict[_Node, int] = dict.fromkeys(starts, 0)
        names_by_node: dict[_Node, str] = {}
        kinds: dict[_Node, EdgeKind] = {}
        waiting: deque[_Node] = deque(starts)
        while waiting:
            node = waiting.popleft()
            if depth is not None and depths[node] >= depth:
                continue
            for link in neighbours(*node):
                to = (link.table, link.column.lower())
                if to in starts or to == node:
                    continue
                kind = least_direct(kinds.get(node), link.kind)
                merged = _merged(kinds.get(to), kind)
                visited = to in depths
                depths.setdefault(to, depths[node] + 1)
                names_by_node.setdefault(to, link.column)
                if not visited or merged is not kinds[to]:
                    kinds[to] = merged
                    waiting.append(to)
        steps = (LineageStep(node[0], names_by_node[node], kinds[node], depths[node]) for node in names_by_node)
        return tuple(sorted(steps, key=lambda step: (step.depth, step.table, step.column or "")))

    def _tree(self, table: str, column: str, depth: int | None, neighbours: _Neighbours) -> Branch:
        """Depth first, without recursion: a chain of models may be longer than Python's stack."""
        start = _Growing(_Link(table, column, EdgeKind.IDENTITY), iter(neighbours(table, column.lower())))
        visited: set[_Node] = {(table, column.lower())}
        path = [start]
        while True:
            top = path[-1]
            link = next(top.further, None) if depth is None or len(path) <= depth else None
            if link is None:
                path.pop()
                if not path:
                    return Branch(table, column, None, tuple(top.branches))
                path[-1].branches.append(Branch(top.link.table, top.link.column, top.link.kind, tuple(top.branches)))
                continue
            node = (link.table, link.column.lower())
            further = neighbours(*node)
            if node in visited:
                top.branches.append(Branch(link.table, link.column, link.kind, repeated=bool(further)))
            else:
                visited.add(node)
                path.append(_Growing(link, iter(further)))

    def _sources_of(self, table: str, column: str) -> list[_Link]:
        index = self._up.get(table)
        if index is None:
            index = self._up[table] = {}
            for edge in self._edges.get(table, ()):
                link = _Link(edge.origin.table, edge.origin.column, edge.kind)
                index.setdefault(edge.column.lower(), []).append(link)
        return index.get(column, [])

    def _users_of(self, table: str, column: str) -> list[_Link]:
        index = self._down.get(table)
        if index is None:
            index = self._down[table] = {}
            for user, edge in self._readers.get(table, ()):
                index.setdefault(edge.origin.column.lower(), []).append(_Link(user, edge.column, edge.kind))
        return index.get(column, [])

    @cached_property
    def _readers(self) -> Mapping[str, list[tuple[str, Edge]]]:
        readers: dict[str, list[tuple[str, Edge]]] = {}
        for table, edges in self._edges.items():
            for edge in edges:
                readers.setdefault(edge.origin.table, []).append((table, edge))
        return readers

    @cached_property
    def _deciders(self) -> Mapping[str, list[tuple[str, Origin]]]:
        deciders: dict[str, list[tuple[str, Origin]]] = {}
        for table, origins in self._conditions.items():
            for origin in origins:
                deciders.setdefault(origin.table, []).append((table, origin))
        return deciders


def least_direct(path: EdgeKind | None, step: EdgeKind) -> EdgeKind:
    """The kind of a path with one more step."""
    return step if path is None or _RANK[step] > _RANK[path] else path


def _merged(one: EdgeKind | None, other: EdgeKind) -> EdgeKind:
    """Of two paths: the one that carries the value; of two that do, the less direct."""
    if one is None or one is EdgeKind.CONDITION:
        return other
    return one if other is EdgeKind.CONDITION or _RANK[one] >= _RANK[other] else other
