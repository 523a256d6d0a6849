"""The rows that a unit test gives, as SQL and as temporary views."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from tidegate.compiler.compiled import BoundQuery, Compiled, CompiledModel, TableRead
from tidegate.compiler.external_tables import ExternalTables
from tidegate.compiler.table_columns import visible_columns
from tidegate.datatypes import (
    ANY,
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    NOTHING_KNOWN,
    STRING,
    TIMESTAMP,
    VOID,
    Column,
    DataType,
    Relation,
    array,
    parse_type,
    struct,
)
from tidegate.errors import QueryError
from tidegate.jsontext import json_text
from tidegate.names import TableName, nearest, quote
from tidegate.project.unit_test_files import Cell, DeclaredRows, Scalar
from tidegate.widening import inferred_type
from tidegate.write.spark_sql import literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Input", "InputViews", "cell_sql", "infer_type", "input_of", "meant", "rows_sql"]


def rows_sql(columns: Sequence[Column], rows: Iterable[Sequence[Cell]]) -> str:
    """A query of exactly these rows and columns."""
    if not columns:
        # A table without columns cannot be written down.
        columns, rows = (Column("_", STRING),), ()
    values = [
        f"({', '.join(cell_sql(cell, column.type) for cell, column in zip(row, columns, strict=True))})" for row in rows
    ]
    if not values:
        return f"SELECT {', '.join(f'{cell_sql(None, c.type)} AS {quote(c.name)}' for c in columns)} WHERE false"
    names = ", ".join(quote(column.name) for column in columns)
    return f"SELECT * FROM VALUES {', '.join(values)} AS t({names})"


def infer_type(cells: Iterable[Cell]) -> DataType:
    """The narrowest type that takes all of them; void where every one is NULL."""
    kind = VOID
    for cell in cells:
        kind = inferred_type(kind, _type_of(cell))
    return kind


def _type_of(cell: Cell) -> DataType:
    if cell is None:
        return VOID
    if isinstance(cell, tuple):
        return array(infer_type(cell))
    if isinstance(cell, Mapping):
        return struct((name, _type_of(inner)) for name, inner in cell.items())
    value = cell.value
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, int):
        return BIGINT if -(1 << 63) <= value < 1 << 63 else STRING
    if isinstance(value, float | Decimal):
        return DOUBLE
    if isinstance(value, datetime):
        return TIMESTAMP
    if isinstance(value, date):
        return DATE
    return BINARY if isinstance(value, bytes) else STRING


def cell_sql(cell: Cell, kind: DataType) -> str:
    """Always of exactly this type, so that all rows of a table agree."""
    if cell is None:
        return "NULL" if kind == VOID else f"CAST(NULL AS {kind.sql})"
    if kind.kind == "variant":
        return f"parse_json({literal(json_text(_json(cell)))})"
    if isinstance(cell, tuple) and kind.kind == "array":
        return f"CAST(array({', '.join(cell_sql(item, kind.args[0]) for item in cell)}) AS {kind.sql})"
    if isinstance(cell, Mapping) and kind.kind == "map":
        key, value = kind.args
        pairs = (f"{cell_sql(Scalar(name, name), key)}, {cell_sql(item, value)}" for name, item in cell.items())
        return f"CAST(map({', '.join(pairs)}) AS {kind.sql})"
    if isinstance(cell, Mapping) and kind.kind == "struct":
        members = {name.lower(): item for name, item in cell.items()}
        fields = (f"{literal(name)}, {cell_sql(members.get(name.lower()), inner)}" for name, inner in kind.args)
        return f"CAST(named_struct({', '.join(fields)}) AS {kind.sql})"
    if not isinstance(cell, Scalar):
        return f"CAST({literal(json_text(_json(cell)))} AS {kind.sql})"
    if isinstance(cell.value, bytes):
        return f"CAST(X'{cell.value.hex()}' AS {kind.sql})"
    return f"CAST({literal(_written(cell, kind))} AS {kind.sql})"


def _written(cell: Scalar, kind: DataType) -> str:
    """As it stands in the file, but for words and numbers that only the file's format understands."""
    if kind.is_text:
        return cell.text
    if isinstance(cell.value, bool):
        return str(cell.value).lower()
    if isinstance(cell.value, int):
        return str(cell.value)
    return cell.text.replace("_", "") if isinstance(cell.value, float) else cell.text


