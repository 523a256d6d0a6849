"""What names mean: the relations visible in a SELECT, their columns, expressions over them, and the equations that
link relations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from tidegate.compiler.analysis.functions.lookup import is_aggregate, is_generator
from tidegate.compiler.analysis.scoping import column_parts
from tidegate.compiler.sql.function_calls import own_nodes
from tidegate.compiler.sql.sql_text import CannotRewriteError, Edit
from tidegate.names import TableName
from tidegate.planner.deltas.blocks import Base, BlockItem, Join, JoinLink, Value
from tidegate.planner.deltas.syntax import conjuncts, is_member

__all__ = [
    "NameResolver",
    "SelectScope",
    "column_of",
    "correlations",
    "flawed",
    "links_of",
    "membership",
    "outwards",
    "star_order",
    "value_of_column",
]

_QUERIES = (exp.Query, exp.Exists)
_WITHOUT_PARENTHESES = frozenset({"current_date", "current_timestamp", "current_user", "session_user", "user"})
_AROUND = "a column of the query around it"


@dataclass(slots=True)
class SelectScope:
    """The names visible in one SELECT."""

    items: list[BlockItem] = field(default_factory=list)
    merged: dict[str, int] = field(default_factory=dict)
    """Columns of USING, with the item whose value they have."""
    generated: dict[str, list[str]] = field(default_factory=dict)
    """Columns of each LATERAL VIEW."""
    aliases: dict[str, Any] = field(default_factory=dict)
    """Names that the SELECT list gives, with their expressions."""
    outer: SelectScope | None = None
    scattered: bool = False
    """Not all its joins have the same USING, so the order of the columns of a star is not simple."""
    joining: BlockItem | None = None
    """The item whose join condition is being read: only that condition sees the right side of a semi join."""


def outwards(scope: SelectScope | None) -> Iterator[SelectScope]:
    while scope is not None:
        yield scope
        scope = scope.outer


class NameResolver:
    """Resolves the columns of one query."""

    def __init__(self) -> None:
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
                found = self._column(parts, scope)
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

    def _column(self, parts: list[Any], scope: SelectScope) -> Any:
        """(item, column, fields); the expression of an alias; or, as text, what it is instead of a column."""
        found = self.in_scope(parts, scope)
        if found is not None:
            return found
        names = [part.name.lower() for part in parts]
        if len(parts) == 1 and names[0] in scope.aliases:
            return scope.aliases[names[0]]
        for around in outwards(scope.outer):
            if self.in_scope(parts, around) is not None:
                self.reached[id(around)] += 1
                return _AROUND
        if len(parts) == 1 and names[0] in _WITHOUT_PARENTHESES:
            return "a function"
        raise CannotRewriteError(f"the column {'.'.join(part.name for part in parts)}, which is not known")

    def in_scope(self, parts: list[Any], scope: SelectScope) -> Any:
        names = [part.name.lower() for part in parts]
        for used, i in self._qualified(names, scope):
            item = scope.items[i]
            column = column_of(item, names[used]) if used < len(names) else None
            if column is not None:
                if used > 1:
                    start = parts[0].meta["start"]
                    self.fixes[start] = Edit(start, parts[used - 1].meta["start"], "")
                return self._used(scope, i, column, parts[used + 1 :])
        if len(names) > 1 and names[1] in scope.generated.get(names[0], ()):
            return "a column of LATERAL VIEW"
        if names[0] in scope.merged:
            i = scope.merged[names[0]]
            return self._used(scope, i, column_of(scope.items[i], names[0]) or names[0], parts[1:])
        having = [i for i, item in enumerate(scope.items) if item.is_joined and column_of(item, names[0])]
        generated = [names[0] in columns for columns in scope.generated.values()]
        if not having and scope.joining is not None and column_of(scope.joining, names[0]):
            having = [len(scope.items) - 1]
        if len(having) + sum(generated) > 1:
            raise CannotRewriteError(f"the column {parts[0].name}, of which there are several")
        if any(generated):
            return "a column of LATERAL VIEW"
        if having:
            return self._used(scope, having[0], column_of(scope.items[having[0]], names[0]) or "", parts[1:])
        return None

    def _qualified(self, names: list[str], scope: SelectScope) -> Iterable[tuple[int, int]]:
        for i, item in enumerate(scope.items):
            if item.node is None:
                continue
            if names[0] == item.name.lower():
                yield 1, i
            base = item.relation
            if isinstance(base, Base) and not base.node.alias:
                whole = [part.lower() for part in base.table]
                for length in (3, 2):
                    if names[:length] == whole[-length:]:
                        yield length, i

    def _used(self, scope: SelectScope, i: int, column: str, fields: list[Any]) -> tuple[int, str, list[Any]]:
        relation = scope.items[i].relation
        if isinstance(relation, Base):
            known = self.used[relation.table]
            if known is not None:
                known.add(column)
        return i, column, fields


def star_order(scope: SelectScope, items: list[int], every: bool) -> Iterator[tuple[int, str]]:
    """Columns of USING come first. `every`: they come once, else for each item as its own."""
    for low, owner in scope.merged.items():
        yield from ((i, low) for i in items if (i == owner if every else column_of(scope.items[i], low)))
    for i in items:
        names = (column.lower() for column in scope.items[i].relation.columns)
        yield from ((i, low) for low in names if low not in scope.merged)


def column_of(item: BlockItem, low: str) -> str | None:
    return next((column for column in item.relation.columns if column.lower() == low), None)


def _column_tree(item: str, column: str) -> Any:
    return exp.column(exp.to_identifier(column), table=exp.to_identifier(item))


def value_of_column(item: BlockItem, i: int, column: str) -> Value:
    tree = _column_tree(item.name, column)
    return Value(tree, frozenset({(i, column.lower())}), (i, column.lower()))


def flawed(why: str) -> Value:
    return Value(exp.Null(), frozenset(), None, why)


def links_of(names: NameResolver, scope: SelectScope, condition: Any, place: int | None = None) -> Iterator[JoinLink]:
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
            yield JoinLink(c, p, child, parent, null_safe)


def correlations(
    names: NameResolver, select: Any, own: SelectScope, around: SelectScope
) -> list[tuple[Value, Value, bool]]:
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


def _own_value(names: NameResolver, tree: Any, own: SelectScope) -> Value | None:
    value = names.value(tree, own)
    return value if value.columns and value.flaw is None else None


def _outer_value(names: NameResolver, tree: Any, own: SelectScope, around: SelectScope) -> Value | None:
    """Where every column is one of the query around it."""
    for column in own_nodes(tree, exp.Column):
        if names.in_scope(column_parts(column), own) is not None:
            return None
    try:
        return names.value(tree, around)
    except CannotRewriteError:
        return None


def membership(
    names: NameResolver, query: Any, condition: Any, item: BlockItem, around: SelectScope
) -> list[tuple[Value, Value, bool]]:
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
