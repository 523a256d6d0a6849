"""The constraints of a column of silver: which fit its type, what is wrong with them, and which no stage evaluates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from tidegate.contracts.column_types import nested_columns, silver_type, type_issues
from tidegate.contracts.element import Element
from tidegate.contracts.issues import Issue
from tidegate.contracts.text_formats import INTEGER_FORMATS, TEXT_FORMATS
from tidegate.contracts.time_formats import java_pattern, require_zone
from tidegate.contracts.yaml_document import Path
from tidegate.datatypes import DataType, parse_type
from tidegate.names import nearest
from tidegate.problems import did_you_mean
from tidegate.sql_literals import require_pattern, typed_literal

__all__ = ["allowed_values", "constant", "constraint_issues", "options_of", "unevaluated", "written"]

_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_OF_TEXT = ("minLength", "maxLength", "pattern", "format", *_BOUNDS)
_OF_NUMBERS = ("multipleOf", "format", *_BOUNDS)
_OF_TIMES = ("format", "timezone", "defaultTimezone", *_BOUNDS)
_OF_ARRAYS = ("minItems", "maxItems", "uniqueItems", "dimensions")
_OF_OBJECTS = ("minProperties", "maxProperties", "required")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "dimensions", "minProperties", "maxProperties")
_KNOWN = {*_OF_TEXT, *_OF_NUMBERS, *_OF_TIMES, *_OF_ARRAYS, *_OF_OBJECTS}
_DESCRIPTIVE = {"enum", "elementType", "distanceMetric", "embeddingModel", "embeddingModelVersion", "normalized"}
"""Options that are no constraints of their own here."""
_FLOAT_FORMATS = ("f32", "f64")
_LENGTH = re.compile(r"char\s*\(", re.IGNORECASE)


def allowed_values(column: Element) -> tuple[tuple[Any, ...] | None, Path]:
    """`enum`, then that of logicalTypeOptions, then the custom property, then a quality rule's valid values; and where
    they are."""
    options, custom = column.part("logicalTypeOptions"), column.custom.get("enum")
    candidates: list[tuple[Any, Path]] = [(column.value.get("enum"), column.at("enum"))]
    candidates.append((options.value.get("enum"), options.at("enum")))
    if custom is not None:
        candidates.append((custom.value, custom.path))
    for rule in column.items("quality"):
        arguments = rule.part("arguments")
        candidates.append((rule.value.get("validValues"), rule.at("validValues")))
        candidates.append((arguments.value.get("validValues"), arguments.at("validValues")))
    for entries, path in candidates:
        if isinstance(entries, list) and entries:
            return tuple(entry.get("value") if isinstance(entry, dict) else entry for entry in entries), path
    return None, column.path


def options_of(column: Element) -> Mapping[str, Any]:
    """In v3.0 an exclusive bound may be true: then `maximum` or `minimum` is meant without its value."""
    options = dict(column.part("logicalTypeOptions").value)
    for bound, inclusive in (("exclusiveMaximum", "maximum"), ("exclusiveMinimum", "minimum")):
        if isinstance(options.get(bound), bool) and options.pop(bound) and inclusive in options:
            options[bound] = options.pop(inclusive)
    return options


def written(value: Any) -> str:
    """A value of a contract as text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return format(Decimal(str(value)), "f")
    return str(value)


def constant(value: Any, kind: DataType) -> str:
    """A value of a contract as a constant of a column's type. Raises ValueError."""
    return typed_literal(written(value), kind if kind.known and kind.kind != "binary" else DataType("string"))


def constraint_issues(column: Element, name: str, kind: DataType | None = None) -> Iterator[Issue]:
    """Of a column whose types are right, and of what is inside it. `kind`: what the type around it gives it."""
    kind = kind or _type(column)
    if kind is None:
        return
    yield from _enum(column, name, kind)
    options = options_of(column)
    fitting = _fitting(column, kind)
    for option, value in options.items():
        if option in _DESCRIPTIVE:
            continue
        if option not in fitting:
            message = f"{option} does not fit column '{name}', whose type is {kind}"
            fix = None if option in _KNOWN else did_you_mean(nearest(option, _KNOWN, 1))
            yield column.issue(message, fix or "remove it, or change the type", "logicalTypeOptions", option)
            continue
        mistake = _mistake(column, kind, options, option, value)
        if mistake is not None:
            yield column.issue(
                f"{option} {written(value)} of column '{name}' cannot be used: {mistake}",
                None,
                "logicalTypeOptions",
                option,
            )
    is_derived = not column.text("physicalType")
    for part, path, inside in _inside(column, name, kind):
        if is_derived and not part.text("physicalType") and not part.text("logicalType"):
            message = f"'{path}' has neither a physicalType nor a logicalType"
            yield part.issue(message, "write for example logicalType: string")
        yield from type_issues(part, path)
        yield from constraint_issues(part, path, inside)


