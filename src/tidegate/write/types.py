"""Spark's column types in their JSON form: which holds which, how one becomes another, how they are compared."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tidegate.write.sql import literal, quote

__all__ = [
    "alterations",
    "comparable",
    "conversion",
    "differ",
    "holds_type",
    "is_nested",
    "join_types",
    "negative_zero",
    "normal_type",
    "type_sql",
]

_NAMES = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}
_DIGITS = {"integer": 10, "long": 19}
_DECIMAL = re.compile(r"decimal\((\d+),(-?\d+)\)")
_PRINTABLE = {"integer", "long", "float", "double", "boolean", "date", "timestamp", "timestamp_ntz"}
_FLOATING = ("float", "double")
_ALTERABLE = {("integer", "long"), ("float", "double")}


def normal_type(kind: Any) -> Any:
    """As Iceberg keeps it: no bytes and shorts, nothing about nullability, no comments."""
    if isinstance(kind, str):
        return "integer" if kind in ("byte", "short") else kind
    match kind["type"]:
        case "struct":
            fields = [{"name": f["name"], "type": normal_type(f["type"])} for f in kind["fields"]]
            return {"type": "struct", "fields": fields}
        case "array":
            return {"type": "array", "elementType": normal_type(kind["elementType"])}
        case "map":
            return {"type": "map", "keyType": normal_type(kind["keyType"]), "valueType": normal_type(kind["valueType"])}
        case _:
            return normal_type(kind["sqlType"])


def is_nested(kind: Any) -> bool:
    return not isinstance(kind, str)


def holds_type(kind: Any, *names: str) -> bool:
    """Whether the type is, or has somewhere inside, one of `names` (a prefix of the JSON name)."""
    if isinstance(kind, str):
        return kind.startswith(names)
    if kind["type"].startswith(names):
        return True
    return any(holds_type(child, *names) for child in _children(kind))


def _children(kind: Any) -> Iterator[Any]:
    if kind["type"] == "struct":
        yield from (field["type"] for field in kind["fields"])
    elif kind["type"] == "array":
        yield kind["elementType"]
    else:
        yield from (kind["keyType"], kind["valueType"])


def type_sql(kind: Any) -> str:
    """The type as it is written in DDL and CAST."""
    if isinstance(kind, str):
        return _NAMES.get(kind, kind)
    match kind["type"]:
        case "struct":
            fields = ", ".join(f"{quote(field['name'])}: {type_sql(field['type'])}" for field in kind["fields"])
            return f"struct<{fields}>"
        case "array":
            return f"array<{type_sql(kind['elementType'])}>"
        case _:
            return f"map<{type_sql(kind['keyType'])}, {type_sql(kind['valueType'])}>"


def join_types(table: Any, batch: Any) -> Any:
    """The narrowest type that holds both without loss; None where there is none.

    A batch of longs may go to a column of doubles (JSON and CSV write 3.0 as 3); a column of longs never becomes one.
    """
    if table == batch or batch == "void":
        return table
    if isinstance(table, str) or isinstance(batch, str):
        if isinstance(table, str) and isinstance(batch, str):
            if _fits(table, batch):
                return batch
            if _fits(batch, table) or (batch, table) == ("long", "double"):
                return table
        return None
    if table["type"] != batch["type"]:
        return None
    match table["type"]:
        case "struct":
            return _join_structs(table, batch)
        case "array":
            element = join_types(table["elementType"], batch["elementType"])
            return None if element is None else {"type": "array", "elementType": element}
        case _:
            value = join_types(table["valueType"], batch["valueType"])
            same_key = table["keyType"] == batch["keyType"]
            return {"type": "map", "keyType": table["keyType"], "valueType": value} if same_key and value else None


def _join_structs(table: Any, batch: Any) -> Any:
    given = {field["name"].lower(): field for field in batch["fields"]}
    fields = []
    for field in table["fields"]:
        other = given.pop(field["name"].lower(), None)
        joined = field["type"] if other is None else join_types(field["type"], other["type"])
        if joined is None:
            return None
        fields.append({"name": field["name"], "type": joined})
    return {"type": "struct", "fields": [*fields, *given.values()]}


def _fits(narrow: str, wide: str) -> bool:
    if wide == "string":
        return narrow in _PRINTABLE or bool(_DECIMAL.fullmatch(narrow))
    if (narrow, wide) in _ALTERABLE or (narrow, wide) == ("integer", "double"):
        return True
    to = _DECIMAL.fullmatch(wide)
    if to is None:
        return False
    whole, scale = int(to[1]) - int(to[2]), int(to[2])
    if narrow in _DIGITS:
        return scale >= 0 and whole >= _DIGITS[narrow]
    of = _DECIMAL.fullmatch(narrow)
    return of is not None and scale >= int(of[2]) and whole >= int(of[1]) - int(of[2])


def alterations(path: str, before: Any, after: Any) -> list[str] | None:
    """The clauses after ALTER TABLE that turn one type into a wider one in place; None: the rows must be rewritten."""
    if before == after:
        return []
    if isinstance(before, str) or isinstance(after, str):
        return [f"ALTER COLUMN {path} TYPE {type_sql(after)}"] if _alterable(before, after) else None
    match before["type"]:
        case "array":
            return alterations(f"{path}.element", before["elementType"], after["elementType"])
        case "map":
            return alterations(f"{path}.value", before["valueType"], after["valueType"])
        case _:
            had = {field["name"]: field["type"] for field in before["fields"]}
            clauses = []
            for field in after["fields"]:
                inner = f"{path}.{quote(field['name'])}"
                if field["name"] not in had:
                    clauses.append(f"ADD COLUMN {inner} {type_sql(field['type'])}")
                    continue
                deeper = alterations(inner, had[field["name"]], field["type"])
                if deeper is None:
                    return None
                clauses += deeper
            return clauses


def _alterable(before: Any, after: Any) -> bool:
    if (before, after) in _ALTERABLE:
        return True
    if not (isinstance(before, str) and isinstance(after, str)):
        return False
    old, new = _DECIMAL.fullmatch(before), _DECIMAL.fullmatch(after)
    return old is not None and new is not None and old[2] == new[2] and int(new[1]) > int(old[1])


def conversion(value: str, before: Any, after: Any, depth: int = 0) -> str:
    """SQL that gives `value` in a type it fits in; fields of a struct go by name, missing ones are NULL."""
    if before == after:
        return value
    if isinstance(before, str) or isinstance(after, str):
        return f"CAST({value} AS {type_sql(after)})"
    item = f"item{depth}"
    match before["type"]:
        case "array":
            inner = conversion(item, before["elementType"], after["elementType"], depth + 1)
            return f"transform({value}, {item} -> {inner})"
        case "map":
            inner = conversion(item, before["valueType"], after["valueType"], depth + 1)
            return f"transform_values({value}, (key{depth}, {item}) -> {inner})"
        case _:
            given = {field["name"].lower(): field for field in before["fields"]}
            parts = []
            for field in after["fields"]:
                source = given.get(field["name"].lower())
                parts.append(literal(field["name"]))
                parts.append(
                    f"CAST(NULL AS {type_sql(field['type'])})"
                    if source is None
                    else conversion(f"{value}.{quote(source['name'])}", source["type"], field["type"], depth + 1)
                )
            return f"IF({value} IS NULL, NULL, named_struct({', '.join(parts)}))"


def comparable(value: str, kind: Any, depth: int = 0, *, zeros: bool = True) -> str:
    """SQL that Spark can order and test with `<=>`, equal exactly where the stored values are.

    Maps have neither order nor equality, and to Spark -0.0 equals 0.0, though they differ as text. `zeros` False: they
    are equal here too.
    """
    if not holds_type(kind, "map", "variant", *(_FLOATING if zeros else ())):
        return value
    if isinstance(kind, str):
        if kind == "variant":
            return f"concat(schema_of_variant({value}), ' ', to_json({value}))"
        return f"struct({value}, {negative_zero(value)})"
    item = f"item{depth}"
    match kind["type"]:
        case "array":
            return f"transform({value}, {item} -> {comparable(item, kind['elementType'], depth + 1, zeros=zeros)})"
        case "map":
            key = comparable(f"{item}.key", kind["keyType"], depth + 1, zeros=zeros)
            inner = comparable(f"{item}.value", kind["valueType"], depth + 1, zeros=zeros)
            return f"array_sort(transform(map_entries({value}), {item} -> struct({key}, {inner})))"
        case _:
            parts = [comparable(f"{value}.{quote(f['name'])}", f["type"], depth, zeros=zeros) for f in kind["fields"]]
            return f"IF({value} IS NULL, NULL, struct({', '.join(parts)}))"


def differ(one: str, other: str, kind: Any) -> str:
    """SQL that is true where two values of a type are not the same, never NULL."""
    if kind not in _FLOATING:
        return f"NOT ({comparable(one, kind)} <=> {comparable(other, kind)})"
    return f"NOT ({one} <=> {other} AND {negative_zero(one)} = {negative_zero(other)})"


def negative_zero(value: str) -> str:
    """True for -0.0, false for anything else. An AND would let Spark put 0.0 in place of the value."""
    return f"IF({value} = 0D, CAST({value} AS string) = '-0.0', false)"
