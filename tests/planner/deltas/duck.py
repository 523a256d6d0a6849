"""Tables, their images and a maintained result in DuckDB, to see a rewrite at work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from math import isnan
from typing import Any

import duckdb
import sqlglot
from hypothesis import reject

from tests.planner.deltas.models import Changed, Row, Table
from tidegate.names import TableName
from tidegate.planner.deltas.delta_query import OWN, TOUCHED, DeltaQuery, Image, InputTable

__all__ = ["TYPES", "Duck", "facts", "translated", "value_sql"]

TYPES = {"int": "INTEGER", "text": "VARCHAR", "real": "DOUBLE"}


def translated(sql: str) -> str:
    return sqlglot.transpile(sql, read="spark", write="duckdb")[0]


def _literal(row: Row) -> str:
    return f"({', '.join(map(value_sql, row))})"


def value_sql(value: int | float | str | None) -> str:
    return "NULL" if value is None else f"'{value}'::DOUBLE" if isinstance(value, float) else repr(value)


def _comparable(value: Any) -> Any:
    """NaN equals itself, as in SQL; 0.0 stands for -0.0, of which a group shows either."""
    return ("NaN" if isnan(value) else value + 0.0) if isinstance(value, float) else value


class Duck:
    """One database; `close()` when done."""

    def __init__(self) -> None:
        self._connection = duckdb.connect(":memory:", config={"threads": 1})
        self._connection.execute("ATTACH ':memory:' AS lake")
        for layer in ("raw", "silver"):
            self._connection.execute(f"CREATE SCHEMA lake.{layer}")

    def close(self) -> None:
        self._connection.close()

    def put(self, name: str, table: Table, rows: Collection[Row]) -> None:
        listed = ", ".join(_literal(row) for row in rows) or f"({', '.join('NULL' for _ in table.columns)})"
        columns = ", ".join(f"{column.name}::{TYPES[column.type]} AS {column.name}" for column in table.columns)
        names = ", ".join(column.name for column in table.columns)
        cut = "" if rows else " WHERE FALSE"
        self._connection.execute(
            f"CREATE OR REPLACE TABLE {name} AS SELECT {columns} FROM (VALUES {listed}) AS v({names}){cut}"
        )

    def rows(self, sql: str) -> Counter[Any]:
        return Counter(tuple(map(_comparable, row)) for row in self._run(sql).fetchall())

    def _run(self, sql: str) -> Any:
        try:
            return self._connection.execute(sql)
        except (duckdb.NotImplementedException, duckdb.InternalException):
            # Some correlated subqueries are beyond it, and one query in thousands is beyond its optimizer.
            reject()

    def build(self, sql: str) -> None:
        self._run(f"CREATE OR REPLACE TABLE target AS {translated(sql)}")

    def build_former(self) -> None:
        """The target as it is now, whatever becomes of it."""
        self._run("CREATE OR REPLACE TABLE former AS FROM target")

    def put_images(
        self,
        delta: DeltaQuery,
        tables: Mapping[TableName, Table],
        then: Mapping[TableName, Mapping[int, Row]],
        changes: Mapping[TableName, Changed],
    ) -> None:
        for read in delta.reads:
            table, were, changed = tables[read.table], then[read.table], changes[read.table]
            if read.image is Image.AFTER:
                rows = [table.rows[i] for i in sorted(changed.after)]
            else:
                rows = [row for i, row in were.items() if read.image is Image.THEN or i in changed.before]
            self.put(read.name, table, rows)

    def apply(self, delta: DeltaQuery) -> str:
        """Replaces the rows of the target that are touched. Gives why a guard wants all rows instead, if one does."""
        same = " AND ".join(f"target.{name} IS NOT DISTINCT FROM {TOUCHED}.{name}" for name in delta.region)
        run = self._run
        run(f"CREATE OR REPLACE VIEW {OWN} AS FROM target")
        for step in delta.steps:
            run(f"CREATE OR REPLACE TABLE {step.name} AS {translated(step.sql)}")
        for guard in delta.guards:
            if self.rows(translated(guard.sql)):
                return guard.why
        run(f"CREATE OR REPLACE TABLE {TOUCHED} AS {translated(delta.touched)}")
        run(f"CREATE OR REPLACE TABLE fresh AS {translated(delta.result)}")
        run(f"DELETE FROM target WHERE EXISTS (SELECT 1 FROM {TOUCHED} WHERE {same})")
        run("INSERT INTO target SELECT * FROM fresh")
        return ""


def facts(table: Table, changed: Changed | None = None) -> InputTable:
    unique = (table.unique,) if table.unique else ()
    columns = tuple(column.name for column in table.columns)
    types = {
        column.name: {"text": "string", "real": "double"}.get(column.type, column.type) for column in table.columns
    }
    if changed is None:
        return InputTable(columns, unique, types=types)
    return InputTable(columns, unique, bool(changed.before or changed.after), changed.kept, types=types)
