"""Values of unit tests as SQL, and the types that they have where nobody says."""

from __future__ import annotations

import pytest

from tidegate.datatypes import BIGINT, STRING, VOID, Column, parse_type
from tidegate.operations.unit_tests.given_rows import cell_sql, infer_type, rows_sql
from tidegate.project.unit_test_files import Cell, UnitTest, read_unit_tests


def cells(text: str) -> list[Cell]:
    """A list of values, written as YAML."""
    tests, problems = read_unit_tests(
        f"tests: [{{name: a, model: a.b, expect: [{{c: {text}}}]}}]", "tests/a.yaml", "shop"
    )
    assert problems == ()
    test: UnitTest = tests[0]
    value = test.expect.rows[0][0]
    assert isinstance(value, tuple)
    return list(value)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ("[]", "void"),
        ("[null]", "void"),
        ("[1, null, 2]", "bigint"),
        ("[1, 2.5]", "double"),
        ("[99999999999999999999]", "string"),
        ("[true, no]", "boolean"),
        ("[true, 1]", "string"),
        ("[a, 1]", "string"),
        ("[2024-01-01]", "date"),
        ("[2024-01-01, 2024-01-01 10:00:00]", "timestamp"),
        ("[2024-01-01, 5]", "string"),
        ("[!!binary YWI=]", "binary"),
        ("[[1], [2.5], null]", "array<double>"),
        ("[[]]", "array<void>"),
        ("[{a: 1}, {b: x, a: 2.5}]", "struct<a:double,b:string>"),
        ("[{a: [{b: 1}]}, {}]", "struct<a:array<struct<b:bigint>>>"),
        ("[{a: 1}, [1]]", "string"),
    ],
)
def test_a_type_takes_all_values(values: str, kind: str) -> None:
    assert infer_type(cells(values)).text == kind


@pytest.mark.parametrize(
    ("value", "kind", "sql"),
    [
        ("null", "void", "NULL"),
        ("null", "bigint", "CAST(NULL AS bigint)"),
        ("1", "bigint", "CAST('1' AS bigint)"),
        ("0x10", "int", "CAST('16' AS int)"),
        ("1_000.5", "double", "CAST('1000.5' AS double)"),
        ("10.10", "decimal(5,2)", "CAST('10.10' AS decimal(5,2))"),
        ("no", "boolean", "CAST('false' AS boolean)"),
        ("no", "string", "CAST('no' AS string)"),
        ("007", "string", "CAST('007' AS string)"),
        (r"""'it''s \ here'""", "string", r"CAST('it\'s \\ here' AS string)"),
        ("2024-01-01", "date", "CAST('2024-01-01' AS date)"),
        ("!!binary YWI=", "binary", "CAST(X'6162' AS binary)"),
        ("[1, null]", "array<int>", "CAST(array(CAST('1' AS int), CAST(NULL AS int)) AS array<int>)"),
        ("[]", "array<int>", "CAST(array() AS array<int>)"),
        ("{a: 1}", "map<string,int>", "CAST(map(CAST('a' AS string), CAST('1' AS int)) AS map<string, int>)"),
        (
            "{B: 1}",
            "struct<a:int,b:int>",
            "CAST(named_struct('a', CAST(NULL AS int), 'b', CAST('1' AS int)) AS struct<`a`: int, `b`: int>)",
        ),
        ("{a: [1, x]}", "variant", """parse_json('{"a": [1, "x"]}')"""),
        ("[1]", "string", "CAST('[1]' AS string)"),
    ],
)
def test_a_value_is_of_its_columns_type(value: str, kind: str, sql: str) -> None:
    found = parse_type(kind)
    assert found is not None
    assert cell_sql(cells(f"[{value}]")[0], found) == sql


def test_rows_are_one_query() -> None:
    columns = [Column("id", BIGINT), Column("a `b`", STRING), Column("nothing", VOID)]
    one, none = cells("[1]")[0], None
    assert rows_sql(columns, [(one, none, none), (none, none, none)]) == (
        "SELECT * FROM VALUES (CAST('1' AS bigint), CAST(NULL AS string), NULL),"
        " (CAST(NULL AS bigint), CAST(NULL AS string), NULL) AS t(`id`, `a ``b```, `nothing`)"
    )
    assert rows_sql(columns[:2], []) == (
        "SELECT CAST(NULL AS bigint) AS `id`, CAST(NULL AS string) AS `a ``b``` WHERE false"
    )
    assert rows_sql([], []) == "SELECT CAST(NULL AS string) AS `_` WHERE false"


def test_fields_may_be_called_anything() -> None:
    kind = parse_type("struct<`a b`:array<struct<`c``d`:int>>>")
    assert kind is not None
    assert kind.sql == "struct<`a b`: array<struct<`c``d`: int>>>"
