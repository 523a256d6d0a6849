"""Random tables, queries over them, and changes: the whole grammar of delta rewrites, in small domains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import nan
from random import Random
from typing import NamedTuple

from tidegate.names import TableName

__all__ = [
    "Changed",
    "Column",
    "Model",
    "Row",
    "Table",
    "change",
    "fill",
    "random_key",
    "random_model",
    "random_tables",
]

KEYS = (0, 1, 2, 3, 4, 5, None)
NUMBERS = (0, 1, 1, 2, None)
WORDS = ("x", "x", "y", None)
REALS = (0.0, -0.0, 1.5, nan, None)

Row = tuple[int | float | str | None, ...]


class Column(NamedTuple):
    name: str
    type: str

    def value(self, rng: Random) -> int | float | str | None:
        values: Sequence[int | float | str | None] = {"int": NUMBERS, "text": WORDS, "real": REALS}[self.type]
        return rng.choice(KEYS if self.name == "k" else values)


@dataclass
class Table:
    """Rows by a hidden id, as row lineage has them. `unique`: columns that tell its rows apart."""

    name: TableName
    columns: tuple[Column, ...]
    unique: frozenset[str] | None
    rows: dict[int, Row] = field(default_factory=dict)
    next_id: int = 0

    def admits(self, row: Row, except_id: int | None = None) -> bool:
        if self.unique is None:
            return True
        key = self.key(row)
        return all(self.key(other) != key for i, other in self.rows.items() if i != except_id)

    def key(self, row: Row) -> Row:
        unique = self.unique or frozenset()
        return tuple(value for value, column in zip(row, self.columns, strict=True) if column.name in unique)

    def insert(self, row: Row) -> int | None:
        if not self.admits(row):
            return None
        self.rows[self.next_id] = row
        self.next_id += 1
        return self.next_id - 1


def random_tables(rng: Random) -> list[Table]:
    tables = []
    for n in range(rng.choice((1, 2, 2, 3))):
        names = ["k", "a", "b", f"c{n}"][: rng.choice((2, 3, 4, 4))]
        columns = tuple(Column(name, "text" if name == "b" else "int") for name in names)
        columns += (Column("f", "real"),) if rng.randrange(3) == 0 else ()
        table = Table(TableName("lake", rng.choice(("raw", "silver")), f"t{n}"), columns, random_key(rng))
        fill(rng, table)
        tables.append(table)
    return tables


def random_key(rng: Random) -> frozenset[str] | None:
    return rng.choice((None, *(frozenset({"k"}),) * 3, frozenset({"k", "a"})))


def fill(rng: Random, table: Table) -> None:
    for _ in range(rng.choice((0, 4, 6, 8, 10))):
        table.insert(tuple(column.value(rng) for column in table.columns))


@dataclass(frozen=True)
class Changed:
    """Ids of rows: `before` are those that were changed or deleted, `after` those that were changed or inserted."""

    before: frozenset[int]
    after: frozenset[int]
    kept: frozenset[str] | None


def change(rng: Random, table: Table, changes: bool = True) -> Changed:
    """A few random changes at once, or none."""
    then = dict(table.rows)
    before: set[int] = set()
    after: set[int] = set()
    for _ in range(rng.choice((0, 1, 1, 2, 3)) if changes else 0):
        what = rng.choice(("insert", "update", "update", "delete", "rewrite", "again"))
        ids = sorted(table.rows)
        if what == "insert" or not ids:
            made = table.insert(tuple(column.value(rng) for column in table.columns))
            after |= {made} if made is not None else set()
            continue
        i = rng.choice(ids)
        row = table.rows[i]
        if what == "update":
            place = rng.randrange(len(row))
            other = (*row[:place], table.columns[place].value(rng), *row[place + 1 :])
            if table.admits(other, i):
                table.rows[i] = other
                after.add(i)
        elif what == "rewrite":
            after.add(i)
        else:
            del table.rows[i]
            after.discard(i)
            before |= {i} & set(then)
            if what == "again":
                made = table.insert(row)
                after |= {made} if made is not None else set()
    before |= after & set(then)
    gone = set(then) - set(table.rows)
    same = [
        column.name
        for place, column in enumerate(table.columns)
        if all(then[i][place] == table.rows[i][place] for i in then.keys() & table.rows.keys())
    ]
    kept = None if gone or not rng.randrange(3) else frozenset(same)
    return Changed(frozenset(before), frozenset(after), kept)


@dataclass(frozen=True)
class Model:
    sql: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    within_key: bool


def random_model(rng: Random, tables: list[Table]) -> Model:
    maker = _Maker(rng, tables)
    sql, columns = maker.query(rng.choice((0, 0, 1, 1, 2) if max(maker.joins) < 3 else (0, 0, 1)))
    sql = maker.with_clause() + sql
    names = [column.name for column in columns]
    key = tuple(rng.sample(names, min(len(names), rng.choice((0, 0, 1, 1, 2)))))
    return Model(sql, columns, key, bool(key) and rng.randrange(4) == 0)


class _Item(NamedTuple):
    alias: str
    columns: tuple[Column, ...]


class _Maker:
    def __init__(self, rng: Random, tables: list[Table]) -> None:
        self.rng = rng
        self.tables = tables
        self.ctes: list[tuple[str, str, tuple[Column, ...]]] = []
        self.aliases = 0
        # Many joins with NULL in their equations, or all of the grammar.
        self.joins, self.null_safe = rng.choice((((0, 0, 1, 1, 1, 2), 6), ((2, 2, 3), 3)))

    def alias(self) -> str:
        self.aliases += 1
        return f"q{self.aliases}"

    def chance(self, one_in: int) -> bool:
        return self.rng.randrange(one_in) == 0

    def with_clause(self) -> str:
        parts = [f"{name} AS ({sql})" for name, sql, _ in self.ctes]
        return f"WITH {', '.join(parts)} " if parts else ""

    def query(self, depth: int) -> tuple[str, tuple[Column, ...]]:
        if depth and self.chance(5):
            return self.set_operation(depth)
        return self.select(depth)

    def set_operation(self, depth: int) -> tuple[str, tuple[Column, ...]]:
        left, columns = self.select(depth - 1)
        right, others = self.select(depth - 1)
        chosen, rest = [], list(others)
        for column in columns:
            same = next((other for other in rest if other.type == column.type), None)
            if same is not None:
                rest.remove(same)
            nothing = f"CAST(NULL AS {({'int': 'int', 'text': 'string', 'real': 'double'})[column.type]})"
            chosen.append(same.name if same else nothing if self.chance(2) else self.literal(column.type))
        alias = self.alias()
        right = f"SELECT {', '.join(f'{name} AS r{n}' for n, name in enumerate(chosen))} FROM ({right}) AS {alias}"
        word = self.rng.choice(
            ("UNION ALL", "UNION ALL", "UNION", "EXCEPT", "INTERSECT", "EXCEPT ALL", "INTERSECT ALL")
        )
        return f"{left} {word} {right}", columns

    def item(self, depth: int) -> tuple[str, _Item]:
        alias = self.alias()
        if self.chance(25):
            table = self.rng.choice(self.tables)
            what = self.rng.choice(("count(*)", f"max({table.columns[0].name})"))
            return f"(SELECT {what} AS n FROM {table.name.quoted}) AS {alias}", _Item(alias, (Column("n", "int"),))
        if self.chance(25):
            rows = ", ".join(self.rng.sample(("(0, 'x')", "(1, 'y')", "(2, 'x')", "(1, NULL)"), 3))
            return f"(VALUES {rows}) AS {alias}(k, b)", _Item(alias, (Column("k", "int"), Column("b", "text")))
        if depth and self.chance(3):
            if self.ctes and self.chance(2):
                name, _, columns = self.rng.choice(self.ctes)
                return f"{name} AS {alias}", _Item(alias, columns)
            sql, columns = self.query(depth - 1)
            if self.chance(5):
                # A name that may be another relation's outside.
                return f"(WITH w0 AS ({sql}) SELECT * FROM w0) AS {alias}", _Item(alias, columns)
            if self.chance(2):
                name = f"w{len(self.ctes)}"
                self.ctes.append((name, sql, columns))
                if self.chance(2):
                    return name, _Item(name, columns)
                return f"{name} AS {alias}", _Item(alias, columns)
            return f"({sql}) AS {alias}", _Item(alias, columns)
        table = self.rng.choice(self.tables)
        return f"{table.name.quoted} AS {alias}", _Item(alias, table.columns)

    def column(self, items: list[_Item], type_: str | None = None) -> tuple[str, str] | None:
        found = [
            (f"{item.alias}.{column.name}", column.type)
            for item in items
            for column in item.columns
            if type_ is None or column.type == type_
        ]
        return self.rng.choice(found) if found else None

    def literal(self, type_: str) -> str:
        return self.rng.choice({"int": ("0", "1", "2"), "text": ("'x'", "'y'"), "real": ("0D", "1.5D")}[type_])

    def expression(self, items: list[_Item]) -> tuple[str, str]:
        found = self.column(items)
        assert found is not None
        name, type_ = found
        if len(items) == 1 and self.chance(2):
            name = name.split(".")[1]
        match self.rng.randrange(8):
            case 0 if type_ == "int":
                return f"{name} % 2", "int"
            case 1:
                return f"coalesce({name}, {self.literal(type_)})", type_
            case 2:
                other = self.column(items, type_)
                return (f"coalesce({name}, {other[0]})", type_) if other else (name, type_)
        return name, type_

    def equation(self, left: list[_Item], right: list[_Item]) -> str | None:
        one = self.column(right)
        other = one and self.column(left, one[1])
        if one is None or other is None:
            return None
        sides = [one[0], other[0]]
        if self.chance(self.null_safe + 2):
            place = self.rng.randrange(2)
            sides[place] = f"coalesce({sides[place]}, {self.literal(one[1])})"
        elif self.chance(12):
            change = {"int": "{} % 2", "text": "lower({})", "real": "abs({})"}[one[1]]
            sides = [change.format(side) for side in sides]
        self.rng.shuffle(sides)
        return f"{sides[0]} {'<=>' if self.chance(self.null_safe) else '='} {sides[1]}"

    def condition(self, items: list[_Item]) -> str:
        name, type_ = self.column(items) or ("1", "int")
        match self.rng.randrange(6):
            case 0:
                return f"{name} IS NULL"
            case 1:
                return f"{name} IS NOT NULL"
            case 2:
                return f"({name} = {self.literal(type_)} OR {name} IS NULL)"
            case 3:
                other = self.column(items, type_)
                return f"{name} <= {other[0]}" if other else f"{name} IS NOT NULL"
        return f"{name} {self.rng.choice(('=', '<>', '<', '>='))} {self.literal(type_)}"

    def on(self, left: list[_Item], right: list[_Item]) -> str:
        if self.chance(20):
            return self.condition(left + right)
        if self.chance(30):
            return " OR ".join(self.equation(left, right) or "1 = 0" for _ in range(2))
        parts = [found for _ in range(self.rng.choice((1, 1, 2))) if (found := self.equation(left, right))]
        if self.chance(5):
            parts.append(self.condition(left + right))
        return " AND ".join(parts) or "1 = 1"

    def subquery_condition(self, items: list[_Item], depth: int) -> str:
        text, item = self.item(max(0, depth - 1))
        inner = [item]
        sources = f"FROM {text}"
        if self.chance(4):
            text, other = self.item(0)
            sources += f" JOIN {text} ON {self.on(inner, [other])}"
            inner.append(other)
        conditions = [self.condition(inner)] if self.chance(3) else []
        if self.chance(6):
            conditions.append(self.subquery_condition(inner, 0))
        match self.rng.randrange(7):
            case 0 | 1:
                name, type_ = self.column(inner) or ("1", "int")
                outer = self.column(items, type_)
                if outer is not None:
                    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
                    return f"{outer[0]} {'NOT IN' if self.chance(6) else 'IN'} (SELECT {name} {sources}{where})"
            case 2:
                found, outer = self.column(inner, "int"), self.column(items, "int")
                link = self.equation(items, inner)
                if found and outer and link:
                    where = " AND ".join([link, *conditions])
                    return f"{outer[0]} <= (SELECT max({found[0]}) {sources} WHERE {where})"
        for _ in range(self.rng.choice((1, 1, 2))):
            link = self.equation(items, inner)
            if link is not None and not self.chance(8):
                conditions.append(link)
        if self.chance(4):
            conditions.append(self.condition(inner + items))
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"{self.rng.choice(('EXISTS', 'NOT EXISTS'))} (SELECT 1 {sources}{where})"

    def constant_condition(self, items: list[_Item]) -> str:
        """With the answer of a subquery that uses nothing of the query around it."""
        text, inner = self.item(0)
        name, type_ = self.column([inner]) or ("1", "int")
        outer = self.column(items, type_)
        where = f" WHERE {self.condition([inner])}" if self.chance(2) else ""
        if outer is None or self.chance(2):
            where = where or f" WHERE {self.condition([inner])}"
            return f"(SELECT count(*) FROM {text}{where}) >= {self.literal('int')}"
        function = self.rng.choice(("min", "max", "max"))
        return f"{outer[0]} {self.rng.choice(('<=', '=', '<>'))} (SELECT {function}({name}) FROM {text}{where})"

    def select(self, depth: int) -> tuple[str, tuple[Column, ...]]:
        text, first = self.item(depth)
        items, sources, conditions = [first], [text], []
        for _ in range(self.rng.choice(self.joins)):
            text, item = self.item(depth - 1 if depth else 0)
            kind = self.rng.choice(("JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "SEMI", "ANTI", ",", "RIGHT JOIN"))
            if kind == "RIGHT JOIN" and not self.chance(2):
                kind = "FULL JOIN" if self.chance(4) else "JOIN"
            shared = {column.name for column in items[0].columns} & {column.name for column in item.columns}
            if len(items) == 1 and kind not in (",", "FULL JOIN") and "k" in shared and self.chance(6):
                word = f"LEFT {kind} JOIN" if kind in ("SEMI", "ANTI") else kind
                sources.append(f"{word} {text} USING (k)")
                items += [] if kind in ("SEMI", "ANTI") else [item]
                continue
            if kind in ("SEMI", "ANTI"):
                sources.append(f"LEFT {kind} JOIN {text} ON {self.on(items, [item])}")
                continue
            if kind == ",":
                sources.append(f"CROSS JOIN {text}")
                conditions.append(self.on(items, [item]))
            else:
                sources.append(f"{kind} {text} ON {self.on(items, [item])}")
            items.append(item)
        if self.chance(3):
            conditions.append(self.condition(items))
        if self.chance(6):
            conditions.append(self.equation(items, items) or "1 = 1")
        if self.chance(4):
            subquery = self.subquery_condition(items, depth)
            other = self.subquery_condition(items, 0) if self.chance(4) else self.condition(items)
            word = self.rng.choice(("OR", "AND"))
            conditions.append(f"({subquery} {word} {other})" if self.chance(3) else subquery)
        if self.chance(12):
            conditions.append(self.constant_condition(items))
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        tail = f"FROM {' '.join(sources)}{where}"
        kinds = (self.plain, self.plain, self.plain, self.grouped, self.grouped, self.distinct, self.windowed)
        kind = self.rng.choice(kinds)
        return (self.whole if self.chance(10) else kind)(items, tail)

    def outputs(self, items: list[_Item], least: int, most: int) -> list[tuple[str, str]]:
        return [self.expression(items) for _ in range(self.rng.randint(least, most))]

    def plain(self, items: list[_Item], tail: str) -> tuple[str, tuple[Column, ...]]:
        if len(items) == 1 and self.chance(3):
            return f"SELECT * {tail}", items[0].columns
        found = self.outputs(items, 1, 3)
        link_to, table = self.column(items), self.rng.choice(self.tables)
        same = [column.name for column in table.columns if link_to and column.type == link_to[1]]
        if link_to and same and self.chance(10):
            other, inner = self.alias(), table.name.quoted
            linked = f"{other}.{self.rng.choice(same)} = {link_to[0]}"
            found.append((f"(SELECT max({other}.k) FROM {inner} AS {other} WHERE {linked})", "int"))
        if self.chance(15):
            found.append((f"CASE WHEN {self.subquery_condition(items, 0)} THEN 1 ELSE 0 END", "int"))
        for column in items[0].columns:
            if column.name == "k" and not self.chance(4):
                found.insert(0, (f"{items[0].alias}.k", column.type))
        return f"SELECT {self.listed(found)} {tail}", self.named(found)

    def distinct(self, items: list[_Item], tail: str) -> tuple[str, tuple[Column, ...]]:
        found = self.outputs(items, 1, 3)
        return f"SELECT DISTINCT {self.listed(found)} {tail}", self.named(found)

    def grouped(self, items: list[_Item], tail: str) -> tuple[str, tuple[Column, ...]]:
        groups = self.outputs(items, 1, 2)
        found = groups + [self.aggregate(items) for _ in range(self.rng.randint(1, 2))]
        unselected = len(groups) if self.chance(8) else len(groups) - 1 if self.chance(5) else 0
        left_out, found = unselected > 0, found[unselected:]
        having = f" HAVING {self.having(items)}" if self.chance(4) else ""
        by = ", ".join(dict.fromkeys(expression for expression, _ in groups))
        if self.chance(6) and not left_out:
            by = ", ".join(str(n + 1) for n in range(len(groups)))
        elif self.chance(8) and not left_out:
            by = "ALL"
        elif self.chance(20):
            by += f", {self.subquery_condition(items, 0)}"
        elif self.chance(4):
            by, found, having = self.several_groupings(groups, found)
        return f"SELECT {self.listed(found)} {tail} GROUP BY {by}{having}", self.named(found)

    def several_groupings(
        self, groups: list[tuple[str, str]], found: list[tuple[str, str]]
    ) -> tuple[str, list[tuple[str, str]], str]:
        """Without a row for the grouping by nothing where there are no rows: Spark gives none."""
        keys = list(dict.fromkeys(expression for expression, _ in groups))
        plain = [key for key in keys if key.replace(".", "").isidentifier()]
        if plain and self.chance(3):
            found = [*found, (f"grouping({self.rng.choice(plain)})", "int")]
        sets = self.rng.sample([f"({keys[0]})", f"({keys[-1]})", "()"], self.rng.choice((0, 1, 2)))
        sets.insert(self.rng.randint(0, len(sets)), f"({', '.join(keys)})")
        ways = [f"ROLLUP ({', '.join(keys)})", f"CUBE ({', '.join(keys)})", f"GROUPING SETS ({', '.join(sets)})"]
        if len(keys) == 2:
            ways.append(f"{keys[0]}, ROLLUP ({keys[1]})")
        return self.rng.choice(ways), found, f" HAVING count(*) > {self.rng.choice((0, 0, 1))}"

    def whole(self, items: list[_Item], tail: str) -> tuple[str, tuple[Column, ...]]:
        """One row, of all rows."""
        found = [self.aggregate(items) for _ in range(self.rng.randint(1, 3))]
        if number := self.column(items, "int"):
            found.append((f"sum({number[0]})", "int"))
        if self.chance(4):
            found.append((self.literal("text"), "text"))
        having = f" HAVING {self.having(items)}" if self.chance(12) else ""
        return f"SELECT {self.listed(found)} {tail}{having}", self.named(found)

    def having(self, items: list[_Item]) -> str:
        found = self.column(items, "int")
        if found is None or self.chance(2):
            return self.rng.choice(("count(*) > 1", "count(*) < 3"))
        return f"{self.rng.choice(('min', 'max', 'count'))}({found[0]}) {self.rng.choice(('<', '>='))} 2"

    def aggregate(self, items: list[_Item]) -> tuple[str, str]:
        name, type_ = self.column(items) or ("1", "int")
        match self.rng.randrange(5):
            case 0:
                return "count(*)", "int"
            case 1 if type_ == "int":
                return f"cast(sum({name}) AS int)", "int"
            case 2:
                return f"count(DISTINCT {name})", "int"
            case 3 if self.chance(2):
                return f"count({name}) FILTER (WHERE {self.condition(items)})", "int"
        return f"{self.rng.choice(('min', 'max'))}({name})", type_

    def windowed(self, items: list[_Item], tail: str) -> tuple[str, tuple[Column, ...]]:
        found = self.outputs(items, 1, 2)
        shared = self.expression(items)
        found.insert(0, shared)
        for _ in range(self.rng.choice((1, 1, 2))):
            parts = [shared[0]] if not self.chance(10) else []
            if self.chance(4):
                parts.append(self.expression(items)[0])
            by = f"PARTITION BY {', '.join(parts)}" if parts else ""
            order = f"ORDER BY {self.expression(items)[0]}"
            name = self.column(items, "int")
            function = self.rng.choice(("rank()", "count(*)", f"sum({name[0]})" if name else "count(*)"))
            if name and function != "rank()" and self.chance(3):
                end = self.rng.choice(("CURRENT ROW", "1 FOLLOWING"))
                order = f"ORDER BY {name[0]} RANGE BETWEEN 1 PRECEDING AND {end}"
            found.append((f"cast({function} OVER ({by} {order}) AS int)", "int"))
        if self.chance(6):
            found.append(("cast(count(*) OVER w AS int)", "int"))
            tail += f" WINDOW w AS (PARTITION BY {shared[0]})"
        return f"SELECT {self.listed(found)} {tail}", self.named(found)

    def listed(self, found: list[tuple[str, str]]) -> str:
        return ", ".join(f"{text} AS {column.name}" for (text, _), column in zip(found, self.named(found), strict=True))

    def named(self, found: list[tuple[str, str]]) -> tuple[Column, ...]:
        columns: list[Column] = []
        for text, type_ in found:
            taken = {column.name for column in columns}
            name = text.split(".")[-1]
            if not name.isalnum() or name in taken:
                name = next(f"o{n}" for n in range(len(found) + 1) if f"o{n}" not in taken)
            columns.append(Column(name, type_))
        return tuple(columns)
