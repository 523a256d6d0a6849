"""What links items: conditions that must hold for one's rows to count for the other's.

On the nullable side of an outer join that is an equation of plain columns: NULL, which stands for no row, satisfies
none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlglot import exp

from tidegate.compiler.analysis.scoping import column_parts
from tidegate.compiler.sql.refusals import Refused
from tidegate.compiler.sql.tree_parts import own_nodes
from tidegate.planner.deltas.blocks import Item, Join, Link, Value
from tidegate.planner.deltas.scopes import Names, Scope, value_of_column
from tidegate.planner.deltas.syntax import conjuncts, is_member

__all__ = ["correlations", "links_of", "membership"]


def links_of(names: Names, scope: Scope, condition: Any, place: int | None = None) -> Iterator[Link]:
    """`place`: of the join whose condition it is; None for WHERE."""
    condition = condition.unnest()
    if not isinstance(condition, exp.EQ | exp.NullSafeEQ):
        return
    null_safe = isinstance(condition, exp.NullSafeEQ)
    one, other = names.value(condition.this, scope), names.value(condition.expression, scope)
    if one.flaw or other.flaw or len(one.items) != 1 or len(other.items) != 1 or one.items == other.items:
        return
    for child, parent in ((one, other), (other, one)):
        (c,), (p,) = child.items, parent.items
        item = scope.items[c]
        if place is None:
            allowed = not item.nullable and not scope.items[p].nullable
        else:
            kind = scope.items[place].join
            allowed = {
                Join.INNER: True,
                Join.RIGHT: p == place,
                Join.FULL: False,
            }.get(kind, c == place)
            for value, i in ((child, c), (parent, p)):
                if scope.items[i].nullable and i != place:
                    allowed = allowed and value.plain is not None and not null_safe
        if allowed:
            yield Link(c, p, child, parent, null_safe)


def correlations(names: Names, select: Any, own: Scope, around: Scope) -> list[tuple[Value, Value, bool]]:
    """The equations in WHERE of a subquery, whose scope is `own`, between its rows and a row of the query around it."""
    pairs = []
    clause = select.args.get("where")
    for condition in conjuncts(clause.this if clause else None):
        if not isinstance(condition, exp.EQ | exp.NullSafeEQ):
            continue
        for inside, outside in (
            (condition.this, condition.expression),
            (condition.expression, condition.this),
        ):
            child, parent = _own_value(names, inside, own), _outer_value(names, outside, own, around)
            if child is not None and parent is not None and parent.columns:
                pairs.append((child, parent, isinstance(condition, exp.NullSafeEQ)))
                break
    return pairs


def _own_value(names: Names, tree: Any, own: Scope) -> Value | None:
    value = names.value(tree, own)
    return value if value.columns and value.flaw is None else None


def _outer_value(names: Names, tree: Any, own: Scope, around: Scope) -> Value | None:
    """Where every column is one of the query around it."""
    for column in own_nodes(tree, exp.Column):
        if names.in_scope(column_parts(column), own) is not None:
            return None
    try:
        return names.value(tree, around)
    except Refused:
        return None


def membership(names: Names, query: Any, condition: Any, item: Item, around: Scope) -> list[tuple[Value, Value, bool]]:
    """`x IN (SELECT y …)` as a condition of its own; inside others NULL counts."""
    if not is_member(query, condition):
        return []
    sides = condition.this.expressions if isinstance(condition.this, exp.Tuple) else [condition.this]
    columns = item.relation.columns
    if len(sides) != len(columns) or len(set(columns)) < len(columns):
        return []
    place = len(around.items)
    return [
        (value_of_column(item, place, column), names.value(side, around), False)
        for side, column in zip(sides, columns, strict=True)
    ]
