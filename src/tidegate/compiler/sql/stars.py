"""Whether a query gives whatever columns some table has: a `*` that leads to a table, not to a list of columns."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlglot import exp

from tidegate.compiler.sql.scopes import cte_of, sources_of, visible_name

__all__ = ["takes_all_columns"]


def takes_all_columns(tree: Any, landings: Collection[str] = ()) -> bool:
    """`landings` are names that stand for landing zones: what their files hold is not decided by another model."""
    seen: set[int] = set()
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, exp.SetOperation):
            waiting += [node.this, node.expression]
        elif isinstance(node, exp.Subquery):
            waiting.append(node.this)
        elif isinstance(node, exp.Select):
            waiting += _starred(node)
        elif isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            cte = cte_of(node) if len(node.parts) == 1 else None
            if cte is not None:
                waiting.append(cte.this)
            elif node.name not in landings:
                return True
    return False


def _starred(select: Any) -> list[Any]:
    """The relations of the SELECT whose columns are all taken."""
    stars = [item for item in select.expressions if item.is_star]
    if not stars:
        return []
    sources = sources_of(select)
    if any(isinstance(star, exp.Star) for star in stars):
        return sources
    wanted = {star.table.lower() for star in stars if isinstance(star, exp.Column)}
    return [source for source in sources if visible_name(source) in wanted]
