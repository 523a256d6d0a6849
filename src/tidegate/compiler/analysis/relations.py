"""The columns that FROM makes visible: tables, subqueries, joins, lateral views, table functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from sqlglot import exp

from tidegate.amounts import plural
from tidegate.compiler.analysis.aggregation import check_placement
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
from tidegate.compiler.analysis.coercion import common_type, comparable
from tidegate.compiler.analysis.column_expansion import pivot_columns
from tidegate.compiler.analysis.expression_types import type_of
from tidegate.compiler.analysis.expressions.calls import generator_columns
from tidegate.compiler.analysis.expressions.typed import UNKNOWN
from tidegate.compiler.analysis.functions.lookup import function_of, is_generator
from tidegate.compiler.analysis.functions.row_functions import OUTPUTS
from tidegate.compiler.analysis.scoping import AnalysisContext, QueryScope, QuerySource, ResolvedColumn, Result
from tidegate.compiler.analysis.tracing import trace
from tidegate.compiler.sql.scopes import alias_columns, cte_of
from tidegate.datatypes import ANY, DataType
from tidegate.names import nearest
from tidegate.problems import did_you_mean

__all__ = ["add_conditions", "check_condition", "check_name_count", "from_clause"]

Conditions = set[tuple[str, str]]

_HIDDEN = frozenset({"identifier", "stream", "table"})
"""Calls that name a table."""

_ZONE = "landing:"
"""The prefix of a landing zone's key; without an alias its columns are qualified by the zone's name."""


def from_clause(select: Any, scope: QueryScope, conditions: Conditions) -> Frame:
    """The columns that the clauses of a SELECT can see. `scope`: the scope outside the SELECT, without frames."""
    clause = select.args.get("from_")
    frame = _relation(clause.this, scope, conditions) if clause is not None else Frame()
    for join in select.args.get("joins") or ():
        frame = _join(frame, join, scope, conditions)
    for lateral in select.args.get("laterals") or ():
        frame.take(_lateral(lateral, frame, scope, conditions))
    return frame


def add_conditions(node: Any, scope: QueryScope, conditions: Conditions) -> DataType:
    """Add the origins of an expression that decides which rows there are; returns its type."""
    lineage: Lineage = {}
    trace(node, scope, lineage)
    conditions.update(lineage)
    return type_of(node, scope).type


def check_condition(node: Any, clause: str, scope: QueryScope, conditions: Conditions) -> None:
    """Check the condition of WHERE or ON: a boolean without aggregates and windows."""
    kind = add_conditions(node, scope, conditions)
    check_placement(node, scope, clause)
    if kind.kind not in ("boolean", "?"):
        scope.report("TypeMismatch", f"{clause} takes a boolean, and this is {kind}", node)


def check_name_count(names: int, columns: int, node: Any, context: AnalysisContext) -> bool:
    """Whether the list of names after an alias has one for each column, else it is reported."""
    if names == columns:
        return True
    count = "1 name" if names == 1 else f"{names} names"
    message = f"'{node.alias}' has {plural(columns, 'column')}, and is given {count}"
    context.report("ColumnCount", message, node.args["alias"], "name each column, or none")
    return False


def _relation(node: Any, scope: QueryScope, conditions: Conditions, left: Frame | None = None) -> Frame:
    """`left`: the columns to the left, for LATERAL."""
    what = type(node)
    if what is exp.Table:
        if type(node.this) is exp.Identifier:
            frame = _table(node, scope, conditions)
        elif (called := scope.context.sources.get(id(node))) is not None:
            frame = _source(called, [str(node.this.name)], node, scope)
        else:
            frame = _function(node.this, node, scope.with_frames(left or Frame()), conditions)
    elif what is exp.Subquery and type(node.this) is exp.Table:
        frame = _relation(node.this, scope, conditions, left)
    elif what is exp.Lateral:
        inner = scope.with_frames(left or Frame())
        if isinstance(node.this, exp.Query):
            result = scope.context.query(_unwrapped(node.this), inner)
            frame = _bound(result, node, scope, conditions)
        else:
            frame = _function(node.this, node, inner, conditions)
    elif isinstance(node, exp.Query | exp.Values):
        result = scope.context.query(_unwrapped(node), scope.outer)
        frame = _bound(result, node, scope, conditions)
    else:
        frame = _nothing_known(node)
    frame.items[0].node = node
    if what is exp.Table or what is exp.Subquery:
        for join in node.args.get("joins") or ():
            frame = _join(frame, join, scope, conditions)
        if what is exp.Subquery and type(node.this) is exp.Table and node.args.get("alias") is not None:
            frame = _renamed(frame, node, scope)
        for pivot in node.args.get("pivots") or ():
            frame = pivot_columns(frame, pivot, scope, conditions)
    return frame


def _unwrapped(node: Any) -> Any:
    """The query inside the parentheses of a FROM item, whose joins and pivots are for the caller."""
    if type(node) is not exp.Subquery or any(node.args.get(key) for key in ("with_", "order", "limit", "offset")):
        return node
    return node.this


def _table(node: Any, scope: QueryScope, conditions: Conditions) -> Frame:
    source = scope.context.sources.get(id(node))
    parts = [str(part.name) for part in node.parts]
    if source is not None:
        return _source(source, parts, node, scope)
    cte = scope.context.ctes.get(id(cte_of(node)))
    if cte is None:
        return _nothing_known(node)
    cte.read = True
    conditions |= cte.result.conditions
    item = _named_item(node.alias or parts[0], cte.result)
    identities: dict[int, int] = {}
    new_ids = scope.context.new_ids
    attributes = []
    for a in cte.result.attributes:
        identity = identities.get(a.identity)
        if identity is None:
            identity = identities[a.identity] = next(new_ids)
        attributes.append(Attribute(a.name, a.type, a.nullable, a.lineage, identity, item))
    return Frame(_with_names(attributes, node, item, scope), [item])


def _source(source: QuerySource, parts: list[str], node: Any, scope: QueryScope) -> Frame:
    relation = source.relation
    unknown = None if relation.complete else Unknown(source.key)
    is_vague = any(not column.name for column in relation.columns)
    alias = node.alias
    if not alias and source.key.startswith(_ZONE):
        alias = source.key.removeprefix(_ZONE)
    qualifier = (alias.lower(),) if alias else _full_name(parts, source.key)
    item = FromItem(alias or ".".join(parts), qualifier, unknown, is_source=not source.open, is_vague=is_vague)
    key, new_ids = source.key, scope.context.new_ids
    attributes = [
        Attribute(c.name, c.type, c.nullable, {(key, c.name): IDENTITY} if c.name else {}, next(new_ids), item)
        for c in relation.columns
    ]
    return Frame(_with_names(attributes, node, item, scope), [item])


def _full_name(parts: list[str], key: str) -> tuple[str, ...]:
    """All parts of a table's name, also those that the query leaves out."""
    written = tuple(part.lower() for part in parts)
    full = tuple(key.lower().split("."))
    return full if full[-len(written) :] == written else written


