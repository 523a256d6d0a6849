"""Aggregates and window functions at places where Spark is certain to refuse them."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from tidegate.compiler.analysis.functions import AROUND, FUNCTIONS, function_of, is_aggregate
from tidegate.compiler.analysis.functions.classes import CLASSES
from tidegate.compiler.analysis.functions.values import AGGREGATE, WINDOW
from tidegate.compiler.analysis.scoping import QueryScope
from tidegate.names import nearest
from tidegate.problems import did_you_mean

__all__ = ["check_placement", "report_aggregate"]

_PLAIN = frozenset({exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Boolean})
_QUERIES = frozenset({exp.Select, exp.Subquery, exp.Union, exp.Intersect, exp.Except, exp.Values})
_BY_NAME = frozenset({exp.Anonymous, exp.Any})
_OF_THE_GROUPING = frozenset({exp.Grouping, exp.GroupingId})
_KINDS = {cls: FUNCTIONS[name].kind for cls, (name, _) in CLASSES.items() if cls not in _OF_THE_GROUPING}
_IN_A_SUBQUERY = "compute it in a subquery first"


def check_placement(
    node: Any, scope: QueryScope, clause: str = "", aggregates: bool = False, windows: bool = False
) -> None:
    """`clause`: where it stands, if not in SELECT or ORDER BY; `aggregates`, `windows`: there they are allowed.

    Subqueries are places of their own.
    """
    no_aggregate, no_window = bool(clause) and not aggregates, bool(clause) and not windows
    waiting: list[tuple[Any, bool]] = [(node, False)]
    while waiting:
        node, inside = waiting.pop()
        what = type(node)
        if what in _PLAIN:
            continue
        kind = _KINDS.get(what)
        if kind is None and (what in _QUERIES or _is_own(node, scope)):
            continue
        if what is exp.Window:
            if no_window or inside:
                place = "inside an aggregate" if inside else f"in {clause}"
                scope.report("MisplacedWindow", f"a window function cannot be {place}", node, _IN_A_SUBQUERY)
            waiting += [(child, False) for child in _check_window(node, scope)]
            continue
        if kind is AGGREGATE or (what in _BY_NAME and is_aggregate(node) and not isinstance(node.this, exp.Query)):
            if inside:
                message = "an aggregate cannot be inside another one"
                scope.report("MisplacedAggregate", message, node, _IN_A_SUBQUERY)
                continue
            if no_aggregate:
                report_aggregate(node, clause, scope)
            inside = True
        elif kind is WINDOW:
            message = f"{CLASSES[what][0]} is a window function, and needs OVER"
            scope.report("MisplacedWindow", message, node, "write OVER (… ORDER BY …) after it")
        elif what is exp.Filter:
            inside = True
            waiting.append((node.this, False))
            node = node.expression
        waiting += [(child, inside) for child in node.iter_expressions()]


def report_aggregate(node: Any, clause: str, scope: QueryScope) -> None:
    hint = "filter groups with HAVING, or compute it in a subquery first" if clause == "WHERE" else _IN_A_SUBQUERY
    scope.report("MisplacedAggregate", f"an aggregate cannot be in {clause}", node, hint)


def _is_own(node: Any, scope: QueryScope) -> bool:
    """Of a function that is not Spark's own nobody knows what it does."""
    return type(node) is exp.Anonymous and bool({node.name, node.name.lower()} & scope.own_functions)


def _check_window(node: Any, scope: QueryScope) -> list[Any]:
    """Gives what is inside the window, where aggregates are those of the query."""
    function = node.this
    inside: list[Any] = []
    while type(function) in AROUND:
        if type(function) is exp.Filter:
            message = "Spark has no FILTER for a function with OVER"
            scope.report("UnsupportedSyntax", message, node, "put the condition inside: sum(CASE WHEN … THEN … END)")
        if function.expression is not None:
            inside.append(function.expression)
        function = function.this
    name = node.args.get("alias")
    if name is not None and name.name not in (named := [str(window.this.name) for window in scope.windows.values()]):
        hint = did_you_mean(nearest(name.name, named)) or "define it with WINDOW, after HAVING"
        scope.report("MisplacedWindow", f"there is no window '{name.name}'", name, hint)
    elif not _is_ordered(node, scope):
        known = function_of(function)
        if known is not None and known.kind is WINDOW:
            message = f"{known.name} needs a window with ORDER BY"
            scope.report("MisplacedWindow", message, node, "say in OVER (…) what the rows are ordered by")
    inside += function.iter_expressions()
    inside += node.args.get("partition_by") or ()
    if (order := node.args.get("order")) is not None:
        inside.append(order)
    if scope.aliases:
        _check_aliases(node, scope)
    return inside


def _check_aliases(window: Any, scope: QueryScope) -> None:
    """What this SELECT names itself is there for later items of it, but not inside their windows."""
    if any(frame.doubtful_items() for frame in scope.frames):
        return
    for column in window.find_all(exp.Column):
        name = str(column.parts[0].name)
        own = column.parent_select is window.parent_select and column.find_ancestor(exp.Lambda) is None
        if own and name.lower() in scope.aliases and scope.resolve(column).by_alias:
            message = f"a window cannot use '{name}', which is defined in the same SELECT"
            scope.report("MisplacedWindow", message, column, f"repeat what '{name}' is, or {_IN_A_SUBQUERY}")


def _is_ordered(node: Any, scope: QueryScope) -> bool:
    """Also by the window that it names."""
    for _ in range(len(scope.windows) + 1):
        if node.args.get("order") is not None:
            return True
        name = node.args.get("alias")
        following = scope.windows.get(name.name.lower()) if name is not None else None
        if following is None:
            return name is not None
        node = following
    return True
