"""Columns, aggregates and window functions at places where Spark is certain to refuse them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlglot import exp

from tidegate.compiler.analysis.attributes import Attribute, Frame
from tidegate.compiler.analysis.functions.function import AGGREGATE, WINDOW
from tidegate.compiler.analysis.functions.lookup import AROUND, FUNCTIONS, function_of, is_aggregate, is_generator
from tidegate.compiler.analysis.functions.parser_classes import CLASSES
from tidegate.compiler.analysis.scoping import QueryScope, column_parts
from tidegate.compiler.sql.scopes import is_star
from tidegate.names import nearest
from tidegate.problems import did_you_mean

__all__ = ["GroupKeys", "check_placement", "columns_outside_aggregates", "report_aggregate", "report_ungrouped"]


_THE_SAME = (exp.Alias, exp.Paren, exp.Ordered)


class GroupKeys:
    """What a query is grouped by.

    `columns`: identities of columns that are keys themselves.
    `inside`: identities of columns inside a grouped expression.
    `is_wrong`: an error in it was already reported.
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
            resolved = scope.resolve(node)
            if resolved.attribute is not None:
                (self.columns if resolved.whole else self.inside).add(resolved.attribute.identity)
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
    by: GroupKeys,
    scope: QueryScope,
) -> None:
    """`nodes`: expressions of SELECT, HAVING, ORDER BY. `stars`: stars with the columns they stand for."""
    own = {id(attribute) for attribute in frame.all_attributes()}
    reported: set[int] = set()
    for node, place in nodes:
        for column, bare in columns_outside_aggregates(node, place):
            resolved = place.resolve(column)
            attribute = resolved.attribute
            if attribute is None or resolved.by_alias or id(attribute) not in own or attribute.identity in reported:
                continue
            if attribute.identity in by.columns or (attribute.identity in by.inside and not (bare and resolved.whole)):
                continue
            reported.add(attribute.identity)
            _report([".".join(part.name for part in column_parts(column))], column, scope, by)
    for star, attributes in stars:
        missing = [a.name for a in attributes if a.identity not in by.columns and id(a) in own and a.name]
        if missing:
            _report(missing, star, scope, by)


def _report(names: list[str], node: Any, scope: QueryScope, by: GroupKeys) -> None:
    what = ", ".join(f"'{name}'" for name in names) + (" is" if len(names) == 1 else " are")
    if by.exists:
        message = f"{what} neither in GROUP BY nor in an aggregate"
        hint = "group by it too, or take it with an aggregate such as max or any_value"
    else:
        message = f"{what} in no aggregate, but the query has one and no GROUP BY"
        hint = "add a GROUP BY, or take it with an aggregate such as max or any_value"
    scope.report("NotGrouped", message, node, hint)


def columns_outside_aggregates(node: Any, scope: QueryScope) -> Iterable[tuple[Any, bool]]:
    """The columns of an expression outside aggregates, and whether each is the whole expression."""
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
    """A function that Spark does not have may be an aggregate."""
    if type(node) is exp.Anonymous and (node.name.lower() in scope.own_functions or function_of(node) is None):
        return True
    return is_aggregate(node) or is_generator(node)


_PLAIN = frozenset({exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Boolean})
_QUERIES = frozenset({exp.Select, exp.Subquery, exp.Union, exp.Intersect, exp.Except, exp.Values})
_BY_NAME = frozenset({exp.Anonymous, exp.Any})
_OF_THE_GROUPING = frozenset({exp.Grouping, exp.GroupingId})
_KINDS = {cls: FUNCTIONS[name].kind for cls, (name, _) in CLASSES.items() if cls not in _OF_THE_GROUPING}
_IN_A_SUBQUERY = "compute it in a subquery first"


def check_placement(
    node: Any, scope: QueryScope, clause: str = "", aggregates: bool = False, windows: bool = False
) -> None:
    """`clause`: the clause of `node`, empty for SELECT and ORDER BY; `aggregates`, `windows`: allowed in it.

    Subqueries are checked on their own.
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
    """A declared function, of which nothing is known."""
    return type(node) is exp.Anonymous and bool({node.name, node.name.lower()} & scope.own_functions)


def _check_window(node: Any, scope: QueryScope) -> list[Any]:
    """Check a window; returns its parts, in which aggregates are those of the query."""
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
        called = function_of(function)
        if called is not None and called.kind is WINDOW:
            message = f"{called.name} needs a window with ORDER BY"
            scope.report("MisplacedWindow", message, node, "add ORDER BY inside OVER (…)")
    inside += function.iter_expressions()
    inside += node.args.get("partition_by") or ()
    if (order := node.args.get("order")) is not None:
        inside.append(order)
    if scope.aliases:
        _check_aliases(node, scope)
    return inside


def _check_aliases(window: Any, scope: QueryScope) -> None:
    """An alias of the same SELECT can be used by later items, but not inside their windows."""
    if any(frame.doubtful_items() for frame in scope.frames):
        return
    for column in window.find_all(exp.Column):
        name = str(column.parts[0].name)
        own = column.parent_select is window.parent_select and column.find_ancestor(exp.Lambda) is None
        if own and name.lower() in scope.aliases and scope.resolve(column).by_alias:
            message = f"a window cannot use '{name}', which is defined in the same SELECT"
            scope.report("MisplacedWindow", message, column, f"repeat the expression of '{name}', or {_IN_A_SUBQUERY}")


def _is_ordered(node: Any, scope: QueryScope) -> bool:
    """Whether a window has ORDER BY, also through the window that it names."""
    for _ in range(len(scope.windows) + 1):
        if node.args.get("order") is not None:
            return True
        name = node.args.get("alias")
        following = scope.windows.get(name.name.lower()) if name is not None else None
        if following is None:
            return name is not None
        node = following
    return True
