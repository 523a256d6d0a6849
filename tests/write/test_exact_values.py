"""Two values differ where what is stored differs, whichever way they are compared."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tidegate.names import TableName
from tidegate.runs.build.row_diff_sql import Pair
from tidegate.write.observed_rows import HASHES, hash_columns
from tidegate.write.write_columns import TableColumns, columns_of

from .conftest import Branch

pytestmark = pytest.mark.spark

SAME = [
    ("double('NaN')", "double('NaN')"),
    ("array(double('NaN'), NULL)", "array(double('NaN'), NULL)"),
    ("CAST(NULL AS double)", "CAST(NULL AS double)"),
    ("CAST(NULL AS array<double>)", "CAST(NULL AS array<double>)"),
    ("-0D", "-0D"),
    ("map('a', 1D, 'b', -0D)", "map('b', -0D, 'a', 1D)"),
    ("CAST(1.0 AS decimal(10,4))", "CAST(1.0000 AS decimal(10,4))"),
    ('parse_json(\'{"a": 1, "b": 2}\')', 'parse_json(\'{"b": 2, "a": 1}\')'),
    ("TIMESTAMP '2024-01-01 00:00:00+00:00'", "TIMESTAMP '2024-01-01 01:00:00+01:00'"),
]
OTHER = [
    ("0D", "-0D"),
    ("CAST(0 AS float)", "CAST('-0.0' AS float)"),
    ("array(1D, 0D)", "array(1D, -0D)"),
    ("named_struct('x', 0D)", "named_struct('x', -0D)"),
    ("map('z', 0D)", "map('z', -0D)"),
    ("array(named_struct('x', map('z', array(0D))))", "array(named_struct('x', map('z', array(-0D))))"),
    ("double('NaN')", "CAST(NULL AS double)"),
    ("0D", "CAST(NULL AS double)"),
    ("CAST(NULL AS struct<x: double>)", "named_struct('x', CAST(NULL AS double))"),
    ("CAST(array() AS array<double>)", "CAST(NULL AS array<double>)"),
    ("'a'", "'a '"),
    ("decode(unhex('C3A9'), 'utf-8')", "decode(unhex('65CC81'), 'utf-8')"),
    ("'a'", "'A'"),
    ("X'00'", "X'0000'"),
    ("X''", "CAST(NULL AS binary)"),
    ("TIMESTAMP '2024-01-01 00:00:00.000001'", "TIMESTAMP '2024-01-01 00:00:00.000002'"),
    ("named_struct('t', TIMESTAMP '2024-01-01 00:00:00.000001')", "named_struct('t', TIMESTAMP '2024-01-01 00:00:00')"),
    ("TIMESTAMP_NTZ '2024-01-01 00:00:00.000001'", "TIMESTAMP_NTZ '2024-01-01 00:00:00'"),
    ("CAST(1.0001 AS decimal(10,4))", "CAST(1.0 AS decimal(10,4))"),
    ("parse_json('{\"a\": 1}')", "parse_json('{\"a\": 1.0}')"),
    ("CAST(DATE '2024-01-01' AS variant)", "CAST('2024-01-01' AS variant)"),
    ("CAST(0D AS variant)", "CAST(-0D AS variant)"),
]


@dataclass(frozen=True)
class Compared:
    differ: bool
    content: bool
    diff: bool
    whole_rows: bool


def compared(branch: Branch, pairs: list[tuple[str, str]]) -> list[Compared]:
    """Of each pair: what a MERGE, a content sum, a diff by key and a diff of whole rows take it for.

    The values are stored first: of literals that it takes to be equal Spark compares none.
    """
    session, tables = branch.session, [TableName("shop", "silver", f"exact_{side}") for side in ("one", "other")]
    branch.lake.create_namespace(tables[0])
    for side, table in enumerate(tables):
        values = ", ".join(f"{pair[side]} AS v{at}" for at, pair in enumerate(pairs))
        session.sql(f"CREATE TABLE {table.quoted} USING iceberg AS SELECT {values}")
    asked = []
    for column in columns_of(session.table(tables[0].quoted)):
        pair = Pair(column, column)
        left, right = pair.values("a", "b")
        hashes = zip(hash_columns(TableColumns((column,))), HASHES, strict=True)
        texts = [text.removesuffix(f" AS {name}") for text, name in hashes]
        one, other = ([text.replace(column.quoted, f"{side}.{column.quoted}") for text in texts] for side in ("a", "b"))
        content = " AND ".join(f"NOT ({x} = {y})" for x, y in zip(one, other, strict=True))
        asked.append(
            f"array({column.differs('a', 'b')}, {content}, {pair.differs('a', 'b')}, NOT ({left} <=> {right}))"
        )
    query = f"SELECT {', '.join(asked)} FROM {tables[0].quoted} a, {tables[1].quoted} b"
    return [Compared(*found) for found in session.sql(query).collect()[0]]


def test_what_is_stored_decides(branch: Branch) -> None:
    wanted = [*((pair, False) for pair in SAME), *((pair, True) for pair in OTHER)]
    found = compared(branch, [pair for pair, _ in wanted])
    outcomes = zip(wanted, found, strict=True)
    wrong = [(pair, one) for (pair, differs), one in outcomes if one != Compared(*[differs] * 4)]
    assert not wrong
