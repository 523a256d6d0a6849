"""Columns of an aggregated query that are neither grouped nor aggregated, where Spark is certain to refuse them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlglot import exp

from tidegate.compiler.analysis.attributes import Attribute, Frame
from tidegate.compiler.analysis.functions import AROUND, function_of, is_aggregate, is_generator
from tidegate.compiler.analysis.scoping import QueryScope, column_parts
from tidegate.compiler.analysis.stars import is_star

__all__ = ["Grouping", "columns_outside_aggregates", "report_ungrouped"]

_THE_SAME = (exp.Alias, exp.Paren, exp.Ordered)


class Grouping:
    """What a query is grouped by. `columns`: by themselves. `inside`: those that are part of a grouped expression.

    `is_wrong`: something in it was told of already.
    """

    __slots__ = ("columns", "exists", "inside", "is_wrong")

    def __init__(self) -> None:
        self.columns: set[int] = set()
        self.inside: set[int] = set()
        self.exists = False
        self.is_wrong = False

    def add(self, node: Any, scope: QueryScope) -> None:
        while type(node) in _THE_SAME:
            node = node.this
        if column_parts(node):
            found = scope.resolve(node)
            if found.attribute is not None:
                (self.columns if found.whole else self.inside).add(found.attribute.identity)
            return
        for column in node.find_all(exp.Column):
            if (attribute := scope.resolve(column).attribute) is not None:
                self.inside.add(attribute.identity)

    def add_column(self, attribute: Attribute, node: Any, scope: QueryScope) -> None:
        """An item of the SELECT, by its name or its number."""
        if is_star(node):
            self.columns.add(attribute.identity)
        else:
            self.add(node, scope)


def report_ungrouped(
    nodes: Iterable[tuple[Any, QueryScope]],
    stars: Iterable[tuple[Any, list[Attribute]]],
    frame: Frame,
    by: Grouping,
    scope: QueryScope,
) -> None:
    """`nodes`: expressions of SELECT, HAVING, ORDER BY. `stars`: stars with the columns they stand for."""
    own = {id(attribute) for attribute in frame.all_attributes()}
    told: set[int] = set()
    for node, place in nodes:
        for column, bare in columns_outside_aggregates(node, place):
            found = place.resolve(column)
            attribute = found.attribute
            if attribute is None or found.by_alias or id(attribute) not in own or attribute.identity in told:
                continue
            if attribute.identity in by.columns or (attribute.identity in by.inside and not (bare and found.whole)):
                continue
            told.add(attribute.identity)
            _report([".".join(part.name for part in column_parts(column))], column, scope, by)
    for star, attributes in stars:
        missing = [a.name for a in attributes if a.identity not in by.columns and id(a) in own and a.name]
        if missing:
            _report(missing, star, scope, by)


def _report(names: list[str], node: Any, scope: QueryScope, by: Grouping) -> None:
    what = ", ".join(f"'{name}'" for name in names) + (" is" if len(names) == 1 else " are")
    if by.exists:
        message = f"{what} neither in GROUP BY nor in an aggregate"
        hint = "group by it too, or take it with an aggregate such as max or any_value"
    else:
        message = f"{what} in no aggregate, but the query has one and no GROUP BY"
        hint = "add a GROUP BY, or take it with an aggregate such as max or any_value"
    scope.report("NotGrouped", message, node, hint)


def columns_outside_aggregates(node: Any, scope: QueryScope) -> Iterable[tuple[Any, bool]]:
    """The columns of an expression that no aggregate is around; whether each is the whole expression."""
    waiting: list[tuple[Any, bool]] = [(node, True)]
    while waiting:
        node, bare = waiting.pop()
        if column_parts(node):
            yield node, bare
        elif type(node) in _THE_SAME:
            waiting.append((node.this, bare))
        elif type(node) is exp.Window:
            function = node.this
            while type(function) in AROUND:
                if function.expression is not None:
                    waiting.append((function.expression, False))
                function = function.this
            waiting += [(child, False) for child in function.iter_expressions()]
            waiting += [(child, False) for child in node.args.get("partition_by") or ()]
            if (order := node.args.get("order")) is not None:
                waiting.append((order, False))
        elif type(node) in AROUND:
            waiting.append((node.this, False))
        elif isinstance(node, exp.Query) or _may_aggregate(node, scope):
            continue
        else:
            waiting += [(child, False) for child in node.iter_expressions()]


def _may_aggregate(node: Any, scope: QueryScope) -> bool:
    """Of a function that is not Spark's own nobody knows whether it does."""
    if type(node) is exp.Anonymous and (node.name.lower() in scope.own_functions or function_of(node) is None):
        return True
    return is_aggregate(node) or is_generator(node)
