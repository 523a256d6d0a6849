"""The constraints of a column as Spark SQL conditions that hold for values that break them.

NULL breaks none but `required` and `primaryKey`. A `pattern` is searched for, as in ECMA-262 and JSON Schema: anchor it
with ^ and $ where it is about the whole value. It is read as Java's regular expression, in which $ is the end alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tidegate.contracts.column_constraints import constant, written
from tidegate.contracts.ingestion import SilverColumn
from tidegate.contracts.text_formats import INTEGER_FORMATS, text_has_format
from tidegate.datatypes import DataType
from tidegate.errors import QueryError
from tidegate.names import literal, quote
from tidegate.sql_literals import at_the_very_end, require_pattern
from tidegate.transform.silver.silver_frame import as_text
from tidegate.transform.silver.text_casts import ColumnCast, part_cast

__all__ = ["ValueRule", "column_rules"]


_SEARCHED = 2000
"""The most characters in which a pattern with a repeated group is searched for: Java takes stack for each repetition,
and Spark ends where there is no more."""
_REPEATED_GROUP = re.compile(r"(?<!\\)\)[*+{]")


@dataclass(frozen=True, slots=True)
class ValueRule:
    """`breaks`: a condition that is true or false or NULL (kept). `complaint` follows column and value."""

    name: str
    breaks: str
    complaint: str


def column_rules(cast: ColumnCast, value: str) -> list[ValueRule]:
    """Those of a column whose cast value is `value`, and of what is inside it. Raises QueryError for a constraint that
    the type cannot keep."""
    return [*_own_rules(cast, value), *_rules_inside(cast, value)]


def _own_rules(cast: ColumnCast, value: str) -> list[ValueRule]:
    column = cast.column
    rules = list(_presence(column, value))
    if column.allowed is not None:
        rules.append(_enum(cast, value, column.allowed))
    rules += _bounds(cast, value)
    if cast.type.is_text and column.logical_type != "object":
        rules += _text_rules(cast, value)
    elif cast.type.is_numeric:
        rules += _number_rules(cast, value)
    elif cast.type.kind == "array":
        rules += _array_rules(column, value)
    if cast.type.kind in ("struct", "map") or cast.is_json:
        rules += _object_rules(cast, value)
    return rules


def _rules_inside(cast: ColumnCast, value: str, depth: int = 0) -> Iterator[ValueRule]:
    """Those of the properties of a struct and of the items of an array. They break none of a value that is NULL."""
    column, kind = cast.column, cast.type
    for part in column.parts if kind.kind == "struct" else ():
        inside = f"{value}.{quote(part.name)}"
        for rule in _rules_of_part(part, kind.field(part.name), inside, depth):
            breaks = f"{value} IS NOT NULL AND ({rule.breaks})" if rule.name == "required" else rule.breaks
            yield ValueRule(rule.name, breaks, f"has the property {part.name}, which {rule.complaint}")
    if kind.kind == "array" and column.items is not None:
        item = f"__item{depth}"
        for rule in _rules_of_part(column.items, kind.args[0], item, depth + 1):
            yield ValueRule(
                rule.name, f"exists({value}, {item} -> {rule.breaks})", f"has an item that {rule.complaint}"
            )


def _rules_of_part(part: SilverColumn, kind: DataType | None, value: str, depth: int) -> Iterator[ValueRule]:
    if kind is None:
        return
    cast = part_cast(part, kind)
    if cast.length is not None:
        complaint = f"is longer than the {cast.length} characters of {part.type}"
        yield ValueRule("maxLength", f"char_length({value}) > {cast.length}", complaint)
    yield from _own_rules(cast, value)
    yield from _rules_inside(cast, value, depth)


def _presence(column: SilverColumn, value: str) -> Iterator[ValueRule]:
    if column.primary_key:
        yield ValueRule("primaryKey", f"{value} IS NULL", "is NULL, and is part of the primary key")
    elif column.required:
        yield ValueRule("required", f"{value} IS NULL", "is NULL, and is required")


def _enum(cast: ColumnCast, value: str, allowed: tuple[Any, ...]) -> ValueRule:
    listed = ", ".join(written(entry) for entry in allowed)
    entries = [entry for entry in allowed if entry is not None]
    if cast.type.is_nested:
        value, literals = as_text(value, cast.type.kind), [literal(written(entry)) for entry in entries]
    else:
        literals = [_constant(cast, entry, "enum") for entry in entries]
    return ValueRule("enum", f"NOT {value} IN ({', '.join(literals) or 'NULL'})", f"is not one of {listed}")


def _bounds(cast: ColumnCast, value: str) -> Iterator[ValueRule]:
    """`exclusiveMinimum` is a bound of its own, or says of `minimum` that it is exclusive."""
    options = cast.column.options
    if not (cast.type.is_numeric or cast.type.is_temporal or cast.type.is_text):
        return
    for name, exclusive, inside, beyond, word in (
        ("minimum", "exclusiveMinimum", "<", "<=", "less than"),
        ("maximum", "exclusiveMaximum", ">", ">=", "greater than"),
    ):
        bound, other = options.get(name), options.get(exclusive)
        if bound is not None:
            operator, text = (beyond, "not " + _OPPOSITE[word]) if other is True else (inside, word)
            constant = _constant(cast, bound, name)
            yield ValueRule(name, f"{value} {operator} {constant}", f"is {text} the {name} {written(bound)}")
        if other is not None and not isinstance(other, bool):
            constant = _constant(cast, other, exclusive)
            yield ValueRule(exclusive, f"{value} {beyond} {constant}", f"is not {_OPPOSITE[word]} {written(other)}")


_OPPOSITE = {"less than": "greater than", "greater than": "less than"}


def _text_rules(cast: ColumnCast, value: str) -> Iterator[ValueRule]:
    options, length = cast.column.options, f"char_length({value})"
    if (least := _count(cast, "minLength")) is not None:
        yield ValueRule("minLength", f"{length} < {least}", f"is shorter than the {least} characters of minLength")
    if (most := _count(cast, "maxLength")) is not None:
        yield ValueRule("maxLength", f"{length} > {most}", f"is longer than the {most} characters of maxLength")
    if (pattern := options.get("pattern")) is not None:
        try:
            require_pattern(str(pattern))
        except ValueError as error:
            raise _wrong(cast, "pattern", pattern, str(error)) from None
        breaks = f"NOT {value} RLIKE {literal(at_the_very_end(str(pattern)))}"
        complaint = f"does not match {pattern}"
        if _REPEATED_GROUP.search(str(pattern)) and (most is None or most > _SEARCHED):
            breaks = f"CASE WHEN {length} > {_SEARCHED} THEN true ELSE {breaks} END"
            complaint += f", which is searched for in {_SEARCHED} characters at most"
        elif _REPEATED_GROUP.search(str(pattern)):
            breaks = f"{length} <= {_SEARCHED} AND {breaks}"
        yield ValueRule("pattern", breaks, complaint)
    if (name := options.get("format")) is None:
        return
    if cast.column.logical_type == "time":
        moment = f"try_to_timestamp({value}, {literal(str(name))})"
        yield ValueRule("format", f"{value} IS NOT NULL AND {moment} IS NULL", f"is not of the form {name}")
    elif cast.column.logical_type in (None, "string"):
        condition = text_has_format(value, str(name))
        if condition is not None:
            yield ValueRule("format", f"{value} IS NOT NULL AND NOT ({condition})", f"is not a valid {name}")


def _number_rules(cast: ColumnCast, value: str) -> Iterator[ValueRule]:
    options = cast.column.options
    bounds = INTEGER_FORMATS.get(str(options.get("format")))
    if bounds is not None and cast.type.kind in ("tinyint", "smallint", "int", "bigint", "decimal"):
        least, most = bounds
        complaint = f"is not within {options['format']}, {least} to {most}"
        yield ValueRule("format", f"NOT {value} BETWEEN {least} AND {most}", complaint)
    if (step := options.get("multipleOf")) is not None:
        constant = _constant(cast, step, "multipleOf")
        if Decimal(str(step)) <= 0:
            raise _wrong(cast, "multipleOf", step, "it must be greater than 0")
        exact = f"try_cast(CAST({value} AS STRING) AS DECIMAL(38,18))" if cast.type.is_floating else value
        fails = f"{exact} % {constant} <> 0"
        if cast.type.is_floating:
            fails = f"{value} IS NOT NULL AND coalesce({fails}, true)"
        yield ValueRule("multipleOf", fails, f"is not a multiple of {written(step)}")


def _array_rules(column: SilverColumn, value: str) -> Iterator[ValueRule]:
    options, size = column.options, f"size({value})"
    if (least := options.get("minItems")) is not None:
        yield ValueRule("minItems", f"{size} < {int(least)}", f"has fewer than {int(least)} items")
    if (most := options.get("maxItems")) is not None:
        yield ValueRule("maxItems", f"{size} > {int(most)}", f"has more than {int(most)} items")
    if (dimensions := options.get("dimensions")) is not None:
        yield ValueRule("dimensions", f"{size} <> {int(dimensions)}", f"has not {int(dimensions)} dimensions")
    if options.get("uniqueItems") is True:
        yield ValueRule("uniqueItems", f"size(array_distinct({value})) < {size}", "has an item twice")


def _object_rules(cast: ColumnCast, value: str) -> Iterator[ValueRule]:
    options, kind = cast.column.options, cast.type
    if kind.kind == "struct":
        present = [f"CASE WHEN {value}.{quote(name)} IS NULL THEN 0 ELSE 1 END" for name, _ in kind.args]
        size = f"CASE WHEN {value} IS NOT NULL THEN {' + '.join(present) or '0'} END"
    else:
        keys = f"map_keys({value})" if kind.kind == "map" else f"json_object_keys({value})"
        size = f"size({keys})"
    if (least := options.get("minProperties")) is not None:
        yield ValueRule("minProperties", f"{size} < {int(least)}", f"has fewer than {int(least)} properties")
    if (most := options.get("maxProperties")) is not None:
        yield ValueRule("maxProperties", f"{size} > {int(most)}", f"has more than {int(most)} properties")
    required = options.get("required")
    for name in required if isinstance(required, list) else ():
        if kind.kind == "struct":
            if kind.field(name) is None:
                raise _wrong(cast, "required", name, f"{kind.text} has no such property")
            lacks = f"{value} IS NOT NULL AND {value}.{quote(name)} IS NULL"
        else:
            lacks = f"NOT array_contains({keys}, {literal(str(name))})"
        yield ValueRule("required", lacks, f"lacks the property {name}")


def _constant(cast: ColumnCast, bound: Any, rule: str) -> str:
    """A value of the contract as a constant of the column's type."""
    text = written(bound)
    try:
        return constant(bound, cast.type)
    except ValueError as error:
        if cast.type.is_temporal and cast.times.format is not None:
            wrong = literal(f"{rule} {text} of column '{cast.column.name}' is not {cast.expected}")
            return f"coalesce({cast.value(literal(text))}, raise_error({wrong}))"
        raise _wrong(cast, rule, bound, str(error)) from None


def _count(cast: ColumnCast, option: str) -> int | None:
    number = cast.column.options.get(option)
    if number is not None and (not isinstance(number, int) or isinstance(number, bool)):
        raise _wrong(cast, option, number, "it must be a whole number")
    return number


def _wrong(cast: ColumnCast, rule: str, value: Any, why: str) -> QueryError:
    return QueryError(f"{rule} {written(value)} of column '{cast.column.name}' cannot be used: {why}")
