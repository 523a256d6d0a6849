"""What names mean in a syntax tree: CTEs, the tables of a SELECT, the path of its rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

__all__ = [
    "DrivingPath",
    "alias_columns",
    "cte_of",
    "driving_path",
    "enclosing_selects",
    "is_star",
    "offset_of",
    "sources_of",
    "visible_name",
]


def cte_of(table: Any) -> Any | None:
    """The CTE that a table name of one part means: of the nearest WITH around it, defined before it is used."""
    if len(table.parts) != 1:
        return None
    name = table.name.lower()
    child, node = table, table.parent
    while node is not None:
        if isinstance(node, exp.With):
            visible = node.expressions[: child.index]
            if node.args.get("recursive"):
                visible = [*visible, child]
        else:
            clause = node.args.get("with_")
            visible = clause.expressions if clause is not None and clause is not child else ()
        for cte in reversed(visible):
            if cte.alias.lower() == name:
                return cte
        child, node = node, node.parent
    return None


@dataclass(frozen=True, slots=True)
class DrivingPath:
    """The way from a query's result back to the tables whose rows become its rows.

    That is the path of leftmost FROM items, through CTEs, subqueries and branches of a UNION. `tables` and `names` (of
    CTEs) hold the `id()` of nodes.
    """

    tables: frozenset[int]
    names: frozenset[int]
    selects: tuple[Any, ...]
    ctes: tuple[Any, ...]


def driving_path(tree: Any) -> DrivingPath:
    tables: set[int] = set()
    names: set[int] = set()
    selects: list[Any] = []
    ctes: list[Any] = []
    seen: set[int] = set()
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, exp.SetOperation):
            waiting.append(node.this)
            if isinstance(node, exp.Union):
                waiting.append(node.expression)
        elif isinstance(node, exp.Select):
            selects.append(node)
            clause = node.args.get("from_")
            waiting.append(clause.this if clause else None)
        elif isinstance(node, exp.Subquery):
            waiting.append(node.this)
        elif isinstance(node, exp.Table):
            cte = cte_of(node)
            if cte is None:
                tables.add(id(node))
                continue
            names.add(id(node))
            ctes.append(cte)
            waiting.append(cte.this)
    return DrivingPath(frozenset(tables), frozenset(names), tuple(selects), tuple(ctes))


def enclosing_selects(node: Any) -> Iterator[Any]:
    """The SELECTs around a node, innermost first."""
    node = node.parent
    while node is not None:
        if isinstance(node, exp.Select):
            yield node
        node = node.parent


def sources_of(select: Any) -> list[Any]:
    """What a SELECT reads from directly: tables, subqueries, laterals; parenthesised joins are opened."""
    clause = select.args.get("from_")
    waiting = [clause.this] if clause else []
    waiting += [join.this for join in select.args.get("joins") or ()]
    sources = list(select.args.get("laterals") or ())
    while waiting:
        node = waiting.pop()
        waiting += [join.this for join in node.args.get("joins") or ()]
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table) and not node.alias:
            waiting.append(node.this)
        else:
            sources.append(node)
    return sources


def visible_name(source: Any) -> str:
    """The name by which columns of the source are qualified, lower case; empty where it has none."""
    if alias := source.alias:
        return str(alias).lower()
    return str(source.parts[-1].name).lower() if isinstance(source, exp.Table) else ""


def alias_columns(node: Any) -> list[Any]:
    """The names that `t(a, b)` gives to the columns of a relation."""
    alias = node.args.get("alias")
    return list(alias.args.get("columns") or ()) if isinstance(alias, exp.TableAlias) else []


def is_star(node: Any) -> bool:
    """`*` or `t.*`."""
    return type(node) is exp.Star or (type(node) is exp.Column and type(node.this) is exp.Star)


def offset_of(node: Any) -> int:
    """Where a node begins in the text: its first part that has a position, else that of its parent."""
    while node is not None:
        starts = [n.meta["start"] for n in node.walk() if n.meta and "start" in n.meta]
        if starts:
            return int(min(starts))
        node = node.parent
    return 0
