"""Syntax tree → blocks: which column each name means, what is joined by what, and which constructs stand in the way.

A condition links two items only where it must hold for one's rows to count for the other's. On the nullable side of an
outer join that is an equation of plain columns: NULL, which stands for no row, satisfies none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from tidegate.compiler.analysis.functions import is_aggregate, is_generator
from tidegate.compiler.analysis.scoping import column_parts
from tidegate.names import TableName
from tidegate.planner.deltas.blocks import (
    Base,
    Block,
    Item,
    Join,
    Link,
    Output,
    Relation,
    Rows,
    SetOperation,
    Value,
    Window,
)
from tidegate.planner.deltas.refusals import CANNOT_REWRITE, Refused
from tidegate.planner.deltas.script import Edit
from tidegate.planner.deltas.values import InputTable

__all__ = ["Reader"]

_QUERIES = (exp.Query, exp.Exists)
_KNOWN_CLAUSES = frozenset(
    [
        *("expressions", "hint", "distinct", "from_", "joins", "laterals", "where", "group", "having", "windows"),
        *("order", "sort", "distribute", "cluster"),
    ]
)
_WITHOUT_PARENTHESES = frozenset({"current_date", "current_timestamp", "current_user", "session_user", "user"})
_AROUND = "a column of the query around it"
_CLAUSE_NAMES = {"limit": "LIMIT", "offset": "OFFSET", "qualify": "QUALIFY"}


@dataclass(slots=True)
class _Scope:
    """The names in sight in one SELECT. `merged`: columns of USING, and the item whose value they have.

    `joining`: the item whose join condition is being read; it sees a table that nothing behind a semi join does.
    """

    items: list[Item] = field(default_factory=list)
    merged: dict[str, int] = field(default_factory=dict)
    generated: dict[str, list[str]] = field(default_factory=dict)
    aliases: dict[str, Any] = field(default_factory=dict)
    outer: _Scope | None = None
    joining: Item | None = None


class Reader:
    """Reads one query. `used`: the columns of each table that it names, None for all of them.

    `fixes`: names of tables before columns that only hold while the table stands there itself.
    """

    def __init__(self, inputs: Mapping[TableName, InputTable]) -> None:
        self.inputs = inputs
        self.used: dict[TableName, set[str] | None] = {}
        self.fixes: dict[int, Edit] = {}
        self.tables: list[Base] = []
        self._reached: set[int] = set()

    def relation(self, node: Any, outer: _Scope | None = None) -> Relation:
        while isinstance(node, exp.Subquery) and not _modifiers(node):
            node = node.this
        match node:
            case exp.Select():
                return self._select(node, outer)
            case exp.SetOperation():
                return self._set_operation(node, outer)
            case exp.Values():
                return Rows(_columns_of_values(node))
            case exp.Subquery():
                return self._limited(node, outer)
        raise Refused(CANNOT_REWRITE)

    def _limited(self, node: Any, outer: _Scope | None) -> Relation:
        inner = self.relation(node.this, outer)
        name = _CLAUSE_NAMES.get(_modifiers(node)[0], _modifiers(node)[0].upper())
        outputs = tuple(Output(column, _flawed(name)) for column in inner.columns)
        return Block((), (), (), outputs, obstacle=name, changed=inner.changed)

    def _set_operation(self, node: Any, outer: _Scope | None) -> SetOperation:
        left, right = self.relation(node.this, outer), self.relation(node.expression, outer)
        obstacle = None
        if node.args.get("by_name"):
            raise Refused(f"{node.key.upper()} BY NAME")
        for clause in ("limit", "offset"):
            if node.args.get(clause):
                obstacle = _CLAUSE_NAMES[clause]
        if len(left.columns) != len(right.columns):
            raise Refused(CANNOT_REWRITE)
        return SetOperation(
            left,
            right,
            left.columns,
            bool(node.args.get("distinct")),
            not isinstance(node, exp.Union),
            obstacle,
            left.changed or right.changed,
        )

    # A SELECT, clause by clause.

    def _select(self, node: Any, outer: _Scope | None) -> Block:
        scope = _Scope(outer=outer)
        obstacle = _unknown_clause(node)
        links: list[Link] = []
        self._items(node, scope, links)
        for lateral in node.args.get("laterals") or ():
            self._lateral_view(lateral, scope)
        for projection in node.expressions:
            if projection.alias:
                scope.aliases.setdefault(projection.alias.lower(), projection.unalias())
        core = len(scope.items)
        where, subqueries = [], []
        clause = node.args.get("where")
        for condition in _conjuncts(clause.this if clause else None):
            if isinstance(condition, exp.Boolean) and condition.this:
                continue
            value = self.value(condition, scope)
            where.append(value)
            self._link(scope, links, condition, None)
            subqueries += [(query, condition) for query in _subqueries(condition)]
        for part in _parts(node, "having", "qualify", "expressions"):
            subqueries += [(query, None) for query in _subqueries(part)]
        for join in node.args.get("joins") or ():
            subqueries += [(query, None) for query in _subqueries(join.args.get("on"))]
        for query, condition in subqueries:
            self._subquery(query, condition, scope, links)
        outputs = self._outputs(node, scope, core)
        group, grouping = self._group(node, scope, outputs)
        windows = tuple(self._windows(node, scope))
        aggregated = any(_aggregates(part) for part in _parts(node, "expressions", "having"))
        in_the_join = "FULL JOIN" if any(item.join is Join.FULL for item in scope.items) else None
        obstacle = obstacle or grouping or in_the_join
        if aggregated and group is None:
            obstacle = obstacle or "an aggregate without GROUP BY"
        bare = next((window for window in windows if not window.partition), None)
        if bare is not None:
            obstacle = obstacle or f"{bare.text} without PARTITION BY"
        for part in _parts(node, "order", "sort", "distribute", "cluster", "having"):
            self._note(part, scope)
        return Block(
            tuple(scope.items),
            tuple(links),
            tuple(where),
            outputs,
            group,
            windows,
            node.args.get("distinct") is not None,
            bool(node.args.get("laterals")),
            any(_generators(part) for part in node.expressions),
            obstacle,
            in_the_join,
            any(item.changed for item in scope.items),
        )

    def _items(self, node: Any, scope: _Scope, links: list[Link]) -> None:
        clause = node.args.get("from_")
        if clause is None:
            return
        self._item(clause.this, Join.FROM, scope)
        for join in node.args.get("joins") or ():
            kind = _join_kind(join)
            if kind in (Join.RIGHT, Join.FULL):
                scope.items[:] = [_nullable(item) for item in scope.items]
            self._item(join.this, kind, scope)
            place = len(scope.items) - 1
            conditions = list(_conjuncts(join.args.get("on")))
            for column in join.args.get("using") or ():
                conditions.append(self._merged(column.name, kind, scope))
            conditions = [found for found in conditions if not (isinstance(found, exp.Boolean) and found.this)]
            scope.joining = item = scope.items[place]
            on = tuple(self.value(condition, scope) for condition in conditions)
            scope.items[place] = Item(item.name, item.relation, kind, item.nullable, on, item.node)
            for condition in conditions:
                self._link(scope, links, condition, place)
            scope.joining = None

    def _item(self, node: Any, join: Join, scope: _Scope) -> None:
        relation: Relation
        if isinstance(node, exp.Lateral):
            raise Refused("LATERAL")
        if node.args.get("pivots"):
            raise Refused("PIVOT")
        name = node.alias
        names = tuple(column.name for column in _alias_columns(node))
        if isinstance(node, exp.Table):
            if node.args.get("joins"):
                raise Refused("a join in parentheses")
            relation = self._table(node)
            name = name or node.name
        elif isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table):
            raise Refused("a join in parentheses")
        elif isinstance(node, exp.Subquery):
            relation = self.relation(node, None)
        elif isinstance(node, exp.Values):
            relation = Rows(_columns_of_values(node))
        else:
            raise Refused(CANNOT_REWRITE)
        if names and not isinstance(relation, Rows):
            relation = _renamed(relation, names)
        if node.args.get("sample"):
            obstacle = "TABLESAMPLE"
            outputs = tuple(Output(column, _flawed(obstacle)) for column in relation.columns)
            relation = Block((), (), (), outputs, obstacle=obstacle, changed=relation.changed)
        nullable = join in (Join.LEFT, Join.FULL)
        scope.items.append(Item(name or f"__{len(scope.items)}", relation, join, nullable, node=node))

    def _table(self, node: Any) -> Relation:
        if not all(isinstance(part, exp.Identifier) for part in node.parts):
            if isinstance(node.this, exp.Anonymous) and node.this.name.lower() == "range":
                return Rows(("id",))
            raise Refused(f"the table function {node.this.name or node.this.key}")
        names = tuple(part.name for part in node.parts)
        if node.args.get("version") or node.args.get("when"):
            raise Refused("time travel")
        table = TableName(*names) if len(names) == 3 else None
        facts = None if table is None else self.inputs.get(table)
        if table is None or facts is None:
            raise Refused(f"{'.'.join(names)}, of which changes are not known")
        self.used.setdefault(table, set())
        base = Base(table, facts, node)
        self.tables.append(base)
        return base

    def _merged(self, name: str, kind: Join, scope: _Scope) -> Any:
        """USING (name), as the condition that it is."""
        low, last = name.lower(), len(scope.items) - 1
        left = scope.merged.get(low)
        if left is None:
            having = [i for i, item in enumerate(scope.items[:last]) if _column(item, low) and _joins_columns(item)]
            if len(having) != 1:
                raise Refused(f"USING ({name})")
            left = having[0]
        if kind not in (Join.SEMI, Join.ANTI):
            scope.merged[low] = last if kind is Join.RIGHT else left
        sides = (
            exp.column(exp.to_identifier(name, quoted=True), table=exp.to_identifier(scope.items[i].name, quoted=True))
            for i in (left, last)
        )
        return exp.EQ(this=next(sides), expression=next(sides))

    def _lateral_view(self, lateral: Any, scope: _Scope) -> None:
        if not lateral.args.get("view"):
            raise Refused("LATERAL")
        columns = [column.name.lower() for column in _alias_columns(lateral)]
        if not columns:
            raise Refused("LATERAL VIEW without names for its columns")
        self._note(lateral.this, scope)
        scope.generated[lateral.alias.lower() or f"__{len(scope.generated)}"] = columns

    def _outputs(self, node: Any, scope: _Scope, core: int) -> tuple[Output, ...]:
        outputs: list[Output] = []
        for place, projection in enumerate(node.expressions):
            star = projection.this if isinstance(projection, exp.Column) else projection
            if isinstance(star, exp.Star):
                outputs += self._star(star, projection, scope, core)
                continue
            made = projection.unalias()
            if isinstance(projection, exp.Aliases) or (is_generator(made) and not projection.alias):
                raise Refused("a generator with several columns in SELECT")
            name = projection.alias or _name_of(projection) or f"__{place}"
            outputs.append(Output(name, self.value(made, scope)))
        return tuple(outputs)

    def _star(self, star: Any, projection: Any, scope: _Scope, core: int) -> Iterator[Output]:
        if star.args.get("replace") or star.args.get("rename"):
            raise Refused("a star with REPLACE")
        left_out = {column.name.lower() for column in star.args.get("except_") or ()}
        wanted = projection.table.lower() if isinstance(projection, exp.Column) else None
        if isinstance(projection, exp.Column) and len(projection.parts) > 2:
            raise Refused(CANNOT_REWRITE)
        items = [i for i in range(core) if _joins_columns(scope.items[i])]
        if wanted is not None:
            items = [i for i in items if scope.items[i].name.lower() == wanted]
            if not items:
                raise Refused(f"{wanted}.*")
        first = [] if wanted is not None else list(scope.merged.items())
        for low, i in first:
            if low not in left_out:
                yield self._starred(i, low, scope)
        for i in items:
            item = scope.items[i]
            if isinstance(item.relation, Base):
                self.used[item.relation.table] = None
            for column in item.relation.columns:
                if column.lower() not in left_out and not (wanted is None and column.lower() in scope.merged):
                    yield self._starred(i, column.lower(), scope)
        if wanted is None:
            for columns in scope.generated.values():
                yield from (Output(column, _flawed("a column of LATERAL VIEW")) for column in columns)

    def _starred(self, i: int, low: str, scope: _Scope) -> Output:
        column = _column(scope.items[i], low) or low
        return Output(column, _value_of_column(scope.items[i], i, column))

    def _group(self, node: Any, scope: _Scope, outputs: tuple[Output, ...]) -> tuple[frozenset[str] | None, str | None]:
        group = node.args.get("group")
        if group is None:
            return None, None
        for clause, name in (("rollup", "ROLLUP"), ("cube", "CUBE"), ("grouping_sets", "GROUPING SETS")):
            if group.args.get(clause):
                return frozenset(), name
        keys: set[str] = set()
        if group.args.get("all"):
            for projection, output in zip(node.expressions, outputs, strict=False):
                if not _aggregates(projection):
                    keys.add(output.value.key)
            if len(node.expressions) != len(outputs):
                return frozenset(), "GROUP BY ALL with a star"
        for expression in group.expressions:
            if isinstance(expression, exp.Rollup | exp.Cube | exp.GroupingSets):
                return frozenset(), "GROUPING SETS" if isinstance(
                    expression, exp.GroupingSets
                ) else expression.key.upper()
            if isinstance(expression, exp.Literal) and not expression.is_string:
                place = int(expression.name) - 1
                if len(node.expressions) != len(outputs) or not 0 <= place < len(outputs):
                    return frozenset(), "GROUP BY a position"
                keys.add(outputs[place].value.key)
            else:
                keys.add(self.value(expression, scope).key)
        return frozenset(keys), None

    def _windows(self, node: Any, scope: _Scope) -> Iterator[Window]:
        named = {window.name.lower(): window for window in node.args.get("windows") or ()}
        for part in _parts(node, "expressions", "qualify", "order"):
            for window in _own(part, exp.Window):
                self._note(window, scope)
                definition = window
                while not definition.args.get("partition_by") and definition.alias.lower() in named:
                    definition = named[definition.alias.lower()]
                keys = {self.value(expression, scope).key for expression in definition.args.get("partition_by") or ()}
                yield Window(str(window.this.sql("spark")).lower(), frozenset(keys))

    # Expressions.

    def value(self, tree: Any, scope: _Scope) -> Value:
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

    def _note(self, tree: Any, scope: _Scope) -> None:
        """Only which columns it reads."""
        if tree is not None:
            self.value(tree, scope)

    def _column(self, parts: list[Any], scope: _Scope) -> Any:
        """(item, column, fields); the expression that it stands for; or, as text, what it is instead."""
        found = self._in_scope(parts, scope)
        if found is not None:
            return found
        names = [part.name.lower() for part in parts]
        if len(parts) == 1 and names[0] in scope.aliases:
            return scope.aliases[names[0]]
        around = scope.outer
        while around is not None:
            if self._in_scope(parts, around) is not None:
                self._reached.add(id(around))
                return _AROUND
            around = around.outer
        if len(parts) == 1 and names[0] in (
            "current_date",
            "current_timestamp",
            "current_user",
            "session_user",
            "user",
        ):
            return "a function"
        raise Refused(f"the column {'.'.join(part.name for part in parts)}, which is not known")

    def _in_scope(self, parts: list[Any], scope: _Scope) -> Any:
        names = [part.name.lower() for part in parts]
        for used, i in self._qualified(names, scope):
            item = scope.items[i]
            column = _column(item, names[used]) if used < len(names) else None
            if column is not None:
                if used > 1:
                    start = parts[0].meta["start"]
                    self.fixes[start] = Edit(start, parts[used - 1].meta["start"], "")
                return self._used(scope, i, column, parts[used + 1 :])
        if len(names) > 1 and names[1] in scope.generated.get(names[0], ()):
            return "a column of LATERAL VIEW"
        if names[0] in scope.merged:
            i = scope.merged[names[0]]
            return self._used(scope, i, _column(scope.items[i], names[0]) or names[0], parts[1:])
        having = [i for i, item in enumerate(scope.items) if _joins_columns(item) and _column(item, names[0])]
        generated = [names[0] in columns for columns in scope.generated.values()]
        if not having and scope.joining is not None and _column(scope.joining, names[0]):
            having = [len(scope.items) - 1]
        if len(having) + sum(generated) > 1:
            raise Refused(f"the column {parts[0].name}, of which there are several")
        if any(generated):
            return "a column of LATERAL VIEW"
        if having:
            return self._used(scope, having[0], _column(scope.items[having[0]], names[0]) or "", parts[1:])
        return None

    def _qualified(self, names: list[str], scope: _Scope) -> Iterable[tuple[int, int]]:
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

    def _used(self, scope: _Scope, i: int, column: str, fields: list[Any]) -> tuple[int, str, list[Any]]:
        relation = scope.items[i].relation
        if isinstance(relation, Base):
            known = self.used[relation.table]
            if known is not None:
                known.add(column)
        return i, column, fields

    # What links items.

    def _link(self, scope: _Scope, links: list[Link], condition: Any, place: int | None) -> None:
        """`place`: of the join whose condition it is; None for WHERE."""
        condition = condition.unnest()
        if not isinstance(condition, exp.EQ | exp.NullSafeEQ):
            return
        null_safe = isinstance(condition, exp.NullSafeEQ)
        one, other = self.value(condition.this, scope), self.value(condition.expression, scope)
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
                links.append(Link(c, p, child, parent, null_safe))

    def _subquery(self, query: Any, condition: Any, scope: _Scope, links: list[Link]) -> None:
        """A subquery of an expression: what it is for a row depends on the rows that its equations find."""
        place = len(scope.items)
        around = _Scope(scope.items[:place], scope.merged, scope.generated, {}, scope.outer)
        inner = query
        while isinstance(inner, exp.Subquery) and not _modifiers(inner):
            inner = inner.this
        name = f"__s{place}"
        pairs: list[tuple[Value, Value, bool]] = []
        relation: Relation
        if isinstance(inner, exp.Select):
            relation = self._select(inner, around)
            pairs = self._correlations(inner, relation, around)
        else:
            relation = self.relation(inner, None)
        by_links = bool(pairs)
        if not pairs and condition is not None:
            pairs = self._membership(query, condition, Item(name, relation, Join.SUBQUERY, False), around)
        told = _told(query)
        scope.items.append(Item(name, relation, Join.SUBQUERY, False, links_only=by_links, told=told))
        for child, parent, null_safe in pairs:
            if len(parent.items) == 1 and parent.flaw is None:
                (p,) = parent.items
                if scope.items[p].nullable and (parent.plain is None or null_safe):
                    continue
                links.append(Link(place, p, child, parent, null_safe))

    def _correlations(self, select: Any, block: Block, around: _Scope) -> list[tuple[Value, Value, bool]]:
        own = _Scope(list(block.items), outer=around)
        pairs = []
        clause = select.args.get("where")
        for condition in _conjuncts(clause.this if clause else None):
            if not isinstance(condition, exp.EQ | exp.NullSafeEQ):
                continue
            for inside, outside in (
                (condition.this, condition.expression),
                (condition.expression, condition.this),
            ):
                child, parent = self._own_value(inside, own), self._outer_value(outside, own, around)
                if child is not None and parent is not None and parent.columns:
                    pairs.append((child, parent, isinstance(condition, exp.NullSafeEQ)))
                    break
        return pairs

    def _own_value(self, tree: Any, own: _Scope) -> Value | None:
        value = self.value(tree, own)
        return value if value.columns and value.flaw is None else None

    def _outer_value(self, tree: Any, own: _Scope, around: _Scope) -> Value | None:
        """Where every column is one of the query around it."""
        for column in _own(tree, exp.Column):
            if self._in_scope(column_parts(column), own) is not None:
                return None
        try:
            return self.value(tree, around)
        except Refused:
            return None

    def _membership(self, query: Any, condition: Any, item: Item, around: _Scope) -> list[tuple[Value, Value, bool]]:
        """`x IN (SELECT y …)` as a condition of its own; inside others NULL counts."""
        if not isinstance(condition, exp.In) or condition.args.get("query") is not query:
            return []
        scope: _Scope | None = around
        while scope is not None:
            if id(scope) in self._reached:
                return []
            scope = scope.outer
        sides = condition.this.expressions if isinstance(condition.this, exp.Tuple) else [condition.this]
        columns = item.relation.columns
        if len(sides) != len(columns) or len(set(columns)) < len(columns):
            return []
        place = len(around.items)
        return [
            (_value_of_column(item, place, column), self.value(side, around), False)
            for side, column in zip(sides, columns, strict=True)
        ]


def _told(query: Any) -> str:
    """A subquery of an expression, as a person calls it."""
    around = query.parent
    if isinstance(around, exp.In):
        return "NOT IN (SELECT …)" if isinstance(around.parent, exp.Not) else "IN (SELECT …) inside another condition"
    return "a subquery without an equation to the query around it"


def _nullable(item: Item) -> Item:
    return Item(item.name, item.relation, item.join, True, item.on, item.node)


def _joins_columns(item: Item) -> bool:
    """Whether its columns are columns of the joined rows."""
    return item.join not in (Join.SEMI, Join.ANTI, Join.SUBQUERY)


def _column(item: Item, low: str) -> str | None:
    return next((column for column in item.relation.columns if column.lower() == low), None)


def _column_tree(item: str, column: str) -> Any:
    return exp.column(exp.to_identifier(column), table=exp.to_identifier(item))


def _value_of_column(item: Item, i: int, column: str) -> Value:
    tree = _column_tree(item.name, column)
    return Value(tree, frozenset({(i, column.lower())}), (i, column.lower()))


def _flawed(why: str) -> Value:
    return Value(exp.Null(), frozenset(), None, why)


def _renamed(relation: Relation, names: tuple[str, ...]) -> Relation:
    if isinstance(relation, Block) and len(names) == len(relation.outputs):
        outputs = tuple(Output(name, output.value) for name, output in zip(names, relation.outputs, strict=True))
        return Block(
            relation.items,
            relation.links,
            relation.where,
            outputs,
            relation.group,
            relation.windows,
            relation.distinct,
            relation.laterals,
            relation.generates,
            relation.obstacle,
            relation.core_obstacle,
            relation.changed,
        )
    if isinstance(relation, SetOperation) and len(names) == len(relation.columns):
        return SetOperation(
            relation.left,
            relation.right,
            names,
            relation.distinct,
            relation.keeps_left,
            relation.obstacle,
            relation.changed,
        )
    raise Refused("new names for the columns of a table")


def _columns_of_values(node: Any) -> tuple[str, ...]:
    names = tuple(column.name for column in _alias_columns(node))
    first = node.expressions[0]
    width = len(first.expressions) if isinstance(first, exp.Tuple) else 1
    return names or tuple(f"col{n}" for n in range(1, width + 1))


def _alias_columns(node: Any) -> list[Any]:
    alias = node.args.get("alias")
    return list(alias.args.get("columns") or ()) if isinstance(alias, exp.TableAlias) else []


def _name_of(projection: Any) -> str:
    parts = column_parts(projection)
    return str(parts[-1].name) if parts else ""


def _modifiers(subquery: Any) -> list[str]:
    known = ("this", "alias", "order", "sort", "distribute", "cluster")
    return [key for key, value in subquery.args.items() if value and key not in known]


def _unknown_clause(node: Any) -> str | None:
    for key, value in node.args.items():
        if value and key not in _KNOWN_CLAUSES:
            return _CLAUSE_NAMES.get(key, str(key).strip("_").upper())
    return None


def _join_kind(join: Any) -> Join:
    method, side, kind = (str(join.args.get(key) or "").upper() for key in ("method", "side", "kind"))
    if method:
        raise Refused(f"{method} JOIN")
    if kind in ("SEMI", "ANTI"):
        return Join.SEMI if kind == "SEMI" else Join.ANTI
    if side:
        return {"LEFT": Join.LEFT, "RIGHT": Join.RIGHT, "FULL": Join.FULL}[side]
    if kind in ("", "INNER", "CROSS"):
        return Join.INNER
    raise Refused(f"{kind} JOIN")


def _conjuncts(tree: Any) -> Iterator[Any]:
    if tree is None:
        return
    tree = tree.unnest()
    if isinstance(tree, exp.And):
        yield from _conjuncts(tree.this)
        yield from _conjuncts(tree.expression)
    else:
        yield tree


def _parts(node: Any, *clauses: str) -> Iterator[Any]:
    for clause in clauses:
        found = node.args.get(clause)
        if isinstance(found, list):
            yield from found
        elif found is not None:
            yield found


def _own(tree: Any, kind: Any) -> Iterator[Any]:
    """Nodes of a kind, without those of queries inside."""
    if tree is None:
        return
    for node in tree.walk(prune=lambda node: isinstance(node, exp.Query)):
        if isinstance(node, kind):
            yield node


def _subqueries(tree: Any) -> Iterator[Any]:
    """The outermost queries of an expression."""
    if tree is None:
        return
    for node in tree.walk(prune=lambda node: isinstance(node, exp.Query)):
        if isinstance(node, exp.Query):
            yield node


def _aggregates(tree: Any) -> bool:
    """Outside of windows, of which it may be an argument."""
    if isinstance(tree, exp.Query):
        return False
    if isinstance(tree, exp.Window):
        inner = tree.this
        return any(_aggregates(child) for child in inner.iter_expressions()) or any(
            _aggregates(child) for key, child in tree.args.items() if key != "this" and isinstance(child, exp.Expr)
        )
    if is_aggregate(tree):
        return True
    return any(_aggregates(child) for child in tree.iter_expressions())


def _generators(tree: Any) -> bool:
    return any(is_generator(node) for node in _own(tree, exp.Expr))
