"""The columns of one SELECT, and its clauses: GROUP BY, HAVING, QUALIFY, DISTINCT, ORDER BY, windows."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from tidegate.amounts import plural
from tidegate.compiler.analysis.aggregation import (
    GroupKeys,
    check_placement,
    columns_outside_aggregates,
    report_aggregate,
    report_ungrouped,
)
from tidegate.compiler.analysis.attributes import (
    EXPRESSION,
    IDENTITY,
    Attribute,
    Frame,
    FromItem,
    Lineage,
    Unknown,
    add_origins,
)
from tidegate.compiler.analysis.coercion import is_comparable_in_rows, is_orderable
from tidegate.compiler.analysis.column_expansion import expand_star
from tidegate.compiler.analysis.expression_types import type_of
from tidegate.compiler.analysis.expressions.calls import generator_columns
from tidegate.compiler.analysis.functions.lookup import is_generator
from tidegate.compiler.analysis.generated_names import generated_name
from tidegate.compiler.analysis.relations import add_conditions, check_condition, from_clause
from tidegate.compiler.analysis.scoping import QueryScope, Result, column_parts
from tidegate.compiler.analysis.tracing import trace
from tidegate.compiler.sql.scopes import is_star
from tidegate.datatypes import ANY, VARIANT, struct

__all__ = ["add_order", "select_columns"]

_TIME_WINDOWS = ("session_window", "window")
_SETS = frozenset({exp.Rollup, exp.Cube, exp.GroupingSets})


def select_columns(select: Any, around: QueryScope) -> Result:
    """`around`: the scope outside the SELECT, without its own FROM."""
    conditions: set[tuple[str, str]] = set()
    frame = from_clause(select, around, conditions)
    args = select.args
    scope = around.with_frames(frame)
    if windows := args.get("windows"):
        scope.windows = {window.this.name.lower(): window for window in windows}
        _check_windows(windows, scope)
    if (where := args.get("where")) is not None:
        check_condition(where.this, "WHERE", scope, conditions)
    group = args.get("group")
    keys = _keys(group) if group is not None else []
    in_sets = group is not None and _in_sets(group)
    if in_sets:
        _make_keys_nullable(keys, frame, scope)
    by = GroupKeys()
    _add_time_windows(keys, frame, by, scope)
    items = _Items(scope, frame)
    for node in select.expressions:
        items.add(node)
    result = Result(items.attributes, items.nodes, items.unknown, conditions)
    output = _output(result)
    if group is not None:
        _group(group, keys, by, items, scope, conditions, in_sets)
    by_all = group is not None and bool(group.args.get("all"))
    checked = [] if by_all else [(node, scope) for node in items.expressions]
    having = args.get("having")
    if having is not None:
        inner = scope.with_frames(frame, output)
        _prefer_groups(having.this, frame, by, scope, scope.with_frames(output, frame))
        add_conditions(having.this, inner, conditions)
        check_placement(having.this, inner, "HAVING", aggregates=True)
        checked.append((having.this, inner))
    if (qualify := args.get("qualify")) is not None:
        add_conditions(qualify.this, scope.with_frames(frame, output), conditions)
    distinct = args.get("distinct") is not None
    if distinct:
        for attribute, node in zip(items.attributes, items.nodes, strict=True):
            conditions.update(attribute.lineage)
            if not is_comparable_in_rows(attribute.type):
                scope.report("TypeMismatch", f"DISTINCT compares rows, which {attribute.type} does not allow", node)
    inner = scope.with_frames(output) if distinct else scope.with_frames(output, frame)
    checked += [(node, inner) for node in _ordered(select, inner, result)]
    aggregated = items.aggregated or group is not None or having is not None
    if aggregated and not items.generates and not by.is_wrong:
        report_ungrouped(checked, [] if by_all else items.stars, frame, by, scope)
    return result


def add_order(node: Any, result: Result, scope: QueryScope) -> None:
    """ORDER BY of a set operation or of a query in parentheses, which sees only the result."""
    _ordered(node, scope.with_frames(_output(result)), result)


def _output(result: Result) -> Frame:
    """The columns of a SELECT as its later clauses see them."""
    return Frame(result.attributes, [FromItem("the result", (), result.unknown, is_vague=result.is_vague)])


class _Items:
    """The items of a SELECT, from left to right: each sees the names of those before it."""

    def __init__(self, scope: QueryScope, frame: Frame) -> None:
        self.scope = scope
        self.frame = frame
        self.attributes: list[Attribute] = []
        self.nodes: list[Any] = []
        self.expressions: list[Any] = []
        self.stars: list[tuple[Any, list[Attribute]]] = []
        self.with_aggregate: set[int] = set()
        self.unknown: Unknown | None = None
        self.generates = False

    @property
    def aggregated(self) -> bool:
        return bool(self.with_aggregate)

    def add(self, node: Any) -> None:
        if is_star(node):
            self._star(node)
            return
        if type(node) is exp.QueryTransform:
            self.unknown = Unknown()
            return
        named = type(node) is exp.Alias
        inner = node.this if named else node
        if type(node) is exp.Aliases:
            self._generator(node.this, [alias.name for alias in node.args["expressions"]], node)
        elif isinstance(inner, exp.Func) and is_generator(inner):
            self._generator(inner, [node.alias] if named else [], node)
        elif not named and column_parts(node):
            self.expressions.append(node)
            self._append(self._column(node), node)
        else:
            self.expressions.append(inner)
            self._value(node, inner, named)

    def _value(self, node: Any, inner: Any, named: bool) -> None:
        lineage: Lineage = {}
        check_placement(inner, self.scope)
        if trace(inner, self.scope, lineage):
            self.with_aggregate.add(len(self.attributes))
        typed = type_of(inner, self.scope)
        name = node.alias if named else self._generated(inner)
        attribute = Attribute(name, typed.type, typed.nullable, lineage, next(self.scope.context.new_ids))
        self._append(attribute, node)
        if named:
            self.scope.aliases.setdefault(attribute.folded, []).append(attribute)

    def _generated(self, node: Any) -> str:
        while type(node) is exp.Paren:
            node = node.this
        return self._column_name(node) if column_parts(node) else generated_name(node, self.scope)

    def _column_name(self, node: Any) -> str:
        resolved = self.scope.resolve(node)
        return str(column_parts(node)[-1].name) if resolved.name is None else resolved.name

    def _column(self, node: Any) -> Attribute:
        resolved = self.scope.resolve(node)
        name = self._column_name(node)
        attribute = resolved.attribute
        if attribute is None:
            return Attribute(name, resolved.typed.type, resolved.typed.nullable, {}, next(self.scope.context.new_ids))
        if resolved.whole and resolved.typed.type is attribute.type:
            return attribute.unhidden().named(name)
        lineage: Lineage = {}
        add_origins(lineage, attribute.lineage, IDENTITY if resolved.whole else EXPRESSION)
        return Attribute(name, resolved.typed.type, resolved.typed.nullable, lineage, next(self.scope.context.new_ids))

    def _append(self, attribute: Attribute, node: Any) -> None:
        self.attributes.append(attribute)
        self.nodes.append(node)

    def _star(self, node: Any) -> None:
        attributes, unknown = expand_star(node, self.frame, self.scope)
        if unknown is not None:
            self.unknown = unknown if self.unknown is None else Unknown()
        self.stars.append((node, attributes))
        self.attributes += attributes
        self.nodes += [node] * len(attributes)

    def _generator(self, call: Any, names: list[str], node: Any) -> None:
        self.generates = True
        lineage: Lineage = {}
        trace(call, self.scope, lineage, EXPRESSION)
        columns = generator_columns(call, self.scope)
        new_ids = self.scope.context.new_ids
        if columns is None:
            attributes = [Attribute(name, ANY, None, lineage, next(new_ids)) for name in names]
            if not names:
                self.unknown = Unknown()
        else:
            attributes = [Attribute(c.name, c.type, c.nullable, lineage, next(new_ids)) for c in columns]
            if names and self._fits(len(names), len(attributes), node):
                attributes = [a.named(name) for a, name in zip(attributes, names, strict=True)]
        for attribute in attributes:
            self._append(attribute, node)
            self.scope.aliases.setdefault(attribute.folded, []).append(attribute)

    def _fits(self, names: int, columns: int, node: Any) -> bool:
        if names == columns:
            return True
        message = f"{names} {'name' if names == 1 else 'names'} for the {plural(columns, 'column')} of a function"
        self.scope.report("ColumnCount", message, node, "name each column: … AS (a, b)")
        return False


def _check_windows(windows: list[Any], scope: QueryScope) -> None:
    for window in windows:
        for node in (*(window.args.get("partition_by") or ()), window.args.get("order")):
            if node is not None:
                trace(node, scope, {})


def _keys(group: Any) -> list[Any]:
    """The grouping expressions, also those inside ROLLUP, CUBE and GROUPING SETS."""
    keys: list[Any] = []
    waiting = list(reversed(group.expressions))
    for name in ("rollup", "cube", "grouping_sets"):
        waiting += [node for node in group.args.get(name) or () if node.expressions]
    inside_sets = {id(node) for node in waiting if type(node) in _SETS}
    while waiting:
        node = waiting.pop()
        if type(node) in _SETS or (type(node) is exp.Tuple and id(node) in inside_sets):
            inside_sets.update(map(id, node.expressions))
            waiting += reversed(node.expressions)
        else:
            keys.append(node.this if type(node) is exp.Paren else node)
    return keys


def _in_sets(group: Any) -> bool:
    return any(group.args.get(name) for name in ("rollup", "cube", "grouping_sets")) or any(
        type(node) in _SETS for node in group.expressions
    )


def _make_keys_nullable(keys: list[Any], frame: Frame, scope: QueryScope) -> None:
    for key in keys:
        parts = tuple(part.name for part in column_parts(key))
        if parts:
            matches, used = frame.find(parts, scope.context.new_ids)
            if len(matches) == 1 and used == len(parts):
                matches[0].nullable = True


def _add_time_windows(keys: list[Any], frame: Frame, by: GroupKeys, scope: QueryScope) -> None:
    """GROUP BY window(ts, …) gives a column `window` with the start and the end of each."""
    for key in keys:
        if type(key) is exp.Anonymous and (name := key.name.lower()) in _TIME_WINDOWS and key.expressions:
            lineage: Lineage = {}
            trace(key, scope, lineage, EXPRESSION)
            moment = type_of(key.expressions[0], scope).type
            kind = struct((("start", moment), ("end", moment))) if moment.is_temporal else ANY
            window = Attribute(name, kind, None, lineage, next(scope.context.new_ids))
            frame.index(window)
            by.columns.add(window.identity)


def _group(
    group: Any,
    keys: list[Any],
    by: GroupKeys,
    items: _Items,
    scope: QueryScope,
    conditions: set[tuple[str, str]],
    in_sets: bool,
) -> None:
    """A key is a column, else the name or the number of an item, else an expression."""
    by.exists = True
    if group.args.get("all"):
        for position, attribute in enumerate(items.attributes):
            if position not in items.with_aggregate:
                conditions.update(attribute.lineage)
                by.add_column(attribute, items.nodes[position], scope)
        return
    inner = scope.with_frames(*scope.frames)
    positions: dict[int, int] = {}
    for position, attribute in enumerate(items.attributes):
        positions.setdefault(id(attribute), position)
        inner.aliases.setdefault(attribute.folded, [attribute])
    for key in keys:
        chosen = _position(key, inner, positions, len(items.attributes))
        if chosen is None:
            by.is_wrong |= not _is_position("GROUP BY", key, len(items.attributes), items.unknown, scope)
            if add_conditions(key, inner, conditions) == VARIANT:
                scope.report("TypeMismatch", "rows cannot be grouped by variant", key, "cast it to another type")
            check_placement(key, inner, "GROUP BY", windows=True)
            by.add(key, inner)
            continue
        if chosen in items.with_aggregate:
            by.is_wrong = True
            report_aggregate(key, "GROUP BY", scope)
        conditions.update(items.attributes[chosen].lineage)
        if in_sets:
            items.attributes[chosen].nullable = True
        by.add_column(items.attributes[chosen], items.nodes[chosen], scope)
    if in_sets:
        # An item may be a grouped expression, which is null in the rows of a set without it.
        for position, attribute in enumerate(items.attributes):
            if attribute.nullable is False and position not in items.with_aggregate:
                attribute.nullable = None


def _is_position(clause: str, key: Any, length: int, unknown: Unknown | None, scope: QueryScope) -> bool:
    """False, and reported, where the key is a number that is no position of a column."""
    if unknown is not None or not _is_number(key) or 1 <= int(key.name) <= length:
        return True
    message = f"{clause} {key.name}: the result has {plural(length, 'column')}"
    scope.report("PositionOutOfRange", message, key, "give the number of a column, or its name")
    return False


def _is_number(key: Any) -> bool:
    return type(key) is exp.Literal and not key.is_string and key.name.isdigit()


def _position(key: Any, scope: QueryScope, positions: dict[int, int], length: int) -> int | None:
    """The position of the item that a key names by its number or alias."""
    if _is_number(key):
        number = int(key.name)
        return number - 1 if 1 <= number <= length else None
    if column_parts(key):
        resolved = scope.resolve(key)
        if resolved.by_alias and resolved.attribute is not None:
            return positions.get(id(resolved.attribute))
    return None


def _prefer_groups(node: Any, frame: Frame, by: GroupKeys, plain: QueryScope, named: QueryScope) -> None:
    """In HAVING a column outside aggregates is a grouped column, else a SELECT item of that name."""
    for column, _ in columns_outside_aggregates(node, plain):
        parts = tuple(part.name for part in column_parts(column))
        matches, _used = frame.find(parts, plain.context.new_ids)
        grouped = len(matches) == 1 and (matches[0].identity in by.columns or matches[0].identity in by.inside)
        (plain if grouped else named).resolve(column)


def _ordered(node: Any, scope: QueryScope, result: Result) -> list[Any]:
    """The expressions that the rows are ordered by. With a LIMIT they decide which rows there are."""
    args, conditions = node.args, result.conditions
    for clause in (args.get("order"), args.get("sort")):
        for key in clause.expressions if clause is not None else ():
            _is_position("ORDER BY", key.this, len(result.attributes), result.unknown, scope)
    limited = args.get("limit") is not None or args.get("offset") is not None
    nodes = []
    for clause in (args.get("order"), args.get("sort"), args.get("cluster"), args.get("distribute")):
        for key in clause.expressions if clause is not None else ():
            expression = key.this if type(key) is exp.Ordered else key
            if type(expression) in (exp.Literal, exp.Var):
                continue
            decides: set[tuple[str, str]] = conditions if limited else set()
            kind = add_conditions(expression, scope, decides)
            if clause is not args.get("distribute") and not is_orderable(kind):
                scope.report("TypeMismatch", f"rows cannot be ordered by {kind}", expression)
            check_placement(expression, scope)
            nodes.append(expression)
    return nodes
