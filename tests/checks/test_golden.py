"""CSV files that say which rows a table must hold."""

from __future__ import annotations

import pytest

from tidegate.checks.audits import golden_rows
from tidegate.datatypes import BIGINT, STRING, Column, Relation, array

TABLE = Relation((Column("id", BIGINT), Column("name", STRING), Column("list", array(BIGINT))))


def values(text: str) -> str:
    sql = golden_rows("rows.csv", text, TABLE).sql
    return sql[sql.index("(1, ") : sql.index(" AS golden(")]


def test_an_empty_cell_is_null_and_quotes_make_it_text() -> None:
    assert values('id,name\n1,\n,""\n3,"a ""b"", c"\n') == """(1, '1', NULL), (2, NULL, ''), (3, '3', 'a "b", c')"""


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_as_they_do_anywhere(end: str) -> None:
    assert values(end.join(["id,name", "1,a", "2,b"])) == "(1, '1', 'a'), (2, '2', 'b')"


def test_a_cell_cannot_get_out_of_its_quotes_or_name_the_table() -> None:
    assert values("id,name\n1,it's \\ {table}\n") == "(1, '1', 'it\\'s \\\\ \\u007Btable}')"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("id,nam\n", "no column 'nam'"),
        ("id,\n", "has no name"),
        ("id,list\n", "array<bigint>, which a CSV file cannot hold"),
        ("id,name\n1\n", "row 2 of rows.csv has 1 cells, not 2"),
        ('id,name\n1,"a\n', "line 2 of rows.csv cannot be read"),
        ("id\n" + "1\n" * 5001, "5001 rows"),
    ],
)
def test_what_cannot_be_compared_is_told(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        golden_rows("rows.csv", text, TABLE)
