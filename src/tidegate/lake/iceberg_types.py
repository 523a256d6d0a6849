"""Iceberg's columns and types as Spark types."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from tidegate.datatypes import Column, Relation, from_json
from tidegate.lake.metadata import Field

__all__ = ["relation_of", "spark_type", "type_text"]

_NAMES = {
    "int": "integer",
    "timestamptz": "timestamp",
    "timestamp": "timestamp_ntz",
    "uuid": "string",
    "unknown": "void",
}
_FIXED = re.compile(r"fixed\[\d+\]")
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")


def relation_of(fields: Iterable[Field]) -> Relation:
    """That a column is optional is Iceberg's default and says nothing of its values."""
    return Relation(tuple(Column(f.name, from_json(spark_type(f.type)), False if f.required else None) for f in fields))


def type_text(kind: Any) -> str:
    """As people are told it: Spark's word (`bigint`, `array<string>`), whatever the format calls it; one that Spark
    does not have, such as `time`, in Iceberg's own words."""
    found = from_json(spark_type(kind))
    return found.text if found.known else kind if isinstance(kind, str) else json.dumps(kind)


def spark_type(kind: Any) -> Any:
    """In Spark's JSON form. `kind`: as in a metadata file, text such as `long` or a mapping for a nested type."""
    if isinstance(kind, str):
        if decimal := _DECIMAL.fullmatch(kind):
            return f"decimal({decimal[1]},{decimal[2]})"
        return "binary" if _FIXED.fullmatch(kind) else _NAMES.get(kind, kind)
    match kind["type"]:
        case "struct":
            fields = [{"name": field["name"], "type": spark_type(field["type"])} for field in kind["fields"]]
            return {"type": "struct", "fields": fields}
        case "list":
            return {"type": "array", "elementType": spark_type(kind["element"])}
        case _:
            return {"type": "map", "keyType": spark_type(kind["key"]), "valueType": spark_type(kind["value"])}
