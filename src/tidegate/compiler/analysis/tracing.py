"""The lineage of an expression: which columns of the tables it comes from, and how."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from tidegate.compiler.analysis.attributes import (
    AGGREGATION,
    CAST,
    CONDITION,
    EXPRESSION,
    IDENTITY,
    WINDOW,
    Lineage,
    add_origin,
    add_origins,
)
from tidegate.compiler.analysis.functions.lookup import AROUND, is_aggregate
from tidegate.compiler.analysis.scoping import QueryScope, Result, column_parts

__all__ = ["trace"]

_TRANSPARENT = frozenset({exp.Alias, exp.Aliases, exp.Paren, exp.Ordered})
_CASTS = frozenset({exp.Cast, exp.TryCast})
_NO_COLUMNS = frozenset({exp.Literal, exp.Identifier, exp.DataType, exp.Var, exp.Null, exp.Boolean, exp.Hint})


def trace(node: Any, scope: QueryScope, into: Lineage, kind: int = IDENTITY) -> bool:
    """Add the origins of `node` to `into`, resolving every name in it. True: it contains an aggregate."""
    aggregated = False
    waiting: list[tuple[Any, int]] = [(node, kind)]
    variables: set[int] = set()
    while waiting:
        node, kind = waiting.pop()
        what = type(node)
        if what in _NO_COLUMNS or id(node) in variables:
            continue
        if what is exp.Lambda:
            variables |= _variables(node)
            waiting.append((node.this, max(kind, EXPRESSION)))
            continue
        if what is exp.Column or what is exp.Dot:
            if what is exp.Column and type(node.this) is exp.Star:
                _star(node, scope, into, kind)
                continue
            if column_parts(node):
                resolved = scope.resolve(node)
                if resolved.attribute is not None:
                    add_origins(into, resolved.attribute.lineage, kind if resolved.whole else max(kind, EXPRESSION))
                continue
        elif what in _TRANSPARENT:
            waiting.append((node.this, kind))
            continue
        elif what in _CASTS:
            waiting.append((node.this, max(kind, CAST)))
            continue
        elif what is exp.Star:
            _star(node, scope, into, kind)
            continue
        elif what is exp.Window:
            _window(node, scope, waiting, max(kind, WINDOW))
            continue
        elif what is exp.Case:
            _case(node, waiting, max(kind, EXPRESSION))
            continue
        elif what is exp.If:
            waiting.append((node.this, CONDITION))
            waiting += [
                (v, max(kind, EXPRESSION)) for key in ("true", "false") if (v := node.args.get(key)) is not None
            ]
            continue
        elif what is exp.Filter:
            waiting += [(node.expression, CONDITION), (node.this, kind)]
            continue
        elif what is exp.Exists and isinstance(node.this, exp.Query):
            _conditions(scope.result(node.this), into)
            continue
        elif isinstance(node, exp.Query):
            _subquery(node, scope, into, max(kind, EXPRESSION))
            continue
        elif what is exp.Count and type(node.this) is exp.Star:
            aggregated = True
            continue
        if is_aggregate(node):
            aggregated = True
            step = max(kind, AGGREGATION)
        else:
            step = max(kind, EXPRESSION)
        waiting += [(child, step) for child in node.iter_expressions()]
    return aggregated


def _variables(node: Any) -> set[int]:
    """The nodes of a lambda's body that are its variables: the parser misses those written in another case."""
    names = {variable.name.lower() for variable in node.expressions}
    variables = set()
    for column in node.this.find_all(exp.Column):
        if column.parts[0].name.lower() in names:
            while column is not None and type(column) in (exp.Column, exp.Dot):
                variables.add(id(column))
                column = column.parent
    return variables


def _window(node: Any, scope: QueryScope, waiting: list[tuple[Any, int]], kind: int) -> None:
    """A function with OVER is no aggregate of the query; its arguments may contain one."""
    function = node.this
    while type(function) in AROUND:
        if type(function) is exp.Filter:
            waiting.append((function.expression, CONDITION))
        elif type(function) is exp.WithinGroup:
            waiting.append((function.expression, kind))
        function = function.this
    if not (type(function) is exp.Count and type(function.this) is exp.Star):
        waiting += [(child, kind) for child in function.iter_expressions()]
    seen: set[str] = set()
    while True:
        waiting += [(child, kind) for child in node.args.get("partition_by") or ()]
        if (order := node.args.get("order")) is not None:
            waiting.append((order, kind))
        name = node.args.get("alias")
        name = name.name.lower() if name is not None else ""
        if name in seen or (node := scope.windows.get(name)) is None:
            return
        seen.add(name)


def _case(node: Any, waiting: list[tuple[Any, int]], kind: int) -> None:
    if node.this is not None:
        waiting.append((node.this, CONDITION))
    for branch in node.args.get("ifs") or ():
        waiting += [(branch.this, CONDITION), (branch.args["true"], kind)]
    if (default := node.args.get("default")) is not None:
        waiting.append((default, kind))


def _subquery(node: Any, scope: QueryScope, into: Lineage, kind: int) -> None:
    result = scope.result(node)
    for attribute in result.attributes:
        add_origins(into, attribute.lineage, kind)
    _conditions(result, into)


def _conditions(result: Result, into: Lineage) -> None:
    for origin in result.conditions:
        add_origin(into, origin, CONDITION)


def _star(node: Any, scope: QueryScope, into: Lineage, kind: int) -> None:
    """All columns as arguments, such as in struct(*)."""
    for frame in scope.frames:
        if type(node) is exp.Column:
            qualifier = tuple(part.name.lower() for part in node.parts[:-1])
            attributes = frame.of_item(qualifier)
        else:
            attributes = frame.attributes
        for attribute in attributes:
            add_origins(into, attribute.lineage, max(kind, EXPRESSION))