def _json(cell: Cell) -> object:
    if isinstance(cell, tuple):
        return [_json(item) for item in cell]
    if isinstance(cell, Mapping):
        return {name: _json(item) for name, item in cell.items()}
    if cell is None:
        return None
    return float(cell.value) if isinstance(cell.value, Decimal) else cell.value


Input = TableName | str
"""A table, or the name of a landing zone."""


def input_of(read: TableRead) -> Input:
    if read.landing is not None:
        return read.landing.zone
    if read.function is not None:
        return f"lib:{read.function.name}"
    assert read.table is not None
    return read.table


@dataclass(frozen=True, slots=True)
class InputViews:
    """The views of one model's tests, on its session."""

    session: SparkSession
    compiled: Compiled
    outside: ExternalTables
    model: CompiledModel

    def make(self, query: BoundQuery, declared: Mapping[Input, DeclaredRows]) -> dict[Input, str]:
        """The name of the view for each input of the query."""
        reads = {input_of(read): read for read in query.reads}
        views = {}
        for number, (name, read) in enumerate(reads.items()):
            views[name] = f"__given_{number}"
            self._frame(name, self._relation(read), declared.get(name)).createOrReplaceTempView(views[name])
        return views

    def _relation(self, read: TableRead) -> Relation:
        """The columns of an input as far as they are known."""
        if read.landing is not None:
            declared = read.landing.settings.columns or {}
            columns = tuple(Column(name, parse_type(kind) or ANY) for name, kind in declared.items())
            return Relation(columns) if columns else NOTHING_KNOWN
        if read.function is not None:
            return self.compiled.project.functions[read.function.name.lower()].relation
        assert read.table is not None
        published = self.outside.relation(read.table)
        model = self.compiled.models.get(read.table)
        return published if model is None else visible_columns(model.model, model.relation, published)

    def _frame(self, name: Input, relation: Relation, rows: DeclaredRows | None) -> DataFrame:
        if rows is not None and rows.sql is not None:
            return self._aligned(name, relation, rows, self.session.sql(rows.sql))
        column_names, declared_rows = (rows.columns, rows.rows) if rows is not None else ((), ())
        columns = [*relation.columns, *self._further(name, relation, column_names)]
        at = {column.lower(): position for position, column in enumerate(column_names)}
        places = [at.get(column.name.lower()) for column in columns]
        cells = [tuple(None if place is None else row[place] for place in places) for row in declared_rows]
        typed = [
            column if column.type.known else Column(column.name, infer_type(row[i] for row in cells))
            for i, column in enumerate(columns)
        ]
        return self.session.sql(rows_sql(typed, cells))

    def _further(self, name: Input, relation: Relation, column_names: Iterable[str]) -> list[Column]:
        """Columns that are not declared: those that the rows have, and those that the query reads."""
        if relation.complete:
            return []
        origin = f"landing:{name}" if isinstance(name, str) and not name.startswith("lib:") else str(name)
        readers = [self.model, *(self.compiled.models[table] for table in self.model.inlined)]
        used = [edge.origin for reader in readers for edge in reader.edges]
        used += [condition for reader in readers for condition in reader.conditions]
        names: dict[str, str] = {}
        for column in (*column_names, *(column for table, column in used if table == origin)):
            names.setdefault(column.lower(), column)
        return [Column(column) for column in names.values() if relation.find(column) is None]

    def _aligned(self, name: Input, relation: Relation, rows: DeclaredRows, frame: DataFrame) -> DataFrame:
        """Rows given as a query, with the columns that the input has."""
        frame_columns = {column.lower(): column for column in frame.columns}
        extra = [column for column in frame.columns if relation.find(column) is None]
        if extra and relation.complete:
            label = name if isinstance(name, str) else name.short(self.compiled.namespace)
            raise QueryError(
                f"{label} has no column '{extra[0]}'",
                where=f"{rows.place.file}:{rows.place.line}",
                remedy=meant(extra[0], [column.name for column in relation.columns]),
            )
        chosen = []
        for column in relation.columns:
            value = quote(frame_columns[column.name.lower()]) if column.name.lower() in frame_columns else "NULL"
            typed = f"CAST({value} AS {column.type.sql})" if column.type.known and column.type != VOID else value
            chosen.append(f"{typed} AS {quote(column.name)}")
        more = [column for column in self._further(name, relation, ()) if column.name.lower() not in frame_columns]
        chosen += [f"NULL AS {quote(column.name)}" for column in more]
        return frame.selectExpr(*chosen, *map(quote, extra))


def meant(name: str, names: Sequence[str]) -> str:
    near = nearest(name, names)
    return f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(names)}"
