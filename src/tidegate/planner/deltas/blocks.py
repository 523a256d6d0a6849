"""A query as the delta rules see it: blocks of joined items, what links them, and what each gives."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from tidegate.compiler.sql.sql_text import key_of
from tidegate.names import TableName
from tidegate.planner.deltas.delta_query import InputTable

__all__ = [
    "Base",
    "Block",
    "BlockItem",
    "Join",
    "JoinLink",
    "LiteralRows",
    "OutputColumn",
    "Relation",
    "SetOperation",
    "Value",
    "Window",
]


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """An expression of a block. `tree`: with every column as `item.column`. `columns`: items by position, and names.

    `plain`: it is this column of that item and nothing else. `flaw`: why it cannot be evaluated on a row of the joined
    items alone.
    """

    tree: Any
    columns: frozenset[tuple[int, str]]
    plain: tuple[int, str] | None = None
    flaw: str | None = None

    @property
    def key(self) -> str:
        """The same for the same expression."""
        return key_of(self.tree)

    @property
    def items(self) -> frozenset[int]:
        return frozenset(item for item, _ in self.columns)


@dataclass(frozen=True, slots=True)
class OutputColumn:
    name: str
    value: Value


@dataclass(frozen=True, slots=True)
class Window:
    """`text`: the function, as it is named to a person."""

    text: str
    partition: frozenset[str]


class Join(StrEnum):
    """How the rows of an item come in. SUBQUERY: it stands in an expression."""

    FROM = "FROM"
    INNER = "JOIN"
    LEFT = "LEFT JOIN"
    RIGHT = "RIGHT JOIN"
    FULL = "FULL JOIN"
    SEMI = "LEFT SEMI JOIN"
    ANTI = "LEFT ANTI JOIN"
    SUBQUERY = "SUBQUERY"


@dataclass(frozen=True, slots=True, eq=False)
class Base:
    """A table of the lake. `node`: its place in the tree."""

    table: TableName
    facts: InputTable
    node: Any

    @property
    def columns(self) -> tuple[str, ...]:
        return self.facts.columns

    @property
    def changed(self) -> bool:
        return self.facts.changed


@dataclass(frozen=True, slots=True, eq=False)
class LiteralRows:
    """Rows that are written in the query itself."""

    columns: tuple[str, ...]
    changed: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class BlockItem:
    """What a block reads. `nullable`: its columns may be NULL where no row of it matched.

    `on`: the conditions of its join. `node`: its place in the tree; None for a subquery of an expression. `links_only`:
    of its relation only the joined rows count, found by the links; what it makes of them does not matter. `told`: what
    a person calls it where nothing links it.
    """

    name: str
    relation: Relation
    join: Join
    nullable: bool
    on: tuple[Value, ...] = ()
    node: Any = None
    links_only: bool = False
    told: str = ""

    @property
    def changed(self) -> bool:
        return self.relation.changed

    @property
    def is_joined(self) -> bool:
        """Whether it is part of the joined rows, and not only asked whether there is a match."""
        return self.join not in (Join.SEMI, Join.ANTI, Join.SUBQUERY)


@dataclass(frozen=True, slots=True)
class JoinLink:
    """A row of `child` counts for a row of `parent` only if `child_value` equals `parent_value`."""

    child: int
    parent: int
    child_value: Value
    parent_value: Value
    null_safe: bool


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """One SELECT. `group`: keys of the GROUP BY, None without one. `where`: its conditions, one by one.

    `laterals`, `generates`: one joined row, or one row of the result, may become several. `obstacle`: why its rows
    cannot be found by values of its columns; `core_obstacle`: why not even its joined rows can.
    """

    items: tuple[BlockItem, ...]
    links: tuple[JoinLink, ...]
    where: tuple[Value, ...]
    outputs: tuple[OutputColumn, ...]
    group: frozenset[str] | None = None
    windows: tuple[Window, ...] = ()
    distinct: bool = False
    laterals: bool = False
    generates: bool = False
    obstacle: str | None = None
    core_obstacle: str | None = None
    changed: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(output.name for output in self.outputs)


@dataclass(frozen=True, slots=True, eq=False)
class SetOperation:
    """UNION, EXCEPT or INTERSECT. `keeps_left`: its rows are rows of the left side."""

    left: Relation
    right: Relation
    columns: tuple[str, ...]
    distinct: bool
    keeps_left: bool
    obstacle: str | None
    changed: bool


Relation: TypeAlias = Base | LiteralRows | Block | SetOperation
