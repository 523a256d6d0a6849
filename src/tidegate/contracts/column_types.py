"""The type that silver gives a column: its physicalType in Spark's spelling, else one for its logicalType."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tidegate.contracts.element import Element
from tidegate.contracts.issues import Issue
from tidegate.contracts.model_contract import physical_rule
from tidegate.datatypes import DataType, array, parse_type, struct

__all__ = ["nested_columns", "silver_type", "type_issues"]

_LIMITED = re.compile(r"\s*((?:var)?char)\s*\(\s*(\d+)\s*\)\s*", re.IGNORECASE)
_DEFAULT_TYPES = {
    "string": "string",
    "date": "date",
    "timestamp": "timestamp",
    "time": "string",
    "number": "decimal(38,10)",
    "integer": "bigint",
    "object": "string",
    "array": "array<string>",
    "boolean": "boolean",
    "map": "map<string,string>",
    "vector": "array<float>",
}


def silver_type(column: Element) -> str | None:
    """As DDL. varchar and char keep their length, which values must not exceed; tables have them as strings. An object
    with properties is a struct of them, an array is one of its items. None: its physicalType is no type of Spark."""
    physical = column.text("physicalType")
    limited = _LIMITED.fullmatch(physical or "")
    if limited is not None:
        return f"{limited[1].lower()}({limited[2]})"
    if physical:
        rule = physical_rule(physical)
        if rule is None or rule.type is None:
            return None
        return "decimal(38,10)" if rule.any_decimal else _ddl(rule.type)
    inside = _described(column)
    logical = column.text("logicalType") or "string"
    return _DEFAULT_TYPES.get(logical) if inside is None else _ddl(inside)


def nested_columns(column: Element) -> tuple[list[Element], Element | None]:
    """The properties of an object, and the items of an array."""
    items = column.part("items")
    return list(column.items("properties")), items if items.value else None


def _described(column: Element) -> DataType | None:
    """The type that the parts of an object or an array give it; None where it has none."""
    properties, items = nested_columns(column)
    match column.text("logicalType"):
        case "object" if properties:
            fields = [(part.column_name, _part_type(part)) for part in properties]
            return struct((name, kind) for name, kind in fields)
        case "array" if items is not None:
            return array(_part_type(items))
        case _:
            return None


def _part_type(part: Element) -> DataType:
    return parse_type(silver_type(part) or "string") or DataType("string")


def _ddl(kind: DataType) -> str:
    """Quoted only where a name needs it."""
    return kind.text if parse_type(kind.text) == kind else kind.sql


def type_issues(column: Element, name: str) -> Iterator[Issue]:
    physical = column.text("physicalType")
    if physical is not None and physical_rule(physical) is None:
        message = f"the physicalType of column '{name}' is not one of Spark's: '{physical}'"
        suggestion = "write for example bigint, decimal(10,2) or timestamp, or leave it to logicalType"
        yield column.issue(message, suggestion, "physicalType")
