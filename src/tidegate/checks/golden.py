"""A CSV file as rows that a table must hold, no more and no fewer."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tidegate.checks.parameters import Mistake
from tidegate.checks.values import Query
from tidegate.datatypes import Column, Relation
from tidegate.names import literal, nearest, quote
from tidegate.problems import did_you_mean

__all__ = ["golden_rows"]

_CELL = re.compile(r'(?:"(?P<quoted>(?:[^"]|"")*)"|(?P<plain>[^",\r\n]*))(?P<end>,|\r?\n|\r|\Z)')
_MOST_ROWS = 5000

Cells = list[str | None]


def golden_rows(file: str, text: str, table: Relation) -> Query:
    """Raises ValueError where the file cannot be compared with such a table."""
    rows = list(_rows(text, file))
    if not rows:
        raise ValueError(f"{file} is empty; its first line must name columns")
    header, rows = rows[0], rows[1:]
    if len(rows) > _MOST_ROWS:
        raise ValueError(f"{file} has {len(rows)} rows; more than {_MOST_ROWS} are compared better by a SQL test")
    columns = [_column(name, file, table) for name in header]
    for number, row in enumerate(rows, 2):
        if len(row) != len(columns):
            raise ValueError(f"row {number} of {file} has {len(row)} cells, not {len(columns)}")
    names = ", ".join(quote(column.name) for column in columns)
    expected = _relation(columns, rows)
    actual = f"SELECT {names} FROM {{table}}"
    sql = (
        f"SELECT 'not in the file' AS `_row`, * FROM ({actual} EXCEPT ALL {expected}) "
        f"UNION ALL SELECT 'not in the table' AS `_row`, * FROM ({expected} EXCEPT ALL {actual})"
    )
    return Query(sql, f"the {len(rows)} rows of {file}")


def _column(name: str | None, file: str, table: Relation) -> Column:
    if not name:
        raise ValueError(f"a column of {file} has no name")
    found = table.find(name)
    if found is None and table.complete:
        fix = did_you_mean(nearest(name, [column.name for column in table.columns]))
        raise Mistake(f"the table has no column '{name}', which {file} names", "UnknownColumn", fix)
    column = found or Column(name)
    if column.type.kind in ("array", "map", "struct", "variant", "binary"):
        raise Mistake(f"column '{name}' is {column.type}, which a CSV file cannot hold", "CheckColumnType")
    return column


def _relation(columns: list[Column], rows: list[Cells]) -> str:
    places = [f"c{place}" for place in range(len(columns))]
    cast = [
        f"CAST({place} AS {column.type}) AS {quote(column.name)}"
        if column.type.known
        else f"{place} AS {quote(column.name)}"
        for place, column in zip(places, columns, strict=True)
    ]
    # A table of values has at least one row; the types of its columns are set by it.
    values = [", ".join("CAST(NULL AS STRING)" for _ in columns)]
    values += [", ".join("NULL" if cell is None else _literal(cell) for cell in row) for row in rows]
    numbered = ", ".join(f"({number}, {row})" for number, row in enumerate(values))
    return f"SELECT {', '.join(cast)} FROM VALUES {numbered} AS golden(`row`, {', '.join(places)}) WHERE `row` > 0"


def _literal(cell: str) -> str:
    """`{table}` in a cell is no place for the table."""
    return literal(cell).replace("{", "\\u007B")


def _rows(text: str, file: str) -> Iterator[Cells]:
    row: Cells = []
    at, text = 0, text.removeprefix("\ufeff")
    while at < len(text):
        cell = _CELL.match(text, at)
        if cell is None:
            line = text.count("\n", 0, at) + 1
            raise ValueError(f"line {line} of {file} cannot be read: a quote is not closed, or text stands beside it")
        quoted, plain = cell["quoted"], cell["plain"]
        row.append(quoted.replace('""', '"') if quoted is not None else plain or None)
        at = cell.end()
        if cell["end"] != ",":
            if row != [None]:
                yield row
            row = []
    if row:
        yield [*row, None]
