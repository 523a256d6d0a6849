"""One word for a type, wherever it is shown: Spark's, as `tidegate compile` writes it."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate.datatypes import parse_type
from tidegate.lake.iceberg_types import spark_type, type_text
from tidegate.write.write_columns import TableColumn

NESTED = {
    "type": "struct",
    "fields": [
        {"id": 4, "name": "first name", "required": False, "type": "string"},
        {"id": 5, "name": "n", "required": False, "type": {"type": "list", "element-id": 6, "element": "int"}},
    ],
}
WORDS = [
    ("int", "int"),
    ("long", "bigint"),
    ("float", "float"),
    ("decimal(18, 2)", "decimal(18,2)"),
    ("timestamptz", "timestamp"),
    ("timestamp", "timestamp_ntz"),
    ("uuid", "string"),
    ("fixed[16]", "binary"),
    ({"type": "list", "element": "long"}, "array<bigint>"),
    ({"type": "map", "key": "string", "value": "timestamptz"}, "map<string,timestamp>"),
    (NESTED, "struct<first name:string,n:array<int>>"),
]


@pytest.mark.parametrize(("iceberg", "word"), WORDS)
def test_a_table_and_a_change_of_its_columns_name_a_type_alike(iceberg: Any, word: str) -> None:
    assert type_text(iceberg) == word
    assert TableColumn("c", spark_type(iceberg)).type_text == word


@pytest.mark.parametrize("word", ["int", "bigint", "decimal(18,2)", "array<bigint>", "map<string,timestamp>"])
def test_the_compiler_writes_the_same_word(word: str) -> None:
    kind = parse_type(word.upper())
    assert kind is not None
    assert kind.text == word


def test_a_type_that_spark_does_not_have_keeps_the_formats_word() -> None:
    assert type_text("time") == "time"