def unevaluated(column: Element, name: str | None = None, kind: DataType | None = None) -> Iterator[str]:
    """What a column, or what is inside it, asks for and no stage evaluates, in words."""
    path, kind = name or column.column_name, kind or _type(column)
    if kind is None:
        return
    options = options_of(column)
    form = options.get("format")
    if form is not None and kind.is_text and _is_free_format(column, str(form)):
        yield f"format {form} of {path}"
    if kind.is_nested and _LENGTH.search(column.text("physicalType") or ""):
        yield f"lengths inside {column.text('physicalType')} of {path}"
    if form in _FLOAT_FORMATS:
        yield f"format {form} of {path}"
    if kind.kind in ("map", "binary", "variant") and list(column.items("properties")):
        yield f"properties of {path}"
    elif kind.is_text and list(column.items("properties")):
        yield f"properties of {path}, which is JSON text"
    elif kind.kind == "struct":
        yield from (
            f"{path}.{part.column_name}, which {kind} lacks"
            for part in column.items("properties")
            if kind.field(part.column_name) is None
        )
    if kind.kind != "array" and column.part("items").value:
        yield f"items of {path}"
    if name is not None:
        yield from _unevaluated_inside(column, path, kind, options)
    for part, below, inside in _inside(column, path, kind):
        yield from unevaluated(part, below, inside)


def _unevaluated_inside(column: Element, path: str, kind: DataType, options: Mapping[str, Any]) -> Iterator[str]:
    """What holds for columns alone."""
    for flag in ("primaryKey", "unique"):
        if column.flag(flag):
            yield f"{flag} of {path}"
    for key in ("transformLogic", "transformSourceObjects"):
        if column.value.get(key):
            yield f"{key} of {path}"
    for number, rule in enumerate(column.items("quality"), 1):
        yield f"quality rule {rule.text('name') or rule.text('id') or number} of {path}"
    if kind.is_temporal:
        for option in ("format", "timezone", "defaultTimezone"):
            if option in options:
                yield f"{option} of {path}"


def _type(column: Element) -> DataType | None:
    text = silver_type(column)
    return None if text is None else parse_type(text)


def _inside(column: Element, name: str, kind: DataType) -> Iterator[tuple[Element, str, DataType]]:
    """What is inside a struct or an array, with its path and type."""
    properties, items = nested_columns(column)
    for part in properties if kind.kind == "struct" else ():
        inside = kind.field(part.column_name)
        if inside is not None:
            yield part, f"{name}.{part.column_name}", inside
    if kind.kind == "array" and items is not None:
        yield items, f"{name}[]", kind.args[0]


def _fitting(column: Element, kind: DataType) -> tuple[str, ...]:
    if kind.is_text:
        return _OF_OBJECTS if column.text("logicalType") == "object" else _OF_TEXT
    if kind.is_numeric:
        return _OF_NUMBERS
    if kind.is_temporal:
        return _OF_TIMES
    return {"array": _OF_ARRAYS, "struct": _OF_OBJECTS, "map": _OF_OBJECTS}.get(kind.kind, ())


def _enum(column: Element, name: str, kind: DataType) -> Iterator[Issue]:
    custom = column.custom.get("enum")
    if custom is not None and not isinstance(custom.value, list):
        yield Issue(
            custom.path, f"'enum' must be a list of values, not {custom.value!r}", "write for example [new, paid]"
        )
    values, path = allowed_values(column)
    if values is None or kind.is_nested:
        return
    for value in values:
        try:
            if value is not None:
                constant(value, kind)
        except ValueError as error:
            yield Issue(path, f"enum {written(value)} of column '{name}' cannot be used: {error}")


def _mistake(column: Element, kind: DataType, options: Mapping[str, Any], option: str, value: Any) -> str | None:
    try:
        if option in _BOUNDS or option == "multipleOf":
            _require_constant(kind, options, option, value)
        elif option in _COUNTS:
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                return "it must be a whole number"
        elif option == "pattern":
            require_pattern(str(value))
        elif option == "format":
            return _wrong_format(column, kind, str(value))
        elif option == "defaultTimezone":
            require_zone(str(value))
        elif option == "required":
            return _wrong_names(kind, value)
        elif not isinstance(value, bool):
            return "it must be true or false"
    except ValueError as error:
        return str(error)
    return None


def _require_constant(kind: DataType, options: Mapping[str, Any], option: str, value: Any) -> None:
    if kind.is_temporal and options.get("format") is not None:
        return  # Written as the format says, which only Spark can read.
    constant(value, kind)
    if option == "multipleOf" and Decimal(str(value)) <= 0:
        raise ValueError("it must be greater than 0")


def _wrong_format(column: Element, kind: DataType, form: str) -> str | None:
    if kind.is_temporal:
        java_pattern(form)
    elif kind.is_numeric and form not in (*INTEGER_FORMATS, "i128", *_FLOAT_FORMATS):
        return f"it is none of {', '.join(INTEGER_FORMATS)}"
    elif kind.is_text and _is_free_format(column, form) and column.text("logicalType") in (None, "string"):
        near = nearest(form, TEXT_FORMATS, 1)
        return None if not near else f"it is not known; {did_you_mean(near)}"
    return None


def _is_free_format(column: Element, form: str) -> bool:
    """A format of text that nothing holds values to."""
    logical = column.text("logicalType")
    return logical != "time" and (logical not in (None, "string") or form not in TEXT_FORMATS)


def _wrong_names(kind: DataType, names: Any) -> str | None:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return "it must be a list of names"
    lacking = [name for name in names if kind.kind == "struct" and kind.field(name) is None]
    return f"{kind} has no such property" if lacking else None
