"""A query as the delta rules see it: blocks of joined items, what links them, and what each gives."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from tidegate.compiler.sql.sql_text import key_of
from tidegate.datatypes import ANY, DataType
from tidegate.names import TableName
from tidegate.planner.deltas.delta_query import InputTable

__all__ = [
    "WITHOUT_GROUPS",
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


WITHOUT_GROUPS = "an aggregate without GROUP BY"


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """An expression of a block."""

    tree: Any
    """With every column as `item.column`."""
    columns: frozenset[tuple[int, str]]
    """Positions of items, and names."""
    plain: tuple[int, str] | None = None
    """Set where the expression is just this column of that item."""
    flaw: str | None = None
    """Why it cannot be evaluated on a row of the joined items alone."""

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
    type: DataType = ANY

    @property
    def is_unnamed(self) -> bool:
        """Whether the query gives no name to it, so that the table has another."""
        return self.name.startswith("__") and self.name[2:].isdigit()


@dataclass(frozen=True, slots=True)
class Window:
    text: str
    """The function, as messages name it."""
    partition: frozenset[str]


class Join(StrEnum):
    """How the rows of an item are joined. SUBQUERY: it is part of an expression."""

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
    """A table of the lake."""

    table: TableName
    facts: InputTable
    node: Any
    """Its node in the tree."""

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
    """A relation that a block reads."""

    name: str
    relation: Relation
    join: Join
    nullable: bool
    """Its columns may be NULL where no row of it matched."""
    on: tuple[Value, ...] = ()
    """The conditions of its join."""
    node: Any = None
    """Its node in the tree; None for a subquery of an expression."""
    links_only: bool = False
    """Only the joined rows of its relation count, found by the links; its output does not matter."""
    description: str = ""
    """How messages call a subquery that nothing links."""
    constant: Any = None
    """The node of a query that uses nothing of the query around it: while it gives the same rows, it is a constant."""

    @property
    def changed(self) -> bool:
        return self.relation.changed

    @property
    def is_joined(self) -> bool:
        """Whether it is part of the joined rows, and not only tested for a match."""
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
    """One SELECT."""

    items: tuple[BlockItem, ...]
    links: tuple[JoinLink, ...]
    where: tuple[Value, ...]
    """Its conditions, one by one."""
    outputs: tuple[OutputColumn, ...]
    group: frozenset[str] | None = None
    """The keys of its GROUP BY; None without one."""
    windows: tuple[Window, ...] = ()
    distinct: bool = False
    laterals: bool = False
    """One joined row may become several."""
    generates: bool = False
    """One row of the result may become several."""
    obstacle: str | None = None
    """Why its rows cannot be found by values of its columns."""
    core_obstacle: str | None = None
    """Why not even its joined rows can."""
    changed: bool = False
    group_values: tuple[Value, ...] = ()
    """The expressions of GROUP BY that are written there."""

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(output.name for output in self.outputs)


@dataclass(frozen=True, slots=True, eq=False)
class SetOperation:
    """UNION, EXCEPT or INTERSECT."""

    left: Relation
    right: Relation
    columns: tuple[str, ...]
    distinct: bool
    keeps_left: bool
    """Its rows are rows of the left side."""
    obstacle: str | None
    changed: bool


Relation: TypeAlias = Base | LiteralRows | Block | SetOperation
