"""A query whose rows are those of one table, one by one → the same, with only the newest arrival of each key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sqlglot import exp

from tidegate.lake.progress import WHOLE, Order
from tidegate.names import TableName, quote
from tidegate.planner.deltas.refusals import Refused
from tidegate.planner.deltas.rewrite import output_columns, unique_columns
from tidegate.planner.deltas.script import Edit, Script, read_script
from tidegate.planner.deltas.syntax import aggregates, generates, modifiers
from tidegate.planner.deltas.values import LINEAGE, InputTable

__all__ = ["is_row_by_row", "newest_rows"]

_COMMIT, _ROW, _PLACE = "__tidegate_commit", "__tidegate_row", "__tidegate_place"
_SELECT = re.compile(r"(?:\s|\(|--[^\n]*\n|/\*(?!\+).*?\*/)*SELECT\b(?!\s*/\*\+|\s+ALL\b)", re.IGNORECASE | re.DOTALL)
_NAMED = (exp.Alias, exp.Column, exp.Star)
_CLAUSES = frozenset({"expressions", "from_", "where"})
_OF_A_TABLE = frozenset({"this", "db", "catalog", "alias"})


def is_row_by_row(sql: str) -> bool:
    """Whether each row of the one relation that the query reads becomes one row of the result, or none."""
    try:
        return bool(_selects(read_script(sql).tree))
    except (Refused, RecursionError):
        return False


def newest_rows(sql: str, key: tuple[str, ...], inputs: Mapping[TableName, InputTable], order: Order) -> str | None:
    """None where the query is no such one, or proves that its key is unique.

    `order`: the commits inside which rows have an order, by their ids. Of a key whose newest commit has none, all rows
    of that commit are given.
    """
    wanted = {name.lower() for name in key}
    try:
        script = read_script(sql)
        selects, columns = _selects(script.tree), output_columns(sql, inputs)
        if not all(isinstance(each, _NAMED) for select in selects for each in select.expressions):
            return None  # Spark gives a column a name of its own, which the query around it would have to know
        if not selects or not wanted <= {name.lower() for name in columns}:
            return None
        if any({name.lower() for name in proven} <= wanted for proven in unique_columns(sql, inputs)):
            return None
        rows = _with_lineage(script, selects)
    except (Refused, RecursionError):
        return None
    inside, function = _ROW, "row_number"
    if order != WHOLE:
        others = f" AND {_COMMIT} NOT IN ({', '.join(map(str, order.without))})" if order.without else ""
        inside, function = f"CASE WHEN {_COMMIT} >= {order.since}{others} THEN {_ROW} END", "rank"
    rank = (
        f"{function}() OVER (PARTITION BY {_names(key)}"
        f" ORDER BY {_COMMIT} DESC NULLS LAST, {inside} DESC NULLS LAST) AS {_PLACE}"
    )
    return (
        f"SELECT {_names(columns)}\nFROM (SELECT {_names(columns)}, {rank}\nFROM (\n{rows}\n) AS __tidegate_rows"
        f") AS __tidegate_ranked\nWHERE {_PLACE} = 1"
    )


def _names(columns: tuple[str, ...]) -> str:
    return ", ".join(map(quote, columns))


def _with_lineage(script: Script, selects: list[Any]) -> str:
    """The query with commit and row id beside its columns, from the table outwards."""
    edits = {}
    for depth, select in enumerate(selects):
        innermost = depth == len(selects) - 1
        if not innermost and any(map(_is_star, select.expressions)):
            continue  # it takes them over with the others
        begin = _SELECT.match(script.text, script.start if depth == 0 else script.span(select.parent)[0])
        if begin is None:
            raise Refused("a query that does not begin with SELECT")
        names = LINEAGE if innermost else (_COMMIT, _ROW)
        added = ", ".join(f"{name} AS {alias}" for name, alias in zip(names, (_COMMIT, _ROW), strict=True))
        edits[depth] = Edit(begin.end(), begin.end(), f" {added},")
    return script.render(edits)


def _selects(tree: Any) -> list[Any]:
    """The SELECTs from the outermost to the one over the table; none where rows are joined, grouped or multiplied."""
    selects: list[Any] = []
    node = tree
    while True:
        while isinstance(node, exp.Subquery) and not modifiers(node):
            node = node.this
        if not isinstance(node, exp.Select):
            break
        if not {name for name, value in node.args.items() if value} <= _CLAUSES or not node.args.get("from_"):
            return []
        where = node.args.get("where")
        for part in (*node.expressions, *([where.this] if where else [])):
            if aggregates(part) or generates(part) or part.find(exp.Window, exp.Query) is not None:
                return []
        selects.append(node)
        node = node.args["from_"].this
    plain = isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier)
    clauses = {name for name, value in node.args.items() if value} if plain else set()
    return selects if plain and clauses <= _OF_A_TABLE else []


def _is_star(expression: Any) -> bool:
    column = expression.this if isinstance(expression, exp.Column) else expression
    return isinstance(column, exp.Star)