def _bound(result: Result, node: Any, scope: QueryScope, conditions: Conditions) -> Frame:
    """A subquery's columns under its alias."""
    conditions |= result.conditions
    item = _named_item(node.alias, result)
    attributes = [Attribute(a.name, a.type, a.nullable, a.lineage, a.identity, item) for a in result.attributes]
    return Frame(_with_names(attributes, node, item, scope), [item])


def _named_item(alias: str, result: Result) -> FromItem:
    return FromItem(alias, (alias.lower(),) if alias else (), result.unknown, is_vague=result.is_vague)


def _renamed(frame: Frame, node: Any, scope: QueryScope) -> Frame:
    """A parenthesised join under one name."""
    alias = node.alias
    is_vague = any(item.is_vague for item in frame.items)
    item = FromItem(alias, (alias.lower(),) if alias else (), _together(frame.unknown_items()), is_vague=is_vague)
    attributes = [Attribute(a.name, a.type, a.nullable, a.lineage, a.identity, item) for a in frame.attributes]
    return Frame(_with_names(attributes, node, item, scope), [item])


def _together(unknown: list[FromItem]) -> Unknown | None:
    if not unknown:
        return None
    return unknown[0].unknown if len(unknown) == 1 else Unknown()


def _with_names(attributes: list[Attribute], node: Any, item: FromItem, scope: QueryScope) -> list[Attribute]:
    """`t(a, b)` gives the columns other names."""
    names = alias_columns(node)
    if not names:
        return attributes
    if item.unknown is None and not check_name_count(len(names), len(attributes), node, scope.context):
        item.unknown = Unknown()
        return [Attribute(name.name, ANY, None, {}, next(scope.context.new_ids), item) for name in names]
    if len(names) > len(attributes):
        return attributes
    renamed = []
    for attribute, name in zip(attributes, names, strict=False):
        other = Attribute(name.name, attribute.type, attribute.nullable, attribute.lineage, attribute.identity)
        other.item = attribute.item
        renamed.append(other)
    return [*renamed, *attributes[len(renamed) :]]


