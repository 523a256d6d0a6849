"""The values of a SELECT: its relations, expressions over their columns, and the equations that link relations.

Which column a name means is decided by the analysis of the compiler.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from tidegate.compiler.analysis.attributes import Attribute
from tidegate.compiler.analysis.functions.lookup import is_aggregate, is_generator
from tidegate.compiler.analysis.scoping import NOT_FOUND, AnalysisContext, ResolvedColumn, column_parts
from tidegate.compiler.sql.scopes import offset_of
from tidegate.compiler.sql.sql_text import CANNOT_REWRITE, CannotRewriteError, Edit
from tidegate.names import TableName
from tidegate.planner.deltas.blocks import Base, BlockItem, Join, JoinLink, Value
from tidegate.planner.deltas.syntax import conjuncts, is_member

__all__ = [
    "SelectScope",
    "Values",
    "column_of",
    "correlations",
    "flawed",
    "linked",
    "links_of",
    "membership",
    "outwards",
    "value_of_column",
]

_QUERIES = (exp.Query, exp.Exists)
_AROUND = "a column of the query around it"
_GENERATED = "a column of LATERAL VIEW"


@dataclass(slots=True)
class SelectScope:
    """The relations of one SELECT."""

    select: Any
    items: list[BlockItem] = field(default_factory=list)
    laterals: list[Any] = field(default_factory=list)
    outer: SelectScope | None = None
    scattered: bool = False
    """Not all its joins have the same USING, and a star over them is refused."""
    group_values: list[Value] = field(default_factory=list)
    """The expressions of GROUP BY that are written there."""


def outwards(scope: SelectScope | None) -> Iterator[SelectScope]:
    while scope is not None:
        yield scope
        scope = scope.outer


class Values:
    """The expressions of one query, by what its `names` mean."""

    def __init__(self, names: AnalysisContext) -> None:
        self.names = names
        self.used: dict[TableName, set[str] | None] = {}
        """The columns of each table that the query names; None for all of them."""
        self.fixes: dict[int, Edit] = {}
        """Edits that remove table names before columns, which are valid only while the table itself is read there."""
        self.reached: Counter[int] = Counter()
        """How often an inner query used a column of a scope, by the scope's `id()`."""

    def value(self, tree: Any, scope: SelectScope) -> Value:
        columns: set[tuple[int, str]] = set()
        flaws: list[str] = []
        plain: tuple[int, str] | None = None
        tree = tree.unnest() if isinstance(tree, exp.Paren) else tree

        def resolved(node: Any) -> Any:
            nonlocal plain
            if isinstance(node, _QUERIES):
                flaws.append("a subquery")
                return node.copy()
            if isinstance(node, exp.Dot | exp.Column) and (parts := column_parts(node)):
                if _is_variable(node, parts[0].name):
                    return node.copy()
                found = self._column(node, parts, scope)
                if isinstance(found, str):
                    flaws.append(found)
                    return node.copy()
                if not isinstance(found, tuple):
                    return resolved(found)
                i, column, fields = found
                columns.add((i, column.lower()))
                made = _column_tree(scope.items[i].name, column)
                for name in fields:
                    made = exp.Dot(this=made, expression=exp.to_identifier(name.name, quoted=name.args.get("quoted")))
                if node is tree and not fields:
                    plain = (i, column.lower())
                return made
            if isinstance(node, exp.Collate):
                raise CannotRewriteError("COLLATE")
            if isinstance(node, exp.Window):
                flaws.append("a window")
            elif is_aggregate(node):
                flaws.append("an aggregate")
            elif is_generator(node):
                flaws.append("a generator")
            copy = type(node)()
            copy.meta.update({k: v for k, v in node.meta.items() if k != "words"})
            for key, child in node.args.items():
                if isinstance(child, exp.Expr):
                    copy.set(key, resolved(child))
                elif isinstance(child, list):
                    copy.set(key, [resolved(c) if isinstance(c, exp.Expr) else c for c in child])
                else:
                    copy.set(key, child)
            return copy

        made = resolved(tree)
        return Value(made, frozenset(columns), plain, flaws[0] if flaws else None)

    def record_columns(self, tree: Any, scope: SelectScope) -> None:
        """Record the columns that it reads."""
        if tree is not None:
            self.value(tree, scope)

    def _column(self, node: Any, parts: list[Any], scope: SelectScope) -> Any:
        """(item, column, fields); the expression of an alias; or, as text, what it is instead of a column."""
        resolved = self.names.columns.get(id(node), NOT_FOUND)
        attribute = resolved.attribute
        if attribute is None and resolved.name is not None:
            return "a function"
        if attribute is not None and attribute.item is None and len(parts) == 1:
            for other, item in self.outputs(scope):
                if other is attribute and item is not node and not item.is_star:
                    return item.unalias()
        for seen in outwards(scope):
            place = None if attribute is None else self.place(attribute, seen)
            if attribute is None or place is None:
                continue
            if isinstance(place, int):
                self._record(resolved, parts, seen.items[place])
            if seen is not scope:
                self.reached[id(seen)] += 1
                return _AROUND
            if isinstance(place, str):
                return place
            return place, column_of(seen.items[place], attribute.folded), parts[len(parts) - resolved.fields :]
        ambiguous = ("AmbiguousColumn", offset_of(node))
        if any((finding.code, finding.offset) == ambiguous for finding in self.names.findings):
            raise CannotRewriteError(f"the column {parts[0].name}, of which there are several")
        raise CannotRewriteError(f"the column {'.'.join(part.name for part in parts)}, which is not known")

    def outputs(self, scope: SelectScope) -> list[tuple[Attribute, Any]]:
        """The columns of the result of a SELECT, each with the item of the SELECT list that gives it."""
        result = self.names.results.get(id(scope.select))
        if result is None:
            raise CannotRewriteError(CANNOT_REWRITE)
        return list(zip(result.attributes, result.nodes, strict=True))

    def place(self, attribute: Attribute, scope: SelectScope) -> int | str | None:
        """The item of the scope that has the column; as text, why none has it alone; None where it has no such."""
        if attribute.item is None:
            return "FULL JOIN" if any(item.join is Join.FULL for item in scope.items) else None
        if (source := attribute.item.node) is None:
            return None
        if any(source is lateral for lateral in scope.laterals):
            return _GENERATED
        items = enumerate(scope.items)
        return next((i for i, item in items if item.node is source and column_of(item, attribute.folded)), None)

    def _record(self, resolved: ResolvedColumn, parts: list[Any], item: BlockItem) -> None:
        at = len(parts) - resolved.fields - 1
        if at > 1:
            start = parts[0].meta["start"]
            self.fixes[start] = Edit(start, parts[at - 1].meta["start"], "")
        if isinstance(item.relation, Base) and (used := self.used[item.relation.table]) is not None:
            used.add(column_of(item, parts[at].name.lower()) or "")


