"""Profiles as values: what is asked, what is read from the answer, and how parts are put together."""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import pytest

from tidegate.datatypes import ANY, Column, DataType, parse_type
from tidegate.quality.check_answers import REDACTED
from tidegate.quality.column_profiles import BITMAP_BYTES, ColumnProfile, Counted, Profile, Survey, hide, merged, survey


def kind(text: str) -> DataType:
    return parse_type(text) or ANY


def asked(**columns: str) -> Survey:
    return survey([Column(name, kind(text)) for name, text in columns.items()])


def answer(rows: int, *columns: dict[str, Any]) -> str:
    return json.dumps({"rows": rows, "columns": list(columns)})


def told(type_: str, rows: int = 2, **found: Any) -> ColumnProfile:
    """The profile of the one column."""
    text = answer(rows, {"values": rows, **found})
    return asked(c=type_).read(text).profile(rows, None).columns[0]


def bits(*places: int) -> str:
    return base64.b64encode(sum(1 << at for at in places).to_bytes(BITMAP_BYTES, "little")).decode()


@pytest.mark.parametrize(
    ("type_", "least", "greatest", "shown"),
    [
        ("int", "-3", "7", (-3, 7)),
        ("bigint", "9223372036854775807", "9223372036854775807", (2**63 - 1, 2**63 - 1)),
        ("double", "-Infinity", "NaN", ("-inf", "nan")),
        ("float", "1.0E-7", "0.1", (1e-7, 0.1)),
        ("decimal(20,10)", "0E-10", "12.5000000000", ("0.0000000000", "12.5000000000")),
        ("boolean", "false", "true", (False, True)),
        ("date", "2024-02-29", "+12024-01-01", ("2024-02-29", "+12024-01-01")),
        ("timestamp", "0", "1500000", ("1970-01-01T00:00:00+00:00", "1970-01-01T00:00:01.500000+00:00")),
        ("timestamp", "-62135596800000000", "9000000000000000000", ("0001-01-01T00:00:00+00:00", None)),
        ("timestamp_ntz", "2024-01-01 10:00:00", "2024-01-01 10:00:00", ("2024-01-01T10:00:00", "2024-01-01T10:00:00")),
        ("string", "", "zoë", ("", "zoë")),
    ],
)  # fmt: skip
def test_values_are_such_as_json_can_hold(type_: str, least: str, greatest: str, shown: tuple[Any, Any]) -> None:
    found = told(type_, least=least, greatest=greatest)
    assert (found.min, found.max) == shown
    json.dumps([found.min, found.max], allow_nan=False)


def test_a_mean_that_is_no_number_is_text() -> None:
    assert told("double", mean="NaN").mean == "nan"
    assert told("double", mean=2.5).mean == 2.5


def test_of_many_rows_the_greatest_floating_number_is_not_told_because_it_might_be_nan() -> None:
    many = survey([Column("d", kind("double")), Column("f", kind("float")), Column("i", kind("int"))], many=True)
    assert many.exact is not None
    assert ("max(`d`)" in many.exact, "max(`f`)" in many.exact, "max(`i`)" in many.exact) == (False, False, True)
    assert "min(`d`)" in many.exact


@pytest.mark.parametrize("type_", ["binary", "array<int>", "map<string,int>", "struct<a:int>", "variant"])
def test_of_nested_and_binary_columns_only_nulls_are_told(type_: str) -> None:
    assert asked(c=type_).marks == ()
    assert "min(" not in asked(c=type_).aggregate
    assert told(type_, rows=5) == ColumnProfile("c", kind(type_).text, 0)


def test_a_column_without_a_value_has_nulls_and_nothing_else() -> None:
    found = asked(c="int").read(answer(3, {"values": 0, "bits": bits()})).profile(3, None)
    assert found.columns == (ColumnProfile("c", "int", 3, 0),)


def test_an_empty_table_has_a_profile() -> None:
    found = asked(c="int").read(answer(0, {"values": 0, "bits": bits()})).profile(0, 7)
    assert found == Profile(0, (ColumnProfile("c", "int", 0, 0),), "table", 0, 7)