def _nothing_known(node: Any) -> Frame:
    alias = node.alias
    parts = [part.name for part in node.parts] if type(node) is exp.Table else []
    qualifier = (alias.lower(),) if alias else tuple(str(part).lower() for part in parts)
    return Frame((), [FromItem(alias or ".".join(parts), qualifier, Unknown())])


def _function(call: Any, node: Any, scope: QueryScope, conditions: Conditions) -> Frame:
    """A table function, or the generator of a lateral view."""
    lineage: Lineage = {}
    trace(call, scope, lineage, EXPRESSION)
    conditions.update(lineage)
    columns = generator_columns(call, scope)
    if columns is None:
        if type(call) is exp.GenerateSeries:
            type_of(call, scope)
        else:
            _check_gives_rows(call, scope)
        return _named_only(node, lineage, scope)
    alias = node.alias or (call.name if type(call) is exp.Anonymous else "")
    item = FromItem(alias, (alias.lower(),) if alias else (), None)
    new_ids = scope.context.new_ids
    attributes = [Attribute(c.name, c.type, c.nullable, lineage, next(new_ids), item) for c in columns]
    item.is_vague = any(not column.name for column in columns)
    return Frame(_with_names(attributes, node, item, scope), [item])


def _named_only(node: Any, lineage: Lineage, scope: QueryScope) -> Frame:
    """The columns of a call of which only the names after its alias are known; these are all it has."""
    frame = _nothing_known(node)
    names, item = alias_columns(node), frame.items[0]
    if names:
        item.unknown, item.is_untyped = None, True
    for name in names:
        frame.add(Attribute(name.name, ANY, None, lineage, next(scope.context.new_ids), item))
    return frame


def _check_gives_rows(call: Any, scope: QueryScope) -> None:
    """Report a function in FROM that is no table function."""
    function = function_of(call)
    if function is not None:
        if not is_generator(call):
            fix = f"SELECT {function.name}(…), or read it with a subquery"
            scope.report(
                "UnknownFunction", f"{function.name} gives a value, and FROM takes a table function", call, fix
            )
        return
    name = str(call.name).lower() if type(call) is exp.Anonymous else ""
    if name and name not in _HIDDEN and name not in scope.own_functions:
        own = scope.context.table_functions
        if name in own:
            fix = "write FROM and the call, in a model; its arguments are constants"
            scope.report("MisplacedFunction", f"{call.name} cannot be called here", call, fix)
            return
        near = did_you_mean(nearest(name, [*own, *OUTPUTS]))
        fix = near or f'if Spark has it from elsewhere, declare it: functions = ["{name}"] in [spark]'
        scope.report("UnknownFunction", f"there is no table function '{call.name}'", call, fix)


def _lateral(node: Any, frame: Frame, scope: QueryScope, conditions: Conditions) -> Frame:
    """LATERAL VIEW, which sees all columns before it."""
    added = _function(node.this, node, scope.with_frames(frame), conditions)
    added.items[0].node = node
    if node.args.get("outer"):
        _make_nullable(added.attributes)
    return added


def _make_nullable(attributes: Iterable[Attribute]) -> None:
    for attribute in attributes:
        attribute.nullable = True


def _join(left: Frame, join: Any, scope: QueryScope, conditions: Conditions) -> Frame:
    right = _relation(join.this, scope, conditions, left)
    side, kind = (join.side or "").upper(), (join.kind or "").upper()
    existence = kind in ("SEMI", "ANTI")
    using = join.args.get("using") or ()
    natural = (join.method or "").upper() == "NATURAL"
    names = [identifier.name for identifier in using] if using else _shared_names(left, right) if natural else []
    if names:
        pairs = _using(left, right, list(using) or [join] * len(names), names, scope, conditions)
        return _merged(left, right, pairs, "SEMI" if existence else side, scope)
    unsure = natural and bool(left.doubtful_items() or right.doubtful_items())
    both = left.copy() if existence else left
    both.take(right)
    if (on := join.args.get("on")) is not None:
        check_condition(on, "ON", scope.with_frames(both), conditions)
    if existence:
        return left
    if side in ("LEFT", "FULL"):
        _make_nullable(right.all_attributes())
    if side in ("RIGHT", "FULL"):
        of_right = set(map(id, right.all_attributes()))
        _make_nullable(a for a in left.all_attributes() if id(a) not in of_right)
    if unsure:
        left.items.append(FromItem("", (), Unknown()))
    return left


