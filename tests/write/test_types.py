"""Which type holds which, and how it gets there. No JVM."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate.write.types import alterations, comparable, conversion, join_types, normal_type, type_sql


def _struct(**fields: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": [{"name": name, "type": kind} for name, kind in fields.items()]}


@pytest.mark.parametrize(
    ("table", "batch", "joined"),
    [
        ("integer", "long", "long"),
        ("long", "integer", "long"),
        ("float", "double", "double"),
        ("integer", "double", "double"),
        ("long", "double", None),
        ("double", "long", "double"),
        ("integer", "decimal(9,0)", None),
        ("integer", "decimal(10,0)", "decimal(10,0)"),
        ("long", "decimal(20,2)", None),
        ("long", "decimal(21,2)", "decimal(21,2)"),
        ("decimal(10,2)", "decimal(12,4)", "decimal(12,4)"),
        ("decimal(10,2)", "decimal(10,4)", None),
        ("decimal(12,4)", "decimal(10,2)", "decimal(12,4)"),
        ("date", "string", "string"),
        ("string", "boolean", "string"),
        ("binary", "string", None),
        ("date", "timestamp", None),
        ("timestamp", "timestamp_ntz", None),
        ("date", "void", "date"),
        ("string", _struct(a="integer"), None),
        (_struct(a="integer"), _struct(a="binary"), None),
    ],
)
def test_joined_type_loses_nothing(table: Any, batch: Any, joined: Any) -> None:
    assert join_types(table, batch) == joined


def test_structs_join_by_name_and_keep_the_tables_order() -> None:
    joined = join_types(_struct(a="integer", b="string"), _struct(C="date", A="long"))
    assert joined == _struct(a="long", b="string", C="date")


def test_small_integers_are_integers() -> None:
    given = {"type": "array", "elementType": "short", "containsNull": True}
    assert normal_type(given) == {"type": "array", "elementType": "integer"}


def test_only_what_the_format_can_widen_is_altered() -> None:
    assert alterations("`a`", "integer", "long") == ["ALTER COLUMN `a` TYPE bigint"]
    assert alterations("`a`", "integer", "string") is None
    assert alterations("`a`", "decimal(5,2)", "decimal(7,2)") == ["ALTER COLUMN `a` TYPE decimal(7,2)"]
    assert alterations("`a`", "decimal(5,2)", "decimal(7,3)") is None
    inner = {"type": "array", "elementType": _struct(x="integer")}
    wider = {"type": "array", "elementType": _struct(x="long", y="date")}
    assert alterations("`a`", inner, wider) == [
        "ALTER COLUMN `a`.element.`x` TYPE bigint",
        "ADD COLUMN `a`.element.`y` date",
    ]


def test_conversion_goes_by_name() -> None:
    sql = conversion("`s`", _struct(B="integer"), _struct(a="date", b="long"))
    assert sql == "IF(`s` IS NULL, NULL, named_struct('a', CAST(NULL AS date), 'b', CAST(`s`.`B` AS bigint)))"


def test_only_maps_and_floating_numbers_need_another_form_to_be_compared() -> None:
    assert comparable("`c`", _struct(a="integer")) == "`c`"
    assert comparable("`c`", _struct(a="double"), zeros=False) == "`c`"
    assert comparable("`c`", "double") == "struct(`c`, IF(`c` = 0D, CAST(`c` AS string) = '-0.0', false))"
    kind = {"type": "map", "keyType": "string", "valueType": "integer"}
    expected = "array_sort(transform(map_entries(`c`), item0 -> struct(item0.key, item0.value)))"
    assert comparable("`c`", kind) == expected


def test_types_are_written_with_quoted_names() -> None:
    assert type_sql({"type": "map", "keyType": "string", "valueType": _struct(**{"a b": "long"})}) == (
        "map<string, struct<`a b`: bigint>>"
    )