def _is_variable(node: Any, name: str) -> bool:
    """Whether it is the variable of a lambda: the parser reads one in another case as a column."""
    function = node.find_ancestor(exp.Lambda, exp.Query)
    while isinstance(function, exp.Lambda):
        if any(variable.name.lower() == name.lower() for variable in function.expressions):
            return True
        function = function.find_ancestor(exp.Lambda, exp.Query)
    return False


def column_of(item: BlockItem, low: str) -> str | None:
    return next((column for column in item.relation.columns if column.lower() == low), None)


def _column_tree(item: str, column: str) -> Any:
    return exp.column(exp.to_identifier(column), table=exp.to_identifier(item))


def value_of_column(item: BlockItem, i: int, column: str) -> Value:
    tree = _column_tree(item.name, column)
    return Value(tree, frozenset({(i, column.lower())}), (i, column.lower()))


def flawed(why: str) -> Value:
    return Value(exp.Null(), frozenset(), None, why)


def links_of(values: Values, scope: SelectScope, condition: Any, place: int | None = None) -> Iterator[JoinLink]:
    """`place`: of the join whose condition it is; None for WHERE."""
    condition = condition.unnest()
    if isinstance(condition, exp.EQ | exp.NullSafeEQ):
        one, other = values.value(condition.this, scope), values.value(condition.expression, scope)
        yield from linked(one, other, isinstance(condition, exp.NullSafeEQ), scope, place)


def linked(
    one: Value, other: Value, null_safe: bool, scope: SelectScope, place: int | None = None
) -> Iterator[JoinLink]:
    """The links that an equation makes."""
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
            yield JoinLink(c, p, child, parent, null_safe)


def correlations(values: Values, select: Any, own: SelectScope, around: SelectScope) -> list[tuple[Value, Value, bool]]:
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
            child, parent = _own_value(values, inside, own), _outer_value(values, outside, around)
            if child is not None and parent is not None and parent.columns:
                pairs.append((child, parent, isinstance(condition, exp.NullSafeEQ)))
                break
    return pairs


def _own_value(values: Values, tree: Any, own: SelectScope) -> Value | None:
    value = values.value(tree, own)
    return value if value.columns and value.flaw is None else None


def _outer_value(values: Values, tree: Any, around: SelectScope) -> Value | None:
    """Where every column is one of the query around it."""
    try:
        return values.value(tree, around)
    except CannotRewriteError:
        return None


def membership(
    values: Values, query: Any, condition: Any, item: BlockItem, around: SelectScope
) -> list[tuple[Value, Value, bool]]:
    """`x IN (SELECT y …)` where NULL is as good as false: as a condition of its own, or beside others by AND and OR."""
    member = query.parent
    if not is_member(query, member) or not _is_as_false(member, condition):
        return []
    sides = member.this.expressions if isinstance(member.this, exp.Tuple) else [member.this]
    columns = item.relation.columns
    if len(sides) != len(columns) or len(set(columns)) < len(columns):
        return []
    place = len(around.items)
    return [
        (value_of_column(item, place, column), values.value(side, around), False)
        for side, column in zip(sides, columns, strict=True)
    ]


def _is_as_false(part: Any, condition: Any) -> bool:
    """Whether NULL for the part means the same to the condition as false."""
    while part is not condition:
        part = part.parent
        if not isinstance(part, exp.And | exp.Or | exp.Paren):
            return False
    return True
