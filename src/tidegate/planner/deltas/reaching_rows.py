"""Which changed rows of a table can change the result of a query: those that pass the filter of a place where the
table is read, as they were or as they are.

At each place where it reads a table, a query sees only the rows that pass the conditions on a row alone. If those rows
are the same as before everywhere, so is the result, whatever the query makes of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sqlglot import exp

from tidegate.compiler.sql.script import read_script
from tidegate.compiler.sql.sql_text import CannotRewriteError, condition
from tidegate.names import TableName
from tidegate.planner.deltas.block_reader import BlockReader
from tidegate.planner.deltas.blocks import Base, Block, Relation, SetOperation, Value
from tidegate.planner.deltas.delta_query import InputTable
from tidegate.planner.deltas.rewrite import read_relation
from tidegate.planner.deltas.touched_keys import own_conditions

__all__ = ["ROW_AFTER", "ROW_BEFORE", "reaching_rows"]

ROW_BEFORE, ROW_AFTER = "__before", "__after"
"""A changed row as it was and as it is: structs of its columns; NULL where there is none."""


def reaching_rows(sql: str, inputs: Mapping[TableName, InputTable]) -> Mapping[TableName, str]:
    """Of each table that the query reads: a condition on ROW_BEFORE and ROW_AFTER without which a changed row cannot
    change the result. A table of which any row can is missing."""
    try:
        script = read_script(sql, faithful=True)
        reader = BlockReader(script.tree, inputs)
        filters = list(_filters(read_relation(script, reader)))
        conditions: dict[TableName, list[str] | None] = {}
        for base in reader.tables:
            values = next((values for seen, values in filters if seen is base), [])
            known = conditions.setdefault(base.table, [])
            if not values:
                conditions[base.table] = None
            elif known is not None:
                known += [_side(values, ROW_BEFORE), _side(values, ROW_AFTER)]
    except (CannotRewriteError, RecursionError):
        return {}
    return {table: "\n  OR ".join(dict.fromkeys(known)) for table, known in conditions.items() if known}


def _filters(relation: Relation) -> Iterator[tuple[Base, list[Value]]]:
    """Each read of a table, with the conditions on its rows alone."""
    match relation:
        case Block():
            for i, item in enumerate(relation.items):
                if isinstance(item.relation, Base):
                    own = own_conditions(relation, i)
                    yield item.relation, [value for value in own if value.tree.find(exp.Lambda) is None]
                else:
                    yield from _filters(item.relation)
        case SetOperation():
            yield from _filters(relation.left)
            yield from _filters(relation.right)


def _side(values: list[Value], side: str) -> str:
    texts = [condition(value.tree.copy().transform(_as_field, side)) for value in values]
    return f"({side} IS NOT NULL AND {' AND '.join(texts)})"


def _as_field(node: Any, struct: str) -> Any:
    if isinstance(node, exp.Column) and node.table:
        return exp.column(node.this.copy(), table=exp.to_identifier(struct))
    return node