def test_a_boolean_has_as_many_values_as_were_seen() -> None:
    assert told("boolean", least="true", greatest="true").distinct == 1
    assert told("boolean", least="false", greatest="true").distinct == 2


def test_there_are_never_more_different_values_than_values() -> None:
    assert told("int", rows=2, bits=bits(1, 2, 3, 4)).distinct == 2


def test_values_of_hidden_columns_are_not_even_asked_for() -> None:
    secret = survey([Column("Salary", kind("double")), Column("born", kind("date"))], {"salary", "born"})
    assert "min(" not in secret.aggregate
    assert "avg(" not in secret.aggregate
    found = secret.read(answer(3, {"values": 2, "bits": bits(1)}, {"values": 0, "bits": bits()})).profile(3, None)
    assert found.columns == (
        ColumnProfile("Salary", "double", 1, 1, REDACTED, REDACTED, REDACTED),
        ColumnProfile("born", "date", 3, 0),
    )


def test_a_column_may_be_hidden_later() -> None:
    columns = (ColumnProfile("a", "int", 0, 2, 1, 5, 3.0), ColumnProfile("B", "string", 0, 1, "x", "x"))
    assert hide(columns, {"b"}) == (columns[0], ColumnProfile("B", "string", 0, 1, REDACTED, REDACTED))


def part(rows: int, values: int, least: str, greatest: str, mean: float, *places: int) -> Counted:
    found = {"values": values, "least": least, "greatest": greatest, "mean": mean, "bits": bits(*places)}
    return asked(c="double").read(answer(rows, found), "written")


def test_parts_are_put_together() -> None:
    whole = merged([part(3, 2, "1.0", "NaN", 4.0, 1, 2), part(10, 8, "-2.0", "100.0", 9.0, 2, 3)])
    assert whole is not None
    found = whole.profile(50, None)
    assert (found.rows, found.scope, found.table_rows) == (13, "written", 50)
    assert found.columns == (ColumnProfile("c", "double", 3, 3, -2.0, "nan", 8.0),)


def test_what_is_not_known_of_a_part_is_not_known_of_the_whole() -> None:
    one, other = part(3, 2, "1", "2", 4.0, 1), asked(d="int").read(answer(1, {"values": 1}))
    assert merged([one, None]) is None
    assert merged([one, other]) is None
    assert merged([]) is None
    assert merged([one]) == one


def test_an_empty_part_changes_nothing() -> None:
    empty = asked(c="double").read(answer(0, {"values": 0, "bits": bits()}), "written")
    one = part(3, 2, "1.0", "2.0", 4.0, 1)
    assert merged([one, empty]) == one
    found = merged([empty, one])
    assert found is not None
    assert math.isclose(found.columns[0].mean or 0, 4.0)


def test_of_many_rows_iceberg_is_asked_for_what_it_knows() -> None:
    columns = [Column("n", kind("int")), Column("t", kind("string")), Column("s", kind("struct<a:int>"))]
    many = survey(columns, many=True)
    assert many.exact is not None
    assert all(text in many.exact for text in ("min(`n`)", "count(`n`)", "count(`t`)"))
    assert all(text not in many.exact for text in ("min(`t`)", "count(`s`)", "bitmap"))
    assert many.marks == ()
    assert "count(`s`)" in many.aggregate
    assert all(text not in many.aggregate for text in ("`n`", "`t`"))
    exact = answer(9, {"values": 5, "least": "1", "greatest": "5"}, {"values": 8}, {})
    found = many.read(answer(9, {}, {}, {"values": 7}), "table", exact).profile(9, None)
    assert found.columns == (
        ColumnProfile("n", "int", 4, None, 1, 5),
        ColumnProfile("t", "string", 1),
        ColumnProfile("s", "struct<a:int>", 2),
    )


def test_columns_that_iceberg_keeps_nothing_of_are_looked_at() -> None:
    many = survey([Column(f"c{n}", kind("int")) for n in range(102)], many=True)
    assert many.exact is not None
    assert ("count(`c99`)" in many.exact, "count(`c100`)" in many.exact) == (True, False)
    assert ("count(`c99`)" in many.aggregate, "count(`c100`)" in many.aggregate) == (False, True)
