"""A query whose rows are those of one table, one by one → the same, with only the newest arrival of each key."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.compiler.sql.refusals import Refused
from tidegate.compiler.sql.row_by_row import Obstacle, RowQuery, is_star
from tidegate.compiler.sql.script import Edit
from tidegate.lake.progress import WHOLE, Order
from tidegate.names import TableName, quote
from tidegate.planner.deltas.rewrite import output_columns, unique_columns
from tidegate.planner.deltas.values import LINEAGE, InputTable

__all__ = ["newest_rows"]

_COMMIT, _ROW, _PLACE = "__tidegate_commit", "__tidegate_row", "__tidegate_place"


def newest_rows(
    query: RowQuery, key: tuple[str, ...], inputs: Mapping[TableName, InputTable], order: Order
) -> str | Obstacle | None:
    """None where the query proves that its key is unique. An obstacle where its columns are not known, or lack the key.

    `order`: the commits inside which rows have an order, by their ids. Of a key whose newest commit has none, all rows
    of that commit are given.
    """
    wanted, sql = {name.lower() for name in key}, query.script.text[query.script.start : query.script.end]
    try:
        columns = output_columns(sql, inputs)
    except (Refused, RecursionError) as refused:
        return Obstacle(f"its columns are not known: {refused}", "name each column in the SELECT list")
    if not wanted <= {name.lower() for name in columns}:
        return Obstacle("the query does not give all columns of unique_key", "select them")
    if any({name.lower() for name in proven} <= wanted for proven in unique_columns(sql, inputs)):
        return None
    rows = _with_lineage(query)
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


def _with_lineage(query: RowQuery) -> str:
    """The query with commit and row id beside its columns, from the table outwards."""
    edits = {}
    for depth, (select, begin) in enumerate(zip(query.selects, query.begins, strict=True)):
        innermost = depth == len(query.selects) - 1
        if not innermost and any(map(is_star, select.expressions)):
            continue  # it takes them over with the others
        names = LINEAGE if innermost else (_COMMIT, _ROW)
        added = ", ".join(f"{name} AS {alias}" for name, alias in zip(names, (_COMMIT, _ROW), strict=True))
        edits[depth] = Edit(begin, begin, f" {added},")
    return query.script.render(edits)
