"""Names that only a query itself can see do not count, and what they mean does."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.compiler.projects import build, table
from tidegate.compiler.query_facts import QueryFacts, facts_of
from tidegate.compiler.sql.queries import ParsedQuery, parse_query


def facts(sql: str) -> QueryFacts:
    query = parse_query(sql)
    assert isinstance(query, ParsedQuery), f"{query}: {sql}"
    return facts_of(query, ())


def same(one: str, other: str) -> bool:
    return facts(one).words == facts(other).words


SAME = """
select o.id from silver.orders o
select x.id from silver.orders as x
select orders.id from silver.orders
select `O`.id from silver.orders `o`
--
select a.id, b.n from silver.a join silver.b on a.id = b.id
select x.id, y.n from silver.a x join silver.b y on x.id = y.id
select b.id, a.n from silver.a b join silver.b a on b.id = a.id
--
with recent as (select * from silver.a) select recent.id from recent
with r as (select * from silver.a) select r.id from r
with r as (select * from silver.a) select s.id from r as s
with r as (select * from silver.a) select s.id from R s
--
with x as (select 1 as id), y as (select id from x) select id from y
with y as (select 1 as id), x as (select id from y) select id from x
--
with r as (select o.id from silver.a o) select o.id from r o
with o as (select p.id from silver.a p) select q.id from o q
with a as (select a.id from silver.a) select a.id from a
--
select d.* from (select a.id from silver.a a) d
select a.* from (select d.id from silver.a d) a
select d.* from (select d.id from silver.a d) d
--
select a.id from silver.a a where exists (select 1 from silver.b b where b.id = a.id)
select b.id from silver.a b where exists (select 1 from silver.b a where a.id = b.id)
--
select x.id, t.c from silver.a x lateral view explode(x.list) t as c
select a.id, u.c from silver.a lateral view explode(a.list) u as c
--
select t.a from values (1, 2) as t(a, b)
select u.a from values (1, 2) as u(a, b)
--
select x.id from silver.a x join lateral (select x.id + 1 as k) y
select a.id from silver.a a join lateral (select a.id + 1 as k) y
--
select o.s.f.g, o.id from silver.orders o
select p.s.f.g, p.id from silver.orders p
--
select silver.orders.id from silver.orders
select silver . orders . id from silver.orders
"""
"""Queries that mean the same, a group for each."""

OTHER = """
select a.id from silver.a a join silver.b b on a.id = b.id
select b.id from silver.a a join silver.b b on a.id = b.id
select a.id from silver.a b join silver.b a on a.id = b.id
select id from silver.a a join silver.b b on a.id = b.id
--
select o.id from silver.orders o
select o.id from silver.order o
select o.id as i from silver.orders o
select o.`ID` from silver.orders o
select o.id from silver.orders
select o.id from silver.orders o where o.k = 'x'
select o.id from silver.orders o where o.k = 'X'
--
select x.id from silver.a x where exists (select 1 from silver.b y where y.id = x.id)
select x.id from silver.a x where exists (select 1 from silver.b y where y.id = y.id)
select x.id from silver.a x where exists (select 1 from silver.b x where x.id = x.id)
--
with x as (select 1 as id), y as (select 2 as id) select id from x
with x as (select 1 as id), y as (select 2 as id) select id from y
--
with x as (select 1 as id) select id from x
with x as (select 1 as k) select k as id from x
--
select t.a from values (1, 2) as t(a, b)
select t.a from values (1, 2) as t(b, a)
--
select /*+ broadcast(x) */ x.id from silver.a x join silver.b y on x.id = y.id
select /*+ broadcast(x) */ y.id from silver.a y join silver.b x on y.id = x.id
--
select transform(l, x -> x.f) from silver.a y
select transform(l, x -> x.f) from silver.a x
select transform(l, y -> y.f) from silver.a x
--
select x.id from silver.a y join (select x.id from silver.b z) w on true
select y.id from silver.a y join (select y.id from silver.b z) w on true
--
select x.id, y.id from silver.a x join silver.b x
select y.id, x.id from silver.a y join silver.b y
--
select 1 from silver.a x, silver.b (a)
select 1 from silver.a x, silver.b
"""
"""Queries that mean different things, or may."""


def groups(text: str) -> list[list[str]]:
    return [group.strip().splitlines() for group in text.split("--\n")]


@pytest.mark.parametrize("queries", groups(SAME), ids=lambda queries: queries[0])
def test_what_a_relation_is_called_does_not_count(queries: Sequence[str]) -> None:
    assert len({facts(sql).words for sql in queries}) == 1


@pytest.mark.parametrize("queries", groups(OTHER), ids=lambda queries: queries[0])
def test_what_a_name_means_counts(queries: Sequence[str]) -> None:
    found = {sql: facts(sql).words for sql in queries if isinstance(parse_query(sql), ParsedQuery)}
    assert len(set(found.values())) == len(found) > 1


def test_a_column_called_like_the_table_may_be_meant(tmp_path: object) -> None:
    """`s.f` is a field of column `s` where the table has no column `f`, whatever the table is called."""
    prints = set()
    for number, name in enumerate("st"):
        files = {
            "models/bronze/a.sql": "select struct(1 as f) as s, struct(2 as f) as t",
            "models/silver/x.sql": f"select {name}.f from bronze.a as {name}",
        }
        built = build(tmp_path / str(number), files)  # type: ignore[operator]
        assert built.compiled.errors == ()
        prints.add(built.compiled.models[table("silver.x")].fingerprint)
    assert len(prints) == 2


Render = Callable[[Sequence[str]], str]
NAMES = st.permutations([f"{a}{b}" for a in "pqr" for b in string.ascii_lowercase[:4]])


class Queries:
    """Draws queries whose relations have numbers for names, to be filled in later."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.count = 0
        self.uses: list[tuple[str, tuple[int, ...]]] = []

    def one(self, outer: tuple[int, ...] = (), ctes: tuple[int, ...] = (), depth: int = 2) -> str:
        head = ""
        if depth == 2 and self.draw(st.booleans()):
            name = self._new()
            head, ctes = f"WITH <{name}> AS ({self.one(depth=0)}) ", (name,)
        relations, sources = [], []
        for _ in range(self.draw(st.integers(1, 3))):
            relation = self._relation(ctes, depth)
            name = self._new()
            relations.append(f"{relation}{self.draw(st.sampled_from([' AS', '']))} <{name}>")
            sources.append(name)
        seen = (*sources, *outer)
        columns = ", ".join(self._column(seen) for _ in range(self.draw(st.integers(1, 3))))
        where = ""
        if depth and self.draw(st.booleans()):
            where = f" WHERE EXISTS ({self.one(seen, ctes, depth - 1)})"
        return f"{head}SELECT {columns} FROM {' CROSS JOIN '.join(relations)}{where} ORDER BY {self._column(seen)}"

    def _new(self) -> int:
        self.count += 1
        return self.count - 1

    def _relation(self, ctes: tuple[int, ...], depth: int) -> str:
        kinds = ["table", *(["cte"] if ctes else []), *(["query"] if depth else [])]
        match self.draw(st.sampled_from(kinds)):
            case "cte":
                return f"<{ctes[0]}>"
            case "query":
                return f"({self.one((), ctes, depth - 1)})"
            case _:
                return "silver." + self.draw(st.sampled_from("abc"))

    def _column(self, seen: tuple[int, ...]) -> str:
        column = self.draw(st.sampled_from(["id", "n", "s.f"]))
        self.uses.append((column, seen))
        return f"<{self.draw(st.sampled_from(seen))}>.{column}"


def filled(sql: str, names: Sequence[str]) -> str:
    for number, name in enumerate(names):
        sql = sql.replace(f"<{number}>", name)
    return sql


@given(st.data(), NAMES, NAMES)
def test_whatever_relations_are_called_the_words_are_the_same(
    data: st.DataObject, one: list[str], other: list[str]
) -> None:
    queries = Queries(data.draw)
    sql = queries.one()
    assume(queries.count <= len(one))
    assert facts(filled(sql, one)).aliases
    assert same(filled(sql, one), filled(sql, other))


@given(st.data(), NAMES)
def test_a_column_of_another_relation_is_another_query(data: st.DataObject, names: list[str]) -> None:
    queries = Queries(data.draw)
    sql = queries.one()
    assume(queries.count <= len(names))
    pieces = sql.split("SELECT <")
    at = data.draw(st.integers(1, len(pieces) - 1))
    number, _, rest = pieces[at].partition(">")
    others = [
        seen for seen in {n for _, seen in queries.uses if int(number) in seen for n in seen} if seen != int(number)
    ]
    assume(others)
    pieces[at] = f"{data.draw(st.sampled_from(others))}>{rest}"
    assert not same(filled(sql, names), filled("SELECT <".join(pieces), names))
