"""Syntax tree → blocks: a SELECT clause by clause, and the constructs that prevent a delta."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from sqlglot import exp

from tidegate.compiler.analysis.functions.lookup import is_generator
from tidegate.compiler.sql.function_calls import aggregates, generates, own_nodes
from tidegate.compiler.sql.sql_text import CANNOT_REWRITE, CannotRewriteError
from tidegate.names import TableName
from tidegate.planner.deltas.blocks import (
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
from tidegate.planner.deltas.name_scopes import (
    NameResolver,
    SelectScope,
    column_of,
    correlations,
    flawed,
    links_of,
    membership,
    outwards,
    star_order,
    value_of_column,
)
from tidegate.planner.deltas.syntax import (
    CLAUSE_NAMES,
    ORDERS,
    alias_columns,
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

    def __init__(self, inputs: Mapping[TableName, InputTable]) -> None:
        self.inputs = inputs
        self.names = NameResolver()
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
        scope = SelectScope(outer=outer)
        obstacle = unknown_clause(node)
        links: list[JoinLink] = []
        self._items(node, scope, links)
        for lateral in node.args.get("laterals") or ():
            self._lateral_view(lateral, scope)
        core = len(scope.items)
        where, subqueries = [], []
        clause = node.args.get("where")
        for condition in conjuncts(clause.this if clause else None):
            if isinstance(condition, exp.Boolean) and condition.this:
                continue
            value = self.names.value(condition, scope)
            where.append(value)
            links += links_of(self.names, scope, condition)
            subqueries += [(query, condition) for query in subqueries_of(condition)]
        # Added after WHERE, where such a name means a column of the outer query.
        for projection in node.expressions:
            if projection.alias:
                scope.aliases.setdefault(projection.alias.lower(), projection.unalias())
        for part in parts_of(node, "laterals", "expressions", "group", "having", "qualify", "windows", *ORDERS):
            subqueries += [(query, None) for query in subqueries_of(part)]
        for join in node.args.get("joins") or ():
            subqueries += [(query, None) for query in subqueries_of(join.args.get("on"))]
        for query, condition in subqueries:
            self._subquery(query, condition, scope, links)
        outputs = self._outputs(node, scope, core)
        group, grouping = self._group(node, scope, outputs)
        windows = tuple(self._windows(node, scope))
        aggregated = any(aggregates(part) for part in parts_of(node, "expressions", "having"))
        in_the_join = "FULL JOIN" if any(item.join is Join.FULL for item in scope.items) else None
        obstacle = obstacle or grouping or in_the_join
        if aggregated and group is None:
            obstacle = obstacle or "an aggregate without GROUP BY"
        bare = next((window for window in windows if not window.partition), None)
        if bare is not None:
            obstacle = obstacle or f"{bare.text} without PARTITION BY"
        for part in parts_of(node, "having", *ORDERS):
            self.names.record_columns(part, scope)
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
        )
        return block, scope

    def _items(self, node: Any, scope: SelectScope, links: list[JoinLink]) -> None:
        clause = node.args.get("from_")
        if clause is None:
            return
        self._item(clause.this, Join.FROM, scope)
        for join in node.args.get("joins") or ():
            kind = join_kind(join)
            if kind in (Join.RIGHT, Join.FULL):
                scope.items[:] = [replace(item, nullable=True) for item in scope.items]
            self._item(join.this, kind, scope)
            place = len(scope.items) - 1
            conditions = list(conjuncts(join.args.get("on")))
            using = [column.name for column in join.args.get("using") or ()]
            if scope.merged and [name.lower() for name in using] != list(scope.merged):
                scope.scattered = scope.scattered or bool(using) or scope.items[place].is_joined
            conditions += [self._merged(name, kind, scope) for name in using]
            conditions = [found for found in conditions if not (isinstance(found, exp.Boolean) and found.this)]
            scope.joining = item = scope.items[place]
            on = tuple(self.names.value(condition, scope) for condition in conditions)
            scope.items[place] = replace(item, on=on)
            for condition in conditions:
                links += links_of(self.names, scope, condition, place)
            scope.joining = None

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
        scope.items.append(BlockItem(name, relation, join, nullable, node=node))

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
        self.names.used.setdefault(table, set())
        base = Base(table, facts, node)
        self.tables.append(base)
        return base

    def _merged(self, name: str, kind: Join, scope: SelectScope) -> Any:
        """USING (name) as a condition."""
        low, last = name.lower(), len(scope.items) - 1
        left = scope.merged.get(low)
        if left is None:
            having = [i for i, item in enumerate(scope.items[:last]) if column_of(item, low) and item.is_joined]
            if len(having) != 1:
                raise CannotRewriteError(f"USING ({name})")
            left = having[0]
        scope.merged[low] = last if kind is Join.RIGHT else left
        sides = (
            exp.column(exp.to_identifier(name, quoted=True), table=exp.to_identifier(scope.items[i].name, quoted=True))
            for i in (left, last)
        )
        return exp.EQ(this=next(sides), expression=next(sides))

    def _lateral_view(self, lateral: Any, scope: SelectScope) -> None:
        if not lateral.args.get("view"):
            raise CannotRewriteError("LATERAL")
        columns = [column.name.lower() for column in alias_columns(lateral)]
        if not columns:
            raise CannotRewriteError("LATERAL VIEW without names for its columns")
        self.names.record_columns(lateral.this, scope)
        scope.generated[lateral.alias.lower() or f"__{len(scope.generated)}"] = columns

    def _outputs(self, node: Any, scope: SelectScope, core: int) -> tuple[OutputColumn, ...]:
        outputs: list[OutputColumn] = []
        for place, projection in enumerate(node.expressions):
            star = projection.this if isinstance(projection, exp.Column) else projection
            if isinstance(star, exp.Star):
                outputs += self._star(star, projection, scope, core)
                continue
            made = projection.unalias()
            if isinstance(projection, exp.Aliases) or (is_generator(made) and not projection.alias):
                raise CannotRewriteError("a generator with several columns in SELECT")
            name = projection.alias or name_of(projection) or f"__{place}"
            outputs.append(OutputColumn(name, self.names.value(made, scope)))
        return tuple(outputs)

    def _star(self, star: Any, projection: Any, scope: SelectScope, core: int) -> Iterator[OutputColumn]:
        if star.args.get("replace") or star.args.get("rename"):
            raise CannotRewriteError("a star with REPLACE")
        left_out = {column.name.lower() for column in star.args.get("except_") or ()}
        wanted = projection.table.lower() if isinstance(projection, exp.Column) else None
        if isinstance(projection, exp.Column) and len(projection.parts) > 2:
            raise CannotRewriteError(CANNOT_REWRITE)
        items = [i for i in range(core) if scope.items[i].is_joined]
        if wanted is not None:
            items = [i for i in items if scope.items[i].name.lower() == wanted]
            if not items:
                raise CannotRewriteError(f"{wanted}.*")
        if scope.scattered:
            raise CannotRewriteError("a star over joins of which not all have the same USING")
        for i in items:
            if isinstance(table := scope.items[i].relation, Base):
                self.names.used[table.table] = None
        for i, low in star_order(scope, items, wanted is None):
            if low not in left_out:
                yield self._starred(i, low, scope)
        if wanted is None:
            for columns in scope.generated.values():
                yield from (OutputColumn(column, flawed("a column of LATERAL VIEW")) for column in columns)

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
                keys.add(self.names.value(expression, scope).key)
        return frozenset(keys), None

    def _windows(self, node: Any, scope: SelectScope) -> Iterator[Window]:
        named = {window.name.lower(): window for window in node.args.get("windows") or ()}
        for part in parts_of(node, "expressions", "qualify", "order"):
            for window in own_nodes(part, exp.Window):
                self.names.record_columns(window, scope)
                definition = window
                while not definition.args.get("partition_by") and definition.alias.lower() in named:
                    definition = named[definition.alias.lower()]
                keys = {
                    self.names.value(expression, scope).key for expression in definition.args.get("partition_by") or ()
                }
                yield Window(str(window.this.sql("spark")).lower(), frozenset(keys))

    def _subquery(self, query: Any, condition: Any, scope: SelectScope, links: list[JoinLink]) -> None:
        """A subquery of an expression: its value for a row depends on the rows that its equations find."""
        place = len(scope.items)
        around = SelectScope(scope.items[:place], scope.merged, scope.generated, {}, scope.outer)
        inner = query
        while isinstance(inner, exp.Subquery) and not modifiers(inner):
            inner = inner.this
        name = f"__s{place}"
        pairs: list[tuple[Value, Value, bool]] = []
        relation: Relation
        reached = self.names.reached.copy()
        if isinstance(inner, exp.Select):
            relation, own = self._select(inner, around)
            pairs = correlations(self.names, inner, replace(own, aliases={}), around)
        else:
            relation = self.relation(inner, None)
        by_links = bool(pairs)
        apart = all(self.names.reached[id(seen)] == reached[id(seen)] for seen in outwards(around))
        if not pairs and apart and condition is not None:
            pairs = membership(self.names, query, condition, BlockItem(name, relation, Join.SUBQUERY, False), around)
        description = subquery_description(query, condition, apart)
        scope.items.append(
            BlockItem(name, relation, Join.SUBQUERY, False, links_only=by_links, description=description)
        )
        for child, parent, null_safe in pairs:
            if len(parent.items) == 1 and parent.flaw is None:
                (p,) = parent.items
                if scope.items[p].nullable and (parent.plain is None or null_safe):
                    continue
                links.append(JoinLink(place, p, child, parent, null_safe))


def _renamed(relation: Relation, names: tuple[str, ...]) -> Relation:
    if isinstance(relation, Block | SetOperation) and len(names) == len(relation.columns):
        if isinstance(relation, SetOperation):
            return replace(relation, columns=names)
        outputs = zip(names, relation.outputs, strict=True)
        return replace(relation, outputs=tuple(OutputColumn(name, output.value) for name, output in outputs))
    raise CannotRewriteError("new names for the columns of a table")
