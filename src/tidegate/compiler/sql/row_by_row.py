"""Whether each row of the one relation that a query reads becomes one row of its result, or none; else why not."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from tidegate.compiler.sql.function_calls import aggregates, generates
from tidegate.compiler.sql.queries import ParsedQuery
from tidegate.compiler.sql.scopes import alias_columns
from tidegate.compiler.sql.script import Script, read_script
from tidegate.compiler.sql.sql_text import CANNOT_REWRITE, READ_TOO_OFTEN, STEPS, CannotRewriteError

__all__ = ["Obstacle", "RowQuery", "is_row_by_row", "read_row_query"]

_GAP = r"\s|--[^\n]*\n|/\*(?!\+).*?\*/"
_SELECT = re.compile(rf"(?:{_GAP}|\()*SELECT\b(?!(?:{_GAP})*/\*\+)", re.IGNORECASE | re.DOTALL)
_ALL = re.compile(rf"(?:{_GAP})*ALL\b", re.IGNORECASE | re.DOTALL)
_NAMED = (exp.Alias, exp.Column, exp.Star)
_CLAUSES = frozenset({"expressions", "from_", "where"})
_OF_A_TABLE = frozenset({"this", "db", "catalog", "alias"})
_OF_A_SUBQUERY = frozenset({"this", "alias", "order", "sort", "distribute", "cluster"})
_SPELT = {
    "joins": "a join",
    "group": "GROUP BY",
    "laterals": "LATERAL VIEW",
    "order": "ORDER BY",
    "sort": "SORT BY",
    "distribute": "DISTRIBUTE BY",
    "cluster": "CLUSTER BY",
    "sample": "TABLESAMPLE",
    "hint": "a hint",
    "pivots": "PIVOT",
    "windows": "WINDOW",
    **dict.fromkeys(("version", "when", "system_time", "changes"), "time travel"),
}
_SUBQUERY = "a subquery in an expression"


@dataclass(frozen=True, slots=True)
class Obstacle:
    """The reason, as the end of a sentence, and what to do about it; None: nothing can be done."""

    reason: str
    remedy: str | None = None


_OBSTACLES = {
    "time travel": Obstacle("the query reads its table as it was at another time (VERSION or TIMESTAMP AS OF)"),
    "a hint": Obstacle("the query has a hint", "remove the hint"),
    **{
        clause: Obstacle(f"the query has {clause}", f"remove {clause}: a table keeps no order, its readers sort")
        for clause in ("ORDER BY", "SORT BY", "DISTRIBUTE BY", "CLUSTER BY")
    },
    _SUBQUERY: Obstacle(
        f"the query has {_SUBQUERY}", "select without that expression here, and add it in a model that reads this one"
    ),
    STEPS: Obstacle("the query is written in steps (|>)", "write it as SELECT … FROM … WHERE …"),
    READ_TOO_OFTEN: Obstacle(f"the query has {READ_TOO_OFTEN}", "select from its table without WITH"),
}


@dataclass(frozen=True, slots=True)
class RowQuery:
    """`selects`: from the outermost to the one over the table. `begins`: where the columns of each begin."""

    script: Script
    selects: tuple[Any, ...]
    begins: tuple[int, ...]


def is_row_by_row(sql: str) -> bool:
    """Whatever its columns are called."""
    try:
        return isinstance(_selects(read_script(sql).tree), tuple)
    except (CannotRewriteError, RecursionError):
        return False


def read_row_query(sql: str | ParsedQuery) -> RowQuery | Obstacle:
    """A query that can take further columns of its table and be a subquery."""
    try:
        script = read_script(sql)
        selects = _selects(script.tree)
        if isinstance(selects, Obstacle):
            return selects
        for select in selects:
            for column in select.expressions:
                if not isinstance(column, _NAMED):
                    text = str(column.sql("spark"))
                    return Obstacle(f"the column {text} has no name", f"name it: {text} AS …")
        begins = []
        for depth, select in enumerate(selects):
            begin = _SELECT.match(script.text, script.start if depth == 0 else script.span(select.parent)[0])
            if begin is None:
                return Obstacle("a SELECT of the query stands after its FROM", "write SELECT before FROM")
            if _ALL.match(script.text, begin.end()):
                return Obstacle("a SELECT of the query begins with ALL", "remove ALL: it changes nothing")
            begins.append(begin.end())
    except CannotRewriteError as refused:
        return _has(refused.construct)
    except RecursionError:
        return Obstacle("the query is nested too deeply", "write it with fewer subqueries")
    return RowQuery(script, selects, tuple(begins))


def _selects(tree: Any) -> tuple[Any, ...] | Obstacle:
    selects: list[Any] = []
    node = tree
    while True:
        while isinstance(node, exp.Subquery):
            if other := _other_clause(node, _OF_A_SUBQUERY):
                return _has(other)
            if alias_columns(node):
                return _renamed(node)
            node = node.this
        if not isinstance(node, exp.Select):
            break
        if other := _other_clause(node, _CLAUSES):
            return _has(other)
        if not node.args.get("from_"):
            return Obstacle("the query reads no table", "select from one table")
        if what := _several_rows(node):
            return _has(what)
        selects.append(node)
        node = node.args["from_"].this
    if isinstance(node, exp.SetOperation):
        return _has(type(node).__name__.upper())
    if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier) or not selects:
        return Obstacle("the query does not select from a table by its name", "select from one table")
    if other := _other_clause(node, _OF_A_TABLE):
        return _has(other)
    return _renamed(node) if alias_columns(node) else tuple(selects)


def _other_clause(node: Any, known: frozenset[str]) -> str | None:
    """The first clause of `node` that is not `known`, as SQL."""
    other = next((name for name, value in node.args.items() if value and name not in known), None)
    return other and _SPELT.get(other, other.strip("_").upper())


def _several_rows(select: Any) -> str | None:
    """What makes a row of the result depend on other rows, or several of one."""
    where = select.args.get("where")
    for part in (*select.expressions, *([where.this] if where else [])):
        if part.find(exp.Query) is not None:
            return _SUBQUERY
        if part.find(exp.Window) is not None:
            return "a window function"
        if aggregates(part):
            return "an aggregate"
        if generates(part):
            return "a function that gives several rows"
    return None


def _has(what: str) -> Obstacle:
    if what.startswith(CANNOT_REWRITE):
        return Obstacle(f"the query has {what}", "write it as one SELECT of named columns from one table")
    moved = Obstacle(f"the query has {what}", f"leave {what} out here, and do it in a model that reads this one")
    return _OBSTACLES.get(what, moved)


def _renamed(node: Any) -> Obstacle:
    names = ", ".join(column.name for column in alias_columns(node))
    return Obstacle(
        f"columns are renamed after a relation: {node.alias}({names})", "name them with AS in the SELECT list"
    )
