"""Random queries over random tables: after a change, what is maintained by a rewrite equals what is built anew."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.planner.deltas.duck import Duck, facts, translated
from tests.planner.deltas.models import (
    Changed,
    Column,
    Model,
    Row,
    Table,
    change,
    fill,
    random_key,
    random_model,
    random_tables,
)
from tidegate.names import TableName
from tidegate.planner.deltas.delta_query import OWN, DeltaQuery
from tidegate.planner.deltas.rewrite import explain, needed_columns, rewrite

PROVE = bool(os.environ.get("TIDEGATE_PROVE"))
EXAMPLES = 6000 if PROVE else 150
QUIETLY: dict[str, Any] = {
    "database": None,
    "derandomize": not PROVE,
    "suppress_health_check": list(HealthCheck),
}

SEEDED = st.integers(0, 2**64).map(Random)
"""Hypothesis draws a seed: drawing every choice of a random query takes longer than the query does."""

OUTSIDE = (
    "no key",
    "without an equation",
    "without PARTITION BY",
    "FULL JOIN",
    "an aggregate without GROUP BY",
    "(SELECT …)",
    "which is a",
    "in the result",
)
"""Refusals of what no rewrite is meant for, or for which the query leaves no key."""


@pytest.fixture(scope="module")
def duck() -> Iterator[Duck]:
    found = Duck()
    yield found
    found.close()


def test_maintained_tables_equal_the_full_query(duck: Duck) -> None:
    outcomes: Counter[str] = Counter()

    @settings(max_examples=EXAMPLES, **QUIETLY)
    @given(SEEDED)
    def proven(rng: Random) -> None:
        tables = random_tables(rng)
        outcomes[maintained(rng, duck, tables, random_model(rng, tables))] += 1

    proven()
    assert outcomes["guarded"] < 0.1 * outcomes["delta"], outcomes.most_common(30)
    inside = sum(n for what, n in outcomes.items() if not any(words in what for words in OUTSIDE))
    assert outcomes["delta"] > 0.45 * outcomes.total(), outcomes.most_common(30)
    assert outcomes["delta"] > 0.8 * inside, outcomes.most_common(30)


TRAPS = """
SELECT q.k, s.b FROM t0 q CROSS JOIN t1 r LEFT JOIN t2 s ON s.a = q.a AND s.k = r.k
SELECT q.k, s.b FROM t0 q LEFT JOIN t1 r ON r.k = q.a LEFT JOIN t2 s ON s.a <=> r.a
SELECT q.k, s.b FROM t0 q LEFT JOIN t1 r ON r.k = q.a LEFT JOIN t2 s ON s.a = coalesce(r.a, 1)
SELECT q.k, r.b FROM t0 q LEFT JOIN t1 r ON r.a >= q.a WHERE r.k <=> q.k
SELECT q.k, r.b FROM t0 q LEFT JOIN t1 r ON r.a >= q.a WHERE coalesce(r.k, 1) = q.k
SELECT q.k, r.b FROM t0 q LEFT JOIN t1 r ON r.a >= q.a AND r.k = q.k WHERE r.k IS NULL
SELECT s.k, r.b FROM t0 q LEFT JOIN t1 r ON r.k = q.a RIGHT JOIN t2 s ON r.a <=> s.a
SELECT s.k, r.b FROM t0 q LEFT JOIN t1 r ON r.k = q.a RIGHT JOIN t2 s ON r.a = s.a AND q.k = s.k
SELECT DISTINCT s.b, q.a FROM t0 q LEFT SEMI JOIN t1 r ON r.a = q.a RIGHT JOIN t2 s ON s.a = q.k
SELECT s.k, count(*) AS n FROM t0 q LEFT JOIN t1 r ON r.k = q.a JOIN t2 s ON s.k = r.a GROUP BY s.k
SELECT r.b, count(*) AS n FROM t0 q LEFT JOIN t1 r ON r.k = q.a GROUP BY r.b
SELECT r.b, s.a, count(*) AS n FROM t0 q LEFT JOIN t1 r ON r.k = q.a LEFT JOIN t2 s ON s.k = r.k GROUP BY r.b, s.a
SELECT r.b, rank() OVER (PARTITION BY r.b ORDER BY q.k) AS n FROM t0 q LEFT JOIN t1 r ON r.k = q.a AND r.a = 1
SELECT q.k FROM t0 q LEFT JOIN t1 r ON r.k = q.a WHERE NOT EXISTS (SELECT 1 FROM t2 s WHERE s.a <=> r.a)
SELECT q.k, (SELECT count(*) FROM t2 s WHERE s.a <=> r.a) AS n FROM t0 q LEFT JOIN t1 r ON r.k = q.a
SELECT q.k, (SELECT count(*) FROM t2 s WHERE s.a = q.a) AS n FROM t0 q
SELECT q.k, (SELECT max(s.k) FROM t2 s LEFT JOIN t1 r ON r.k = s.a WHERE s.a = q.a AND r.b = q.b) AS n FROM t0 q
SELECT q.k, q.a IN (SELECT s.a FROM t2 s) AS n FROM t0 q
SELECT q.k FROM t0 q WHERE q.a NOT IN (SELECT s.a FROM t2 s)
SELECT q.k FROM t0 q WHERE q.b = 'x' OR q.a IN (SELECT s.a FROM t2 s)
SELECT q.k, r.k AS r, r.b FROM t0 q LEFT JOIN t1 r ON r.a = q.a
SELECT q.k FROM t0 q WHERE q.a IN (SELECT s.a FROM t2 s WHERE EXISTS (SELECT 1 FROM t1 r WHERE r.k = s.k AND r.b = q.b))
SELECT q.k FROM t0 q LEFT ANTI JOIN t1 r ON r.a = q.a AND r.b = q.b LEFT SEMI JOIN t2 s ON s.a = q.a
SELECT q.a, q.b FROM t0 q EXCEPT ALL SELECT r.a, r.b FROM t1 r LEFT JOIN t2 s ON s.k = r.a
SELECT q.k, 'x' AS w FROM t0 q UNION ALL SELECT r.a, r.b FROM t1 r
SELECT n, count(*) AS m FROM (SELECT q.a, count(*) AS n FROM t0 q GROUP BY q.a) GROUP BY n
SELECT q.k, r.n FROM t0 q LEFT JOIN (SELECT a, count(*) AS n FROM t1 GROUP BY a HAVING count(*) > 1) r ON r.a = q.a
SELECT q.k, r.n FROM t0 q JOIN (SELECT a, count(*) AS n FROM t1 GROUP BY a) r ON r.n = q.a
SELECT k, a, b FROM (SELECT *, row_number() OVER (PARTITION BY a ORDER BY k, b) AS n FROM t0) WHERE n = 1
SELECT q.k, r.k AS boss FROM t0 q LEFT JOIN t0 r ON r.k = q.a
SELECT DISTINCT q.a, r.b FROM t0 q JOIN t1 r USING (k) LEFT JOIN t2 s ON s.k = r.a
SELECT q.k, r.k AS j, count(*) AS n FROM t0 q JOIN t1 r ON r.a = q.a GROUP BY q.k, r.k
SELECT q.k, count(*) AS n FROM t0 q GROUP BY q.k, q.a > (SELECT max(s.k) FROM t1 s)
SELECT k, b, count(*) OVER w AS n FROM t0 WINDOW w AS (PARTITION BY b ORDER BY a > (SELECT max(s.k) FROM t1 s))
SELECT q.k, (SELECT count(*) FROM t1 r WHERE r.a = q.a AND r.k IN (SELECT s.k FROM t2 s)) AS n FROM t0 q
SELECT q.k FROM t0 q WHERE q.a IN (SELECT r.a FROM t1 r WHERE r.k < q.k)
SELECT k, q.a, r.a AS c, s.b FROM t0 q LEFT JOIN t1 r USING (k) RIGHT JOIN t2 s USING (k)
SELECT q.a, q.b FROM t0 q
SELECT q.b, r.a FROM t0 q JOIN t1 r ON r.k = q.k
SELECT q.a, r.b FROM t0 q CROSS JOIN t1 r
SELECT q.a, r.b FROM t0 q LEFT JOIN t1 r ON r.a >= q.a
SELECT q.a, q.b, count(*) AS n FROM t0 q GROUP BY ROLLUP (a, b) HAVING count(*) > 0
SELECT b, k, sum(k) AS n, grouping_id(k, b) AS m FROM t0 GROUP BY CUBE (k, b) HAVING count(*) > 0
SELECT q.a, r.b, max(s.k) AS n FROM t0 q JOIN t1 r ON r.k = q.k LEFT JOIN t2 s ON s.k = r.k GROUP BY q.a, ROLLUP (r.b)
SELECT q.a, count(*) AS n FROM t0 q GROUP BY GROUPING SETS ((a), (b), (a)) HAVING count(*) > 0
SELECT coalesce(a, -1) AS a, n FROM (SELECT a, count(*) AS n FROM t0 GROUP BY ROLLUP (a, b) HAVING count(*) > 1)
SELECT q.k, q.a FROM t0 q WHERE q.a >= (SELECT max(r.a) FROM t1 r WHERE r.b = 'x')
SELECT q.k, s.n FROM t0 q CROSS JOIN (SELECT min(a) AS n FROM t1) s WHERE q.a > s.n
SELECT q.k FROM t0 q WHERE q.b = 'x' OR q.a IN (SELECT s.a FROM t2 s) AND q.k > 1
SELECT q.k FROM t0 q WHERE NOT (q.b = 'x' OR q.a IN (SELECT s.a FROM t2 s))
SELECT count(*) AS n, sum(a) AS m, min(k) AS o, max(b) AS p FROM t0
SELECT count(q.a) AS n, sum(q.a * r.k) AS m FROM t0 q LEFT JOIN t1 r ON r.k = q.a
SELECT count(*) AS n, sum(q.a) AS m FROM t0 q JOIN t0 r ON r.k = q.a
SELECT count(*) FILTER (WHERE r.b = 'x') AS n FROM t0 q RIGHT JOIN t1 r ON r.k = q.a JOIN t2 s ON s.k = r.k
SELECT sum(q.a) AS n FROM t0 q WHERE q.k IN (SELECT r.k FROM t1 r)
SELECT count(*) AS n, min(q.a) AS m FROM t0 q JOIN t1 r ON r.k = q.k LEFT JOIN t2 s ON s.a = r.a
SELECT count(*) AS n, max(q.a) AS m FROM t0 q WHERE q.a >= (SELECT min(r.a) FROM t0 r WHERE r.b = q.b)
SELECT count(*) AS n, sum(a) AS m FROM (SELECT a, b FROM t0 INTERSECT SELECT a, b FROM t1 EXCEPT SELECT a, b FROM t2)
SELECT count(*) AS n, max(x) AS m FROM (SELECT a, b FROM t0 UNION ALL SELECT k, b FROM t1) q(x, y) JOIN t2 s ON s.b = y
SELECT count(*) AS n FROM t0 GROUP BY a
SELECT count(*) AS n, max(q.b) AS m FROM t0 q LEFT JOIN t1 r ON r.k = q.k GROUP BY q.a, r.b HAVING count(*) < 3
SELECT sum(r.a) AS n FROM t0 q JOIN t1 r ON r.b = q.b WHERE q.k > (SELECT min(k) FROM t2) GROUP BY r.k % 2
SELECT count(*) AS n, sum(m) AS o FROM (SELECT a, count(*) AS m FROM t0 GROUP BY a HAVING count(*) > 1) q
SELECT count(q.m) AS n FROM (SELECT b, max(a) AS m FROM t0 GROUP BY b) q JOIN t1 r ON r.b = q.b
SELECT count(*) AS n FROM (SELECT a, row_number() OVER (PARTITION BY b ORDER BY a) AS o FROM t0) q WHERE o = 1
SELECT max(q.a) AS n, 'x' AS m FROM (SELECT k, a FROM t0 WHERE a > 0) q LEFT ANTI JOIN t1 r ON r.k = q.k
"""


@pytest.mark.parametrize("sql", TRAPS.strip().splitlines())
def test_a_trap_is_refused_or_gives_the_full_answer(duck: Duck, sql: str) -> None:
    for seed in range(400 if os.environ.get("TIDEGATE_PROVE") else 6):
        rng = Random(seed)
        columns = (Column("k", "int"), Column("a", "int"), Column("b", "text"))
        tables = [Table(TableName("lake", "raw", f"t{n}"), columns, random_key(rng)) for n in range(3)]
        for table in tables:
            fill(rng, table)
        maintained(rng, duck, tables, Model(re.sub(r"\bt(\d)\b", r"`lake`.`raw`.`t\1`", sql), (), (), False))


def maintained(rng: Random, duck: Duck, existing: Sequence[Table], model: Model) -> str:
    """One table, built, and after a change of what it reads brought up to date. Why not, or `delta`."""
    tables = {table.name: table for table in existing}
    put(duck, tables)
    duck.build(model.sql)
    then = {name: dict(table.rows) for name, table in tables.items()}
    changes = some_changes(rng, tables)
    put(duck, tables)
    inputs = {name: facts(table, changes[name]) for name, table in tables.items()}
    delta = rewrite(model.sql, inputs, model.key, model.within_key, holds_result=True)
    if not isinstance(delta, DeltaQuery):
        return delta.construct
    assert not model.within_key or set(delta.region) <= set(model.key)
    duck.put_images(delta, tables, then, changes)
    if why := duck.apply(delta):
        assert "other rows" not in why, story(model, delta, then, tables, changes)
        return "guarded"
    expected, found = duck.rows(translated(model.sql)), duck.rows("FROM target")
    assert found == expected, story(model, delta, then, tables, changes)
    if delta.unique:
        keys = duck.rows(f"SELECT {', '.join(delta.region)} FROM target")
        assert max(keys.values(), default=1) == 1, story(model, delta, then, tables, changes)
    return "delta"


def some_changes(rng: Random, tables: Mapping[TableName, Table]) -> dict[TableName, Changed]:
    """Of all tables, or of one: what is known of the only one that changed is used."""
    alone = rng.choice((None, None, *tables))
    return {name: change(rng, table, changes=alone in (None, name)) for name, table in tables.items()}


def put(duck: Duck, tables: Mapping[TableName, Table]) -> None:
    for name, table in tables.items():
        duck.put(str(name), table, list(table.rows.values()))


def story(
    model: Model,
    delta: DeltaQuery,
    then: Mapping[TableName, Mapping[int, Row]],
    tables: Mapping[TableName, Table],
    changes: Mapping[TableName, Changed],
) -> str:
    lines = [model.sql, f"region {delta.region} unique {delta.unique}"]
    for name, table in tables.items():
        columns = ", ".join(column.name for column in table.columns)
        lines += [f"{name}({columns}) unique {table.unique}", f"  then {then[name]}", f"  now {table.rows}"]
        lines.append(f"  {changes[name]}")
    return "\n".join([*lines, "touched:", delta.touched, "result:", delta.result])


@settings(max_examples=EXAMPLES // 4, **QUIETLY)
@given(rng=SEEDED)
def test_columns_that_are_not_needed_change_nothing(duck: Duck, rng: Random) -> None:
    tables = {table.name: table for table in random_tables(rng)}
    model = random_model(rng, list(tables.values()))
    put(duck, tables)
    expected = duck.rows(translated(model.sql))
    needed = needed_columns(model.sql, {name: facts(table) for name, table in tables.items()})
    for name, table in tables.items():
        read = needed[name]
        for i, row in table.rows.items():
            table.rows[i] = tuple(
                value if read is None or column.name in read else column.value(rng)
                for value, column in zip(row, table.columns, strict=True)
            )
    put(duck, tables)
    assert duck.rows(translated(model.sql)) == expected, (model.sql, needed)


@settings(max_examples=EXAMPLES // 10, **QUIETLY)
@given(rng=SEEDED)
def test_the_explained_statement_gives_the_result(duck: Duck, rng: Random) -> None:
    tables = {table.name: table for table in random_tables(rng)}
    model = random_model(rng, list(tables.values()))
    then = {name: dict(table.rows) for name, table in tables.items()}
    changes = {name: change(rng, table) for name, table in tables.items()}
    put(duck, tables)
    duck.build(model.sql)
    inputs = {name: facts(table, changes[name]) for name, table in tables.items()}
    delta = rewrite(model.sql, inputs, model.key, holds_result=True)
    if isinstance(delta, DeltaQuery):
        duck.put_images(delta, tables, then, changes)
        images = {read.name: f"SELECT * FROM main.{read.name}" for read in delta.reads}
        statement = explain(delta, {**images, OWN: "SELECT * FROM main.former"})
        duck.build_former()
        if duck.apply(delta):
            return
        assert duck.rows(translated(statement)) == duck.rows("FROM fresh"), statement
