"""Syntax tree → blocks: a SELECT clause by clause, and the constructs that prevent a delta."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from sqlglot import exp

from tidegate.compiler.analysis.analyze import resolve_names
from tidegate.compiler.analysis.functions.lookup import is_generator
from tidegate.compiler.analysis.scoping import NOT_FOUND, QuerySource
from tidegate.compiler.sql.function_calls import aggregates, generates, own_nodes
from tidegate.compiler.sql.scopes import alias_columns
from tidegate.compiler.sql.sql_text import CANNOT_REWRITE, CannotRewriteError
from tidegate.datatypes import ANY, Column, DataType
from tidegate.datatypes import Relation as Columns
from tidegate.lake.iceberg_types import spark_type
from tidegate.names import TableName
from tidegate.planner.deltas.blocks import (
    WITHOUT_GROUPS,
    Base,
    Block,
    BlockItem,
    Join,
    JoinLink,
    LiteralRows,
    OutputColumn,
    Relation,
    SetOperation,
    Value,
    Window,
)
from tidegate.planner.deltas.delta_query import InputTable
from tidegate.planner.deltas.exact_values import may_be_constant
from tidegate.planner.deltas.name_scopes import (
    SelectScope,
    Values,
    column_of,
    correlations,
    flawed,
    linked,
    links_of,
    membership,
    outwards,
    value_of_column,
)
from tidegate.planner.deltas.syntax import (
    CLAUSE_NAMES,
    ORDERS,
    columns_of_values,
    conjuncts,
    join_kind,
    modifiers,
    name_of,
    parts_of,
    subqueries_of,
    subquery_description,
    unknown_clause,
)

__all__ = ["BlockReader"]


class BlockReader:
    """Reads one query. `tables`: each of its reads of a table."""

    def __init__(self, tree: Any, inputs: Mapping[TableName, InputTable]) -> None:
        self.inputs = inputs
        self.values = Values(resolve_names(tree, dict(_sources(tree, inputs))))
        self.tables: list[Base] = []

    def relation(self, node: Any, outer: SelectScope | None = None) -> Relation:
        while isinstance(node, exp.Subquery) and not modifiers(node):
            node = node.this
        match node:
            case exp.Select():
                return self._select(node, outer)[0]
            case exp.SetOperation():
                return self._set_operation(node, outer)
            case exp.Values():
                return LiteralRows(columns_of_values(node))
            case exp.Subquery():
                return self._limited(node, outer)
        raise CannotRewriteError(CANNOT_REWRITE)

    def _limited(self, node: Any, outer: SelectScope | None) -> Relation:
        inner = self.relation(node.this, outer)
        name = CLAUSE_NAMES.get(modifiers(node)[0], modifiers(node)[0].upper())
        outputs = tuple(OutputColumn(column, flawed(name)) for column in inner.columns)
        return Block((), (), (), outputs, obstacle=name, changed=inner.changed)

    def _set_operation(self, node: Any, outer: SelectScope | None) -> SetOperation:
        left, right = self.relation(node.this, outer), self.relation(node.expression, outer)
        obstacle = None
        if node.args.get("by_name"):
            raise CannotRewriteError(f"{node.key.upper()} BY NAME")
        for clause in ("limit", "offset"):
            if node.args.get(clause):
                obstacle = CLAUSE_NAMES[clause]
        if len(left.columns) != len(right.columns):
            raise CannotRewriteError(CANNOT_REWRITE)
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

    def _select(self, node: Any, outer: SelectScope | None) -> tuple[Block, SelectScope]:
        scope = SelectScope(node, outer=outer)
        obstacle = unknown_clause(node)
        links: list[JoinLink] = []
        self._items(node, scope, links)
        for lateral in node.args.get("laterals") or ():
            self._lateral_view(lateral, scope)
        where, subqueries = [], []
        clause = node.args.get("where")
        for condition in conjuncts(clause.this if clause else None):
            if isinstance(condition, exp.Boolean) and condition.this:
                continue
            value = self.values.value(condition, scope)
            where.append(value)
            links += links_of(self.values, scope, condition)
            subqueries += [(query, condition) for query in subqueries_of(condition)]
        for part in parts_of(node, "laterals", "expressions", "group", "having", "qualify", "windows", *ORDERS):
            subqueries += [(query, None) for query in subqueries_of(part)]
        for join in node.args.get("joins") or ():
            subqueries += [(query, None) for query in subqueries_of(join.args.get("on"))]
        for query, condition in subqueries:
            self._subquery(query, condition, scope, links)
        outputs = self._outputs(node, scope)
        group, grouping = self._group(node, scope, outputs)
        windows = tuple(self._windows(node, scope))
        aggregated = any(aggregates(part) for part in parts_of(node, "expressions", "having"))
        in_the_join = "FULL JOIN" if any(item.join is Join.FULL for item in scope.items) else None
        obstacle = obstacle or grouping or in_the_join
        if aggregated and group is None:
            obstacle = obstacle or WITHOUT_GROUPS
        bare = next((window for window in windows if not window.partition), None)
        if bare is not None:
            obstacle = obstacle or f"{bare.text} without PARTITION BY"
        for part in parts_of(node, "having", *ORDERS):
            self.values.record_columns(part, scope)
        block = Block(
            tuple(scope.items),
            tuple(links),
            tuple(where),
            outputs,
            group,
            windows,
            node.args.get("distinct") is not None,
            bool(node.args.get("laterals")),
            any(generates(part) for part in node.expressions),
            obstacle,
            in_the_join,
            any(item.changed for item in scope.items),
            tuple(scope.group_values),
        )
        return block, scope

    def _items(self, node: Any, scope: SelectScope, links: list[JoinLink]) -> None:
        clause = node.args.get("from_")
        if clause is None:
            return
        self._item(clause.this, Join.FROM, scope)
        merged: list[str] = []
        for join in node.args.get("joins") or ():
            kind = join_kind(join)
            if kind in (Join.RIGHT, Join.FULL):
                scope.items[:] = [replace(item, nullable=True) for item in scope.items]
            self._item(join.this, kind, scope)
            place = len(scope.items) - 1
            conditions = list(conjuncts(join.args.get("on")))
            conditions = [c for c in conditions if not (isinstance(c, exp.Boolean) and c.this)]
            on = [self.values.value(condition, scope) for condition in conditions]
            for condition in conditions:
                links += links_of(self.values, scope, condition, place)
            using = [name.name.lower() for name in join.args.get("using") or ()]
            if merged and using != merged:
                scope.scattered = scope.scattered or bool(using) or scope.items[place].is_joined
            for name in join.args.get("using") or ():
                one, other = self._merged(name, scope, merged)
                equation = exp.EQ(this=one.tree, expression=other.tree)
                on.append(Value(equation, one.columns | other.columns, None, one.flaw))
                links += linked(one, other, False, scope, place)
            merged += [name for name in using if name not in merged]
            scope.items[place] = replace(scope.items[place], on=tuple(on))

    def _item(self, node: Any, join: Join, scope: SelectScope) -> None:
        relation: Relation
        if isinstance(node, exp.Lateral):
            raise CannotRewriteError("LATERAL")
        if node.args.get("pivots"):
            raise CannotRewriteError("PIVOT")
        name = node.alias
        names = tuple(column.name for column in alias_columns(node))
        if isinstance(node, exp.Table):
            if node.args.get("joins"):
                raise CannotRewriteError("a join in parentheses")
            relation = self._table(node)
            name = name or node.name
        elif isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table):
            raise CannotRewriteError("a join in parentheses")
        elif isinstance(node, exp.Subquery):
            relation = self.relation(node, None)
        elif isinstance(node, exp.Values):
            relation = LiteralRows(columns_of_values(node))
        else:
            raise CannotRewriteError(CANNOT_REWRITE)
        if names and not isinstance(relation, LiteralRows):
            relation = _renamed(relation, names)
        if node.args.get("sample"):
            obstacle = "TABLESAMPLE"
            outputs = tuple(OutputColumn(column, flawed(obstacle)) for column in relation.columns)
            relation = Block((), (), (), outputs, obstacle=obstacle, changed=relation.changed)
        nullable = join in (Join.LEFT, Join.FULL)
        name = name or f"__{len(scope.items)}"
        if any(item.name.lower() == name.lower() for item in scope.items):
            raise CannotRewriteError(f"two relations called {name}")
        scalar = isinstance(relation, Block) and relation.obstacle == WITHOUT_GROUPS
        constant = node if scalar and may_be_constant(node, self.values.names) else None
        scope.items.append(BlockItem(name, relation, join, nullable, node=node, constant=constant))

    def _table(self, node: Any) -> Relation:
        if not all(isinstance(part, exp.Identifier) for part in node.parts):
            if isinstance(node.this, exp.Anonymous) and node.this.name.lower() == "range":
                return LiteralRows(("id",))
            raise CannotRewriteError(f"the table function {node.this.name or node.this.key}")
        names = tuple(part.name for part in node.parts)
        if node.args.get("version") or node.args.get("when"):
            raise CannotRewriteError("time travel")
        table = TableName(*names) if len(names) == 3 else None
        facts = None if table is None else self.inputs.get(table)
        if table is None or facts is None:
            raise CannotRewriteError(f"{'.'.join(names)}, of which changes are not known")
        self.values.used.setdefault(table, set())
        base = Base(table, facts, node)
        self.tables.append(base)
        return base

    def _merged(self, name: Any, scope: SelectScope, merged: list[str]) -> tuple[Value, Value]:
        """The columns that USING (name) compares."""
        before = scope.items[:-1]
        low = name.name.lower()
        left = self.values.names.columns.get(id(name), NOT_FOUND).attribute
        place = None if left is None else self.values.place(left, scope)
        several = sum(item.is_joined and column_of(item, low) is not None for item in before) > 1
        missing = column_of(scope.items[-1], low) is None
        if place is None or missing or (several and low not in merged):
            raise CannotRewriteError(f"USING ({name.name})")
        one = flawed(place) if isinstance(place, str) else self._starred(place, low, scope).value
        return one, self._starred(len(before), low, scope).value

    def _lateral_view(self, lateral: Any, scope: SelectScope) -> None:
        if not lateral.args.get("view"):
            raise CannotRewriteError("LATERAL")
        if not alias_columns(lateral):
            raise CannotRewriteError("LATERAL VIEW without names for its columns")
        self.values.record_columns(lateral.this, scope)
        scope.laterals.append(lateral)

    def _outputs(self, node: Any, scope: SelectScope) -> tuple[OutputColumn, ...]:
        outputs: list[OutputColumn] = []
        types = {id(item): attribute.type for attribute, item in self.values.outputs(scope)}
        for place, projection in enumerate(node.expressions):
            star = projection.this if isinstance(projection, exp.Column) else projection
            if isinstance(star, exp.Star):
                outputs += self._star(star, projection, scope)
                continue
            made = projection.unalias()
            if isinstance(projection, exp.Aliases) or (is_generator(made) and not projection.alias):
                raise CannotRewriteError("a generator with several columns in SELECT")
            name = projection.alias or name_of(projection) or f"__{place}"
            outputs.append(OutputColumn(name, self.values.value(made, scope), types.get(id(projection), ANY)))
        return tuple(outputs)

    def _star(self, star: Any, projection: Any, scope: SelectScope) -> Iterator[OutputColumn]:
        if star.args.get("replace") or star.args.get("rename"):
            raise CannotRewriteError("a star with REPLACE")
        wanted = projection.table.lower() if isinstance(projection, exp.Column) else None
        if isinstance(projection, exp.Column) and len(projection.parts) > 2:
            raise CannotRewriteError(CANNOT_REWRITE)
        items = [item for item in scope.items if item.is_joined and wanted in (None, item.name.lower())]
        if not items:
            raise CannotRewriteError("a star" if wanted is None else f"{wanted}.*")
        if scope.scattered:
            raise CannotRewriteError("a star over joins of which not all have the same USING")
        for item in items:
            if isinstance(item.relation, Base):
                self.values.used[item.relation.table] = None
        for attribute, node in self.values.outputs(scope):
            if node is projection:
                place = self.values.place(attribute, scope)
                if isinstance(place, int):
                    yield replace(self._starred(place, attribute.folded, scope), type=attribute.type)
                else:
                    yield OutputColumn(attribute.name or "__", flawed(place or "a column without a name"))

    def _starred(self, i: int, low: str, scope: SelectScope) -> OutputColumn:
        column = column_of(scope.items[i], low) or low
        return OutputColumn(column, value_of_column(scope.items[i], i, column))

    def _group(
        self, node: Any, scope: SelectScope, outputs: tuple[OutputColumn, ...]
    ) -> tuple[frozenset[str] | None, str | None]:
        group = node.args.get("group")
        if group is None:
            return None, None
        for clause, name in (("rollup", "ROLLUP"), ("cube", "CUBE"), ("grouping_sets", "GROUPING SETS")):
            if group.args.get(clause):
                return frozenset(), name
        keys: set[str] = set()
        if group.args.get("all"):
            for projection, output in zip(node.expressions, outputs, strict=False):
                if not aggregates(projection):
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
                value = self.values.value(expression, scope)
                keys.add(value.key)
                scope.group_values.append(value)
        return frozenset(keys), None

    def _windows(self, node: Any, scope: SelectScope) -> Iterator[Window]:
        named = {window.name.lower(): window for window in node.args.get("windows") or ()}
        for part in parts_of(node, "expressions", "qualify", "order"):
            for window in own_nodes(part, exp.Window):
                self.values.record_columns(window, scope)
                definition = window
                while not definition.args.get("partition_by") and definition.alias.lower() in named:
                    definition = named[definition.alias.lower()]
                keys = {
                    self.values.value(expression, scope).key for expression in definition.args.get("partition_by") or ()
                }
                yield Window(str(window.this.sql("spark")).lower(), frozenset(keys))

    def _subquery(self, query: Any, condition: Any, scope: SelectScope, links: list[JoinLink]) -> None:
        """A subquery of an expression: its value for a row depends on the rows that its equations find."""
        place = len(scope.items)
        around = SelectScope(scope.select, scope.items[:place], scope.laterals, scope.outer)
        inner = query
        while isinstance(inner, exp.Subquery) and not modifiers(inner):
            inner = inner.this
        name = f"__s{place}"
        pairs: list[tuple[Value, Value, bool]] = []
        relation: Relation
        reached = self.values.reached.copy()
        if isinstance(inner, exp.Select):
            relation, own = self._select(inner, around)
            pairs = correlations(self.values, inner, own, around)
        else:
            relation = self.relation(inner, None)
        by_links = bool(pairs)
        apart = all(self.values.reached[id(seen)] == reached[id(seen)] for seen in outwards(around))
        if not pairs and apart and condition is not None:
            pairs = membership(self.values, query, condition, BlockItem(name, relation, Join.SUBQUERY, False), around)
        scalar = apart and not isinstance(query.parent, exp.In | exp.Exists)
        constant = query if scalar and may_be_constant(query, self.values.names) else None
        described = subquery_description(query, condition, apart)
        scope.items.append(
            BlockItem(
                name, relation, Join.SUBQUERY, False, links_only=by_links, description=described, constant=constant
            )
        )
        for child, parent, null_safe in pairs:
            if len(parent.items) == 1 and parent.flaw is None:
                (p,) = parent.items
                if scope.items[p].nullable and (parent.plain is None or null_safe):
                    continue
                links.append(JoinLink(place, p, child, parent, null_safe))


def _sources(tree: Any, inputs: Mapping[TableName, InputTable]) -> Iterator[tuple[int, QuerySource]]:
    for node in tree.find_all(exp.Table):
        names = tuple(part.name for part in node.parts)
        if len(names) == 3 and (facts := inputs.get(TableName(*names))) is not None:
            columns = tuple(Column(name, _column_type(facts, name)) for name in facts.columns)
            yield id(node), QuerySource(".".join(names), Columns(columns))


def _column_type(facts: InputTable, name: str) -> DataType:
    word = facts.types.get(name.lower())
    return ANY if word is None else spark_type(word)


def _renamed(relation: Relation, names: tuple[str, ...]) -> Relation:
    if isinstance(relation, Block | SetOperation) and len(names) == len(relation.columns):
        if isinstance(relation, SetOperation):
            return replace(relation, columns=names)
        outputs = zip(names, relation.outputs, strict=True)
        return replace(relation, outputs=tuple(replace(output, name=name) for name, output in outputs))
    raise CannotRewriteError("new names for the columns of a table")
