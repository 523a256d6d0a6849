"""SQL that brings values to another type and compares them. No JVM."""

from __future__ import annotations

from tidegate.datatypes import DataType, parse_type
from tidegate.write.spark_sql import alterations, comparable, conversion


def of(text: str) -> DataType:
    kind = parse_type(text)
    assert kind is not None
    return kind


def test_only_what_the_format_can_widen_is_altered() -> None:
    assert alterations("`a`", of("int"), of("bigint")) == ["ALTER COLUMN `a` TYPE bigint"]
    assert alterations("`a`", of("int"), of("string")) is None
    assert alterations("`a`", of("decimal(5,2)"), of("decimal(7,2)")) == ["ALTER COLUMN `a` TYPE decimal(7,2)"]
    assert alterations("`a`", of("decimal(5,2)"), of("decimal(7,3)")) is None
    inner, wider = of("array<struct<x:int>>"), of("array<struct<x:bigint,y:date>>")
    assert alterations("`a`", inner, wider) == [
        "ALTER COLUMN `a`.element.`x` TYPE bigint",
        "ADD COLUMN `a`.element.`y` date",
    ]


def test_conversion_goes_by_name() -> None:
    sql = conversion("`s`", of("struct<B:int>"), of("struct<a:date,b:bigint>"))
    assert sql == "IF(`s` IS NULL, NULL, named_struct('a', CAST(NULL AS date), 'b', CAST(`s`.`B` AS bigint)))"


def test_only_maps_and_floating_numbers_need_another_form_to_be_compared() -> None:
    assert comparable("`c`", of("struct<a:int>")) == "`c`"
    assert comparable("`c`", of("struct<a:double>"), zeros=False) == "`c`"
    assert comparable("`c`", of("double")) == "struct(`c`, IF(`c` = 0D, CAST(`c` AS string) = '-0.0', false))"
    expected = "array_sort(transform(map_entries(`c`), item0 -> struct(item0.key, item0.value)))"
    assert comparable("`c`", of("map<string,int>")) == expected
