"""A change of which no row reaches a query leaves its result as it is."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.planner.deltas.duck import TYPES, Duck, facts, translated, value_sql
from tests.planner.deltas.models import Changed, Row, Table, change, random_model, random_tables
from tidegate.names import TableName
from tidegate.planner.deltas.delta_query import InputTable
from tidegate.planner.deltas.reaching_rows import ROW_AFTER, ROW_BEFORE, reaching_rows
from tidegate.planner.deltas.rewrite import needed_columns

PROVE = bool(os.environ.get("TIDEGATE_PROVE"))
QUIETLY: dict[str, Any] = {
    "database": None,
    "derandomize": not PROVE,
    "suppress_health_check": list(HealthCheck),
}
SEEDED = st.integers(0, 2**64).map(Random)
ORDERS, CUSTOMERS = TableName("lake", "raw", "t0"), TableName("lake", "raw", "t1")
COLUMNS = ("k", "a", "b")


@pytest.fixture(scope="module")
def duck() -> Iterator[Duck]:
    found = Duck()
    yield found
    found.close()


def test_where_no_changed_row_reaches_a_query_it_gives_the_same(duck: Duck) -> None:
    outcomes: Counter[str] = Counter()

    @settings(max_examples=12000 if PROVE else 400, **QUIETLY)
    @given(SEEDED)
    def proven(rng: Random) -> None:
        tables = {table.name: table for table in random_tables(rng)}
        sql = random_model(rng, list(tables.values())).sql
        put(duck, tables)
        before, then = duck.rows(translated(sql)), {name: dict(table.rows) for name, table in tables.items()}
        changes = {name: change(rng, table) for name, table in tables.items()}
        inputs = {name: facts(table, changes[name]) for name, table in tables.items()}
        conditions, used = reaching_rows(sql, inputs), needed_columns(sql, inputs)
        reaching = 0
        for name, table in tables.items():
            reaching += reached(duck, table, then[name], changes[name], conditions.get(name), used[name])
        if reaching or not any(each.before or each.after for each in changes.values()):
            outcomes["reached" if reaching else "unchanged"] += 1
            return
        put(duck, tables)
        assert duck.rows(translated(sql)) == before, (sql, conditions, then, changes)
        outcomes["filtered" if conditions else "unread"] += 1

    proven()
    assert outcomes["unread"], outcomes
    assert outcomes["filtered"], outcomes


def put(duck: Duck, tables: Mapping[TableName, Table]) -> None:
    for name, table in tables.items():
        duck.put(str(name), table, list(table.rows.values()))


def reached(
    duck: Duck,
    table: Table,
    then: Mapping[int, Row],
    changed: Changed,
    condition: str | None,
    used: frozenset[str] | None,
) -> int:
    """How many changed rows of the table differ in what is read of it and pass a filter."""
    count = 0
    for i in changed.before | changed.after:
        sides = (then[i] if i in changed.before else None, table.rows[i] if i in changed.after else None)
        read = [place for place, column in enumerate(table.columns) if used is None or column.name in used]
        if None not in sides and all(sides[0][p] == sides[1][p] for p in read):  # type: ignore[index]
            continue
        if condition is None:
            return 1
        structs = f"{struct(table, sides[0])} AS {ROW_BEFORE}, {struct(table, sides[1])} AS {ROW_AFTER}"
        spark_sql = f"SELECT 1 FROM changed WHERE {condition}"
        count += duck.rows(f"WITH changed AS (SELECT {structs}) {translated(spark_sql)}").total()
    return count


def struct(table: Table, row: Row | None) -> str:
    if row is None:
        fields = ", ".join(f"{column.name} {TYPES[column.type]}" for column in table.columns)
        return f"CAST(NULL AS STRUCT({fields}))"
    values = zip(table.columns, row, strict=True)
    fields = ", ".join(f"{column.name} := {value_sql(value)}::{TYPES[column.type]}" for column, value in values)
    return f"struct_pack({fields})"


FILTERS = """
SELECT k FROM t0 WHERE a > 1                                    | t0: a > 1
SELECT k FROM t0 WHERE a > 1 OR b = 'x'                         | t0: (a > 1 OR b = 'x')
SELECT k FROM t0 WHERE a > 1 AND b = 'x'                        | t0: a > 1 AND b = 'x'
SELECT sum(a) AS n FROM t0 WHERE b = 'x'                        | t0: b = 'x'
SELECT k FROM t0                                                |
SELECT k FROM t0 LIMIT 5                                        |
SELECT q.k FROM t0 q JOIN t1 r ON q.k = r.k WHERE r.b = 'x'     | t1: b = 'x'
SELECT q.k FROM t0 q JOIN t1 r ON q.k = r.k AND q.a > r.a       |
SELECT q.k FROM t0 q LEFT JOIN t1 r ON q.k = r.k AND r.a = 1    | t1: a = 1
SELECT q.k FROM t0 q LEFT JOIN t1 r ON q.k = r.k WHERE r.a = 1  |
SELECT q.k FROM t0 q LEFT JOIN t1 r ON q.k = r.k AND q.a = 1    |
SELECT q.k FROM t0 q FULL JOIN t1 r ON q.k = r.k WHERE q.a = 1  |
SELECT r.k FROM t0 q RIGHT JOIN t1 r ON q.k = r.k WHERE r.a = 1 | t1: a = 1
SELECT k FROM t0 WHERE k IN (SELECT k FROM t1 WHERE a = 2)      | t1: a = 2
SELECT k FROM t0 WHERE a = 1 UNION ALL SELECT k FROM t0         |
SELECT k FROM t0 WHERE a = 1 UNION ALL SELECT k FROM t0 WHERE a = 2 | t0: a = 1 / a = 2
WITH c AS (SELECT * FROM t0 WHERE a = 1) SELECT count(*) AS n FROM c | t0: a = 1
SELECT k FROM (SELECT k, a FROM t0 LIMIT 3) WHERE a = 1         |
SELECT k, x FROM t0 LATERAL VIEW explode(array(a)) AS x WHERE x = 1 AND a = 2 | t0: a = 2
SELECT k FROM t0 WHERE exists(array(a), k -> k > 1)             |
SELECT k FROM t0 WHERE a > (SELECT max(a) FROM t1 WHERE k = 1)  | t1: k = 1
"""


@pytest.mark.parametrize("line", FILTERS.strip().splitlines())
def test_the_filter_of_each_table_is_what_its_rows_must_pass(line: str) -> None:
    sql, _, expected = line.rpartition("|")
    for short, table in (("t0", ORDERS), ("t1", CUSTOMERS)):
        sql = sql.replace(f" {short}", f" {table.quoted}")
    found = reaching_rows(sql, {table: InputTable(COLUMNS, (), True) for table in (ORDERS, CUSTOMERS)})
    texts = []
    for table, condition in found.items():
        sides = [part.strip().removesuffix(")") for part in condition.split("OR (") if ROW_AFTER in part]
        parts = [side.removeprefix(f"{ROW_AFTER} IS NOT NULL AND ").replace(f"{ROW_AFTER}.", "") for side in sides]
        texts.append(f"{table.name}: {' / '.join(parts)}")
    assert "; ".join(texts) == expected.strip(), found