def _shared_names(left: Frame, right: Frame) -> list[str]:
    """The columns of a NATURAL join: names of both sides, as often as both have them. Here case matters."""
    if left.doubtful_items() or right.doubtful_items():
        return []
    remaining = Counter(attribute.name for attribute in right.attributes)
    names = []
    for attribute in left.attributes:
        if remaining[attribute.name] > 0:
            remaining[attribute.name] -= 1
            names.append(attribute.name)
    return names


def _using(
    left: Frame, right: Frame, nodes: list[Any], names: list[str], scope: QueryScope, conditions: Conditions
) -> list[tuple[Attribute, Attribute]]:
    """The columns of both sides. A name in USING means the one of the left."""
    pairs = []
    for name, node in zip(names, nodes, strict=True):
        one, other = (_key_column(frame, name, node, scope) for frame in (left, right))
        if one is None or other is None:
            continue
        conditions.update(one.lineage)
        conditions.update(other.lineage)
        if not comparable(one.type, other.type):
            message = f"cannot join by '{name}': it is {one.type} on the left and {other.type} on the right"
            scope.report("TypeMismatch", message, node, "join ON a comparison of the same types")
        scope.context.columns[id(node)] = ResolvedColumn(one, UNKNOWN)
        pairs.append((one, other))
    return pairs


def _key_column(frame: Frame, name: str, node: Any, scope: QueryScope) -> Attribute | None:
    folded = name.lower()
    column = next((a for a in frame.attributes if a.folded == folded), None)
    unknown = frame.doubtful_items()
    if column is not None:
        return column
    if unknown:
        assumed = frame.assume(name, unknown[0], scope.context.new_ids)
        if len(unknown) > 1:
            assumed.lineage = {}
        return assumed
    labels = ", ".join(item.label for item in frame.items if item.label) or "the query in FROM"
    hint = did_you_mean(nearest(name, (a.name for a in frame.attributes if a.name)))
    scope.report("UnknownColumn", f"unknown column '{name}' in USING: {labels} has no such column", node, hint)
    return None


def _merged(left: Frame, right: Frame, pairs: list[tuple[Attribute, Attribute]], side: str, scope: QueryScope) -> Frame:
    """Columns in Spark's order: the join columns, the others of the left, the others of the right."""
    ones, others = {one.identity for one, _ in pairs}, {other.identity for _, other in pairs}
    rest_left = [a for a in left.attributes if a.identity not in ones]
    if side == "SEMI":
        left.attributes = [one for one, _ in pairs] + rest_left
        return left
    if side in ("LEFT", "FULL"):
        _make_nullable(right.all_attributes())
    if side in ("RIGHT", "FULL"):
        _make_nullable(left.all_attributes())
    rest_right = [a for a in right.attributes if a.identity not in others]
    left.take(right)
    if side == "FULL":
        keys = [_coalesced(one, other, scope) for one, other in pairs]
        hidden = [attribute for pair in pairs for attribute in pair]
        for key in keys:
            left.index(key)
    elif side == "RIGHT":
        keys, hidden = [other for _, other in pairs], [one for one, _ in pairs]
    else:
        keys, hidden = [one for one, _ in pairs], [other for _, other in pairs]
    for attribute in hidden:
        attribute.hidden = True
    left.attributes = keys + rest_left + rest_right
    return left


def _coalesced(one: Attribute, other: Attribute, scope: QueryScope) -> Attribute:
    lineage: Lineage = {}
    add_origins(lineage, one.lineage, EXPRESSION)
    add_origins(lineage, other.lineage, EXPRESSION)
    kind = common_type(one.type, other.type) or ANY
    return Attribute(one.name, kind, True, lineage, next(scope.context.new_ids))
