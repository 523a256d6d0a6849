"""Which values that someone writes are of a type, and what is told of those that are not."""

from __future__ import annotations

import pytest

from tidegate.compiler.unit_test_inputs import misfit
from tidegate.datatypes import ANY, parse_type
from tidegate.project.unit_test_files import read_unit_tests


def told(value: str, kind: str) -> str | None:
    tests, problems = read_unit_tests(
        f"tests: [{{name: a, model: a.b, expect: [{{c: {value}}}]}}]", "tests/a.yaml", "s"
    )
    assert problems == ()
    return misfit(tests[0].expect.rows[0][0], parse_type(kind) or ANY)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("null", "bigint"),
        ("1", "tinyint"),
        ("-128", "tinyint"),
        ("'7'", "int"),
        ("1", "string"),
        ("[1]", "variant"),
        ("1", "decimal(3,2)"),
        ("9.999", "decimal(3,2)"),
        ("1", "double"),
        ("1e5", "double"),
        ("'nan'", "double"),
        ("yes", "boolean"),
        ("'T'", "boolean"),
        ("2024-01-01", "date"),
        ("'2024-01-01T10:00:00Z'", "timestamp"),
        ("2024-01-01", "timestamp_ntz"),
        ("[1, null]", "array<int>"),
        ("{a: 1}", "map<string,int>"),
        ("{A: {b: [x]}}", "struct<a:struct<b:array<string>>>"),
        ("anything", "interval day"),
        ("anything", "no type at all"),
    ],
)
def test_a_value_that_fits_is_not_told(value: str, kind: str) -> None:
    assert told(value, kind) is None


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        ("128", "tinyint", "'128' is not a value of type tinyint"),
        ("1.5", "bigint", "'1.5' is not a value of type bigint"),
        ("true", "bigint", "'true' is not a value of type bigint"),
        ("true", "double", "'true' is not a value of type double"),
        ("ten", "decimal(3,2)", "'ten' is not a value of type decimal(3,2)"),
        ("10", "decimal(3,2)", "'10' is not a value of type decimal(3,2)"),
        ("maybe", "boolean", "'maybe' is not a value of type boolean"),
        ("2024-02-30", "date", "'2024-02-30' is not a value of type date"),
        ("noon", "timestamp", "'noon' is not a value of type timestamp"),
        ("[1]", "bigint", "a list is not a value of type bigint"),
        ("{a: 1}", "string", "a mapping is not a value of type string"),
        ("1", "array<int>", "'1' is not a value of type array<int>"),
        ("[1, x]", "array<int>", "'x' is not a value of type int"),
        ("[1]", "map<string,int>", "a list is not a value of type map<string,int>"),
        ("{a: x}", "map<string,int>", "'x' is not a value of type int"),
        ("{a: {c: 1}}", "struct<a:struct<b:int>>", "struct<b:int> has no field 'c'"),
        ("{a: {b: x}}", "struct<a:struct<b:int>>", "'x' is not a value of type int"),
    ],
)
def test_a_value_that_does_not_fit_is_told(value: str, kind: str, message: str) -> None:
    assert told(value, kind) == message
