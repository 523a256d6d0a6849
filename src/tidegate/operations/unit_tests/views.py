"""The inputs of a unit test as temporary views: the rows that it gives, and no rows where it gives none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate.compiler.outside import Outside
from tidegate.compiler.tables import visible_columns
from tidegate.compiler.values import BoundQuery, Compiled, CompiledModel, TableRead
from tidegate.datatypes import ANY, NOTHING_KNOWN, VOID, Column, Relation, parse_type
from tidegate.errors import QueryError
from tidegate.names import TableName, nearest, quote
from tidegate.operations.unit_tests.cells import infer_type, rows_sql, type_sql
from tidegate.project.unit_tests import Rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Input", "InputViews", "input_of", "meant"]

Input = TableName | str
"""A table, or the name of a landing zone."""


def input_of(read: TableRead) -> Input:
    if read.landing is not None:
        return read.landing.zone
    assert read.table is not None
    return read.table


@dataclass(frozen=True, slots=True)
class InputViews:
    """The views of one model's tests, on its session."""

    session: SparkSession
    compiled: Compiled
    outside: Outside
    model: CompiledModel

    def make(self, query: BoundQuery, given: Mapping[Input, Rows]) -> dict[Input, str]:
        """The name of the view for each input of the query."""
        reads = {input_of(read): read for read in query.reads}
        views = {}
        for number, (name, read) in enumerate(reads.items()):
            views[name] = f"__given_{number}"
            self._frame(name, self._relation(read), given.get(name)).createOrReplaceTempView(views[name])
        return views

    def _relation(self, read: TableRead) -> Relation:
        """The columns of an input as far as they are known."""
        if read.landing is not None:
            declared = read.landing.settings.columns or {}
            columns = tuple(Column(name, parse_type(kind) or ANY) for name, kind in declared.items())
            return Relation(columns) if columns else NOTHING_KNOWN
        assert read.table is not None
        published = self.outside.relation(read.table)
        found = self.compiled.models.get(read.table)
        return published if found is None else visible_columns(found.model, found.relation, published)

    def _frame(self, name: Input, relation: Relation, rows: Rows | None) -> DataFrame:
        if rows is not None and rows.sql is not None:
            return self._aligned(name, relation, rows, self.session.sql(rows.sql))
        named, given = (rows.columns, rows.rows) if rows is not None else ((), ())
        columns = [*relation.columns, *self._further(name, relation, named)]
        at = {column.lower(): position for position, column in enumerate(named)}
        places = [at.get(column.name.lower()) for column in columns]
        cells = [tuple(None if place is None else row[place] for place in places) for row in given]
        typed = [
            column if column.type.known else Column(column.name, infer_type(row[i] for row in cells))
            for i, column in enumerate(columns)
        ]
        return self.session.sql(rows_sql(typed, cells))

    def _further(self, name: Input, relation: Relation, named: Iterable[str]) -> list[Column]:
        """Columns that nobody declared: those that the rows have, and those that the query reads."""
        if relation.complete:
            return []
        origin = f"landing:{name}" if isinstance(name, str) else str(name)
        readers = [self.model, *(self.compiled.models[table] for table in self.model.inlined)]
        used = [edge.origin for reader in readers for edge in reader.edges]
        used += [condition for reader in readers for condition in reader.conditions]
        names: dict[str, str] = {}
        for column in (*named, *(column for table, column in used if table == origin)):
            names.setdefault(column.lower(), column)
        return [Column(column) for column in names.values() if relation.find(column) is None]

    def _aligned(self, name: Input, relation: Relation, rows: Rows, frame: DataFrame) -> DataFrame:
        """Rows given as a query, with the columns that the input has."""
        there = {column.lower(): column for column in frame.columns}
        extra = [column for column in frame.columns if relation.find(column) is None]
        if extra and relation.complete:
            shown = name if isinstance(name, str) else name.short(self.compiled.namespace)
            raise QueryError(
                f"{shown} has no column '{extra[0]}'",
                where=f"{rows.place.file}:{rows.place.line}",
                remedy=meant(extra[0], [column.name for column in relation.columns]),
            )
        chosen = []
        for column in relation.columns:
            value = quote(there[column.name.lower()]) if column.name.lower() in there else "NULL"
            typed = f"CAST({value} AS {type_sql(column.type)})" if column.type.known and column.type != VOID else value
            chosen.append(f"{typed} AS {quote(column.name)}")
        more = [column for column in self._further(name, relation, ()) if column.name.lower() not in there]
        chosen += [f"NULL AS {quote(column.name)}" for column in more]
        return frame.selectExpr(*chosen, *map(quote, extra))


def meant(name: str, names: Sequence[str]) -> str:
    near = nearest(name, names)
    return f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(names)}"
