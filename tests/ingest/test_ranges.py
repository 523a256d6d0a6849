"""Every row of a read is in exactly one range, whatever is NULL and however many rows share values.

The statements run: those for SQL Server in SQLite, which knows its brackets and its order of NULL, those for PostgreSQL
in DuckDB, which has its casts and its order.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.errors import LandingError
from tidegate.ingest.sql.sql_dialects import POSTGRES, TRANSACT_SQL, SqlColumn, SqlDialect, ValueKind, generic_dialect
from tidegate.ingest.sql.sql_reads import Key, SqlTableRead, with_key

Row = tuple[int, int | None, str | None, int | None]
Query = Callable[[str], list[tuple[Any, ...]]]

FILTER = SqlColumn("seen", ValueKind.NUMBER)
ORDERS = [
    (SqlColumn("region", ValueKind.TEXT), SqlColumn("line", ValueKind.NUMBER), SqlColumn("id", ValueKind.NUMBER)),
    (SqlColumn("seen", ValueKind.NUMBER), SqlColumn("region", ValueKind.TEXT)),
    (SqlColumn("line", ValueKind.NUMBER),),
]
small = st.none() | st.integers(0, 4)
values = st.tuples(small, st.none() | st.sampled_from(["", "a", "b ", "it's"]), small)


def lite(rows: list[Row]) -> tuple[Query, Callable[[], None]]:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE orders (id INTEGER, seen INTEGER, region TEXT, line INTEGER)")
    connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", rows)
    return lambda sql: connection.execute(sql).fetchall(), connection.close


def duck(rows: list[Row]) -> tuple[Query, Callable[[], None]]:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE orders (id INTEGER, seen INTEGER, region TEXT, line INTEGER)")
    if rows:
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", rows)
    return lambda sql: connection.execute(sql).fetchall(), connection.close


ENGINES = {
    "sqlserver": (TRANSACT_SQL, lite),
    "postgres": (POSTGRES, duck),
    "any": (generic_dialect("jdbc:sqlite:x"), lite),
}


def key_of(row: tuple[Any, ...]) -> Key:
    return tuple(None if value is None else str(value) for value in row[:-1])


def ids(query: Query, read: SqlTableRead, predicate: str | None) -> list[int]:
    return [row[0] for row in query(f"SELECT id FROM {read.from_table} WHERE {predicate or '1 = 1'}")]


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=25)
@given(
    rows=st.lists(values, max_size=14),
    order=st.sampled_from(ORDERS),
    bounds=st.none() | st.tuples(st.none() | st.integers(0, 4), st.integers(0, 4)),
    step=st.integers(1, 5),
)
def test_ranges_take_every_row_once(
    engine: str,
    rows: list[tuple[int | None, str | None, int | None]],
    order: tuple[SqlColumn, ...],
    bounds: tuple[int | None, int] | None,
    step: int,
) -> None:
    dialect, start = ENGINES[engine]
    query, close = start([(number, *row) for number, row in enumerate(rows)])
    try:
        read = read_of(dialect, order, bounds)
        expected = [number for number, row in enumerate(rows) if is_read(row[0], bounds)]
        assert sorted(ids(query, read, read.whole())) == expected
        rest = read.without_value()
        begun = ids(query, read, rest) if rest else []
        ends = [key_of(row) for row in sorted(query(read.range_ends(step)), key=lambda row: row[-1])]
        starts: list[Key | None] = [None, *ends]
        ranges = [ids(query, read, read.range(*each)) for each in zip(starts, [*ends, None], strict=True)]
        assert sorted(begun + [row for each in ranges for row in each]) == expected
        # A process that continues behind any range divides the rest anew, and takes what is left.
        for done, after in enumerate(ends, 1):
            again = [key_of(row) for row in sorted(query(read.range_ends(step, after)), key=lambda row: row[-1])]
            left = zip([after, *again], [*again, None], strict=True)
            taken = [row for each in ranges[:done] for row in each]
            taken += [row for each in left for row in ids(query, read, read.range(*each))]
            assert sorted(begun + taken) == expected
    finally:
        close()


def read_of(dialect: SqlDialect, order: tuple[SqlColumn, ...], bounds: tuple[int | None, int] | None) -> SqlTableRead:
    read = SqlTableRead(dialect, "orders", ordering=order)
    if bounds is None:
        return read
    lower, upper = bounds
    return replace(read, filtering=FILTER, lower=None if lower is None else str(lower), upper=str(upper))


def is_read(value: int | None, bounds: tuple[int | None, int] | None) -> bool:
    if bounds is None:
        return True
    lower, upper = bounds
    if value is None:
        return lower is None
    return (lower is None or value > lower) and value <= upper


@pytest.mark.parametrize("engine", ENGINES)
def test_the_bound_is_the_greatest_value_above_the_former_one(engine: str) -> None:
    dialect, start = ENGINES[engine]
    query, close = start([(1, 3, None, None), (2, None, None, None), (3, 7, None, None)])
    try:
        read = SqlTableRead(dialect, "orders", filtering=FILTER)
        assert [query(replace(read, lower=lower).greatest())[0][0] for lower in (None, "3", "7")] in (
            [7, 7, None],
            ["7", "7", None],
        )
        assert query(read.has_rows()) == [(1,)]
    finally:
        close()
    empty, close = start([])
    assert empty(read.greatest())[0][0] is None
    assert empty(read.has_rows()) == [(0,)]
    close()


def test_infinity_is_no_bound_and_is_read_once() -> None:
    duck = duckdb.connect()
    duck.execute("CREATE TABLE orders (id INTEGER, seen TIMESTAMP)")
    duck.execute("INSERT INTO orders VALUES (1, '2024-01-01'), (2, 'infinity'), (3, NULL), (4, '-infinity')")
    read = SqlTableRead(POSTGRES, "orders", filtering=SqlColumn("seen", ValueKind.TIMESTAMP))
    assert duck.execute(read.greatest()).fetchall() == [("2024-01-01 00:00:00", 1)]
    first = replace(read, upper="2024-01-01 00:00:00")
    assert ids_of(duck, first) == [1, 2, 3, 4]
    duck.execute("INSERT INTO orders VALUES (5, '2025-01-01')")
    later = replace(read, lower="2024-01-01 00:00:00")
    assert duck.execute(later.greatest()).fetchall() == [("2025-01-01 00:00:00", 1)]
    assert ids_of(duck, replace(later, upper="2025-01-01 00:00:00")) == [5]
    duck.close()


def ids_of(duck: duckdb.DuckDBPyConnection, read: SqlTableRead) -> list[int]:
    return [row[0] for row in duck.execute(f"SELECT id FROM orders WHERE {read.whole()} ORDER BY id").fetchall()]


@pytest.mark.parametrize("dialect", [TRANSACT_SQL, generic_dialect("jdbc:h2:")])
@pytest.mark.parametrize("kind", [ValueKind.NUMBER, ValueKind.BINARY])
@pytest.mark.parametrize("text", ["1 OR 1=1", "0'; DROP TABLE orders; --", "１", "", "NaN"])
def test_a_bound_that_stands_without_quotes_is_a_number(dialect: SqlDialect, kind: ValueKind, text: str) -> None:
    if kind is ValueKind.BINARY and not text:
        pytest.skip("no bytes")
    with pytest.raises(LandingError, match="where a number"):
        dialect.literal(text, kind)


def test_key_columns_follow_those_that_order() -> None:
    assert with_key(["updated_at", "Region"], ["region", "id"]) == ("updated_at", "Region", "id")
    assert with_key(["id", "id"], ["ID"]) == ("id",)
    assert with_key(["at"], []) == ("at",)
