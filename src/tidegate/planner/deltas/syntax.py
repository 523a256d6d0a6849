"""Parts of a query's syntax tree that need no name resolution: clauses, conditions, subqueries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlglot import exp

from tidegate.compiler.analysis.scoping import column_parts
from tidegate.compiler.sql.function_calls import own_nodes
from tidegate.compiler.sql.scopes import alias_columns
from tidegate.compiler.sql.sql_text import CannotRewriteError
from tidegate.planner.deltas.blocks import Join

__all__ = [
    "CLAUSE_NAMES",
    "ORDERS",
    "columns_of_values",
    "conjuncts",
    "is_member",
    "join_kind",
    "modifiers",
    "name_of",
    "parts_of",
    "subqueries_of",
    "subquery_description",
    "unknown_clause",
]

ORDERS = ("order", "sort", "distribute", "cluster")
_KNOWN_CLAUSES = frozenset(
    [
        *("expressions", "hint", "distinct", "from_", "joins", "laterals", "where", "group", "having", "windows"),
        *ORDERS,
    ]
)
CLAUSE_NAMES = {"limit": "LIMIT", "offset": "OFFSET", "qualify": "QUALIFY"}


def unknown_clause(node: Any) -> str | None:
    for key, value in node.args.items():
        if value and key not in _KNOWN_CLAUSES:
            return CLAUSE_NAMES.get(key, str(key).strip("_").upper())
    return None


def modifiers(subquery: Any) -> list[str]:
    known = ("this", "alias", *ORDERS)
    return [key for key, value in subquery.args.items() if value and key not in known]


def join_kind(join: Any) -> Join:
    method, side, kind = (str(join.args.get(key) or "").upper() for key in ("method", "side", "kind"))
    if method:
        raise CannotRewriteError(f"{method} JOIN")
    if kind in ("SEMI", "ANTI"):
        return Join.SEMI if kind == "SEMI" else Join.ANTI
    if side:
        return {"LEFT": Join.LEFT, "RIGHT": Join.RIGHT, "FULL": Join.FULL}[side]
    if kind in ("", "INNER", "CROSS"):
        return Join.INNER
    raise CannotRewriteError(f"{kind} JOIN")


def columns_of_values(node: Any) -> tuple[str, ...]:
    names = tuple(column.name for column in alias_columns(node))
    first = node.expressions[0]
    width = len(first.expressions) if isinstance(first, exp.Tuple) else 1
    return names or tuple(f"col{n}" for n in range(1, width + 1))


def name_of(projection: Any) -> str:
    parts = column_parts(projection)
    return str(parts[-1].name) if parts else ""


def conjuncts(tree: Any) -> Iterator[Any]:
    if tree is None:
        return
    tree = tree.unnest()
    if isinstance(tree, exp.And):
        yield from conjuncts(tree.this)
        yield from conjuncts(tree.expression)
    else:
        yield tree


def parts_of(node: Any, *clauses: str) -> Iterator[Any]:
    for clause in clauses:
        found = node.args.get(clause)
        if isinstance(found, list):
            yield from found
        elif found is not None:
            yield found


def subqueries_of(tree: Any) -> Iterator[Any]:
    """The outermost queries of an expression."""
    return own_nodes(tree, exp.Query)


def is_member(query: Any, condition: Any) -> bool:
    return isinstance(condition, exp.In) and condition.args.get("query") is query


def subquery_description(query: Any, condition: Any, apart: bool) -> str:
    """How messages call a subquery of an expression. `apart`: it uses no column of the outer query."""
    around = query.parent
    if isinstance(around, exp.In) and not (is_member(query, condition) and not apart):
        return "NOT IN (SELECT …)" if isinstance(around.parent, exp.Not) else "IN (SELECT …) inside another condition"
    return "a subquery without an equation to the query around it"
