"""Which type holds the values of another, for each place where types grow. No JVM."""

from __future__ import annotations

import pytest

from tidegate.datatypes import DataType, from_json, parse_type, to_json, unknown_type
from tidegate.widening import holds, inferred_type, is_alterable, join_types, stored_type


def of(text: str) -> DataType:
    kind = parse_type(text)
    assert kind is not None
    return kind


@pytest.mark.parametrize(
    ("table", "batch", "joined"),
    [
        ("int", "bigint", "bigint"),
        ("bigint", "int", "bigint"),
        ("float", "double", "double"),
        ("int", "double", "double"),
        ("bigint", "double", None),
        ("double", "bigint", "double"),
        ("int", "float", None),
        ("int", "decimal(9,0)", None),
        ("int", "decimal(10,0)", "decimal(10,0)"),
        ("bigint", "decimal(20,2)", None),
        ("bigint", "decimal(21,2)", "decimal(21,2)"),
        ("decimal(10,2)", "decimal(12,4)", "decimal(12,4)"),
        ("decimal(10,2)", "decimal(10,4)", None),
        ("decimal(12,4)", "decimal(10,2)", "decimal(12,4)"),
        ("date", "string", "string"),
        ("string", "boolean", "string"),
        ("binary", "string", None),
        ("date", "timestamp", None),
        ("timestamp", "timestamp_ntz", None),
        ("date", "void", "date"),
        ("string", "struct<a:int>", None),
        ("struct<a:int>", "struct<a:binary>", None),
        ("struct<a:int,b:string>", "struct<C:date,A:bigint>", "struct<a:bigint,b:string,C:date>"),
        ("array<int>", "array<bigint>", "array<bigint>"),
        ("map<string,int>", "map<string,string>", "map<string,string>"),
        ("map<int,int>", "map<bigint,int>", None),
    ],
)
def test_the_joined_type_of_a_table_and_a_batch_loses_nothing(table: str, batch: str, joined: str | None) -> None:
    result = join_types(of(table), of(batch))
    assert (result and result.text) == joined


def test_a_type_that_is_not_known_joins_with_itself_alone() -> None:
    time = from_json("time(6)")
    assert time == unknown_type("time(6)")
    assert join_types(time, time) == time
    assert join_types(time, of("string")) is None
    assert (time.known, time.sql, time.text) == (False, "time(6)", "?")


@pytest.mark.parametrize(
    ("wide", "narrow", "expected"),
    [
        ("double", "int", True),
        ("double", "bigint", False),
        ("string", "int", False),
        ("map<string,bigint>", "map<string,int>", True),
        ("map<bigint,int>", "map<int,int>", False),
        ("struct<a:int,b:int>", "struct<A:smallint>", True),
    ],
)
def test_a_type_holds_another_if_no_value_changes(wide: str, narrow: str, expected: bool) -> None:
    assert holds(of(wide), of(narrow)) is expected


def test_only_a_few_types_are_widened_in_place() -> None:
    plain = [of(text) for text in ("int", "bigint", "float", "double", "decimal(5,2)", "decimal(7,2)", "decimal(8,3)")]
    altered = [f"{a} to {b}" for a in plain for b in plain if is_alterable(a, b)]
    assert altered == ["int to bigint", "float to double", "decimal(5,2) to decimal(7,2)"]


def test_small_integers_are_stored_as_int() -> None:
    assert (
        stored_type(of("struct<a:array<smallint>,b:map<tinyint,date>>")).text == "struct<a:array<int>,b:map<int,date>>"
    )


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("void", "date", "date"),
        ("bigint", "double", "double"),
        ("decimal(10,2)", "float", "double"),
        ("int", "bigint", "bigint"),
        ("bigint", "decimal(10,2)", "decimal(21,2)"),
        ("bigint", "decimal(30,20)", "string"),
        ("date", "timestamp", "timestamp"),
        ("date", "timestamp_ntz", "timestamp_ntz"),
        ("timestamp", "timestamp_ntz", "string"),
        ("boolean", "int", "string"),
        ("array<int>", "array<double>", "array<double>"),
        ("map<string,int>", "map<string,bigint>", "map<string,bigint>"),
        ("map<int,int>", "map<string,int>", "string"),
        ("struct<a:int>", "struct<b:date,A:double>", "struct<a:double,b:date>"),
        ("struct<a:int>", "array<int>", "string"),
    ],
)
def test_the_type_of_files_takes_the_values_of_both(a: str, b: str, expected: str) -> None:
    assert inferred_type(of(a), of(b)).text == expected


def test_a_type_written_as_ddl_quotes_the_names_of_fields() -> None:
    assert of("map<string,struct<`a b`:bigint>>").sql == "map<string, struct<`a b`: bigint>>"


@pytest.mark.parametrize(
    "text", ["tinyint", "decimal(5,2)", "map<string,array<struct<`a b`:bigint,c:timestamp_ntz>>>", "void"]
)
def test_the_json_form_reads_back_to_the_same_type(text: str) -> None:
    assert from_json(to_json(of(text))) == of(text)
