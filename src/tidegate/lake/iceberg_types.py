"""Iceberg's columns and types as Spark types."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from tidegate.datatypes import (
    BINARY,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    Column,
    DataType,
    Relation,
    array,
    from_json,
    map_of,
    struct,
)
from tidegate.lake.metadata import Field

__all__ = ["iceberg_word", "relation_of", "spark_type", "type_text"]

# Types that Spark calls otherwise, or that other types of Spark's hold.
_OTHER_NAMES = {
    "timestamptz": TIMESTAMP,
    "timestamp": TIMESTAMP_NTZ,
    "uuid": STRING,
    "unknown": VOID,
}
_FIXED = re.compile(r"fixed\[\d+\]")


def relation_of(fields: Iterable[Field]) -> Relation:
    """Optional is Iceberg's default, so it says nothing about whether a column has NULLs."""
    return Relation(tuple(Column(f.name, spark_type(f.type), False if f.required else None) for f in fields))


def type_text(kind: Any) -> str:
    """For people: Spark's word (`bigint`, `array<string>`), whatever the format calls it; for a type that Spark does
    not have, such as `geometry`, Iceberg's own."""
    spark = spark_type(kind)
    return spark.text if spark.known else kind if isinstance(kind, str) else json.dumps(kind)


def spark_type(kind: Any) -> DataType:
    """`kind`: as in a metadata file, text such as `long` or a mapping for a nested type."""
    if isinstance(kind, str):
        return BINARY if _FIXED.fullmatch(kind) else _OTHER_NAMES.get(kind) or from_json(kind)
    match kind["type"]:
        case "struct":
            return struct((field["name"], spark_type(field["type"])) for field in kind["fields"])
        case "list":
            return array(spark_type(kind["element"]))
        case _:
            return map_of(spark_type(kind["key"]), spark_type(kind["value"]))


_WORDS = {"bigint": "long", "timestamp": "timestamptz", "timestamp_ntz": "timestamp"}


def iceberg_word(kind: DataType) -> str | None:
    """The text of a type in a metadata file; None for one that is nested or not known."""
    if kind.is_nested or not kind.known:
        return None
    return f"decimal({kind.args[0]}, {kind.args[1]})" if kind.kind == "decimal" else _WORDS.get(kind.kind, kind.kind)
