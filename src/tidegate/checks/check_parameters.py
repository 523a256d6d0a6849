"""The kinds of parameters that a check can have, and how the argument for each is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from enum import StrEnum

from tidegate.checks.parsing import MalformedCall, parse_call
from tidegate.config import parse_duration
from tidegate.datatypes import ANY, Column, DataType, Relation, parse_type
from tidegate.names import TableName, literal, nearest, quote
from tidegate.problems import did_you_mean
from tidegate.sql_literals import is_number, number, operator, typed_literal

__all__ = [
    "COMPARABLE",
    "GROUPABLE",
    "NUMERIC",
    "STEPPED",
    "TEXTUAL",
    "TIME",
    "Arguments",
    "Family",
    "Mistake",
    "Parameter",
    "ParameterKind",
    "items",
]


class ParameterKind(StrEnum):
    COLUMN = "column"
    COLUMNS = "columns"
    OPERATOR = "operator"
    NUMBER = "number"
    WHOLE = "whole number"
    INTEGER = "integer"
    PERCENT = "percent"
    SHARE = "share"
    VALUE = "value"
    DURATION = "duration"
    TEXT = "text"
    LIST = "list"
    TYPE = "type"
    TABLE = "table"
    OTHER_COLUMN = "column of the other table"
    CONDITION = "condition"
    EXPRESSION = "expression"
    FILE = "file"
    LABEL = "label"
    CHOICE = "choice"


class Mistake(ValueError):
    """Something wrong in a call. `argument`: which one, from 0; None where it is the call as a whole."""

    def __init__(self, message: str, code: str, suggestion: str | None = None, argument: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.suggestion = suggestion
        self.argument = argument


@dataclass(frozen=True, slots=True)
class Family:
    """Types that a check can judge, in words that follow `not`."""

    words: str
    holds: Callable[[DataType], bool]


def _is_comparable(kind: DataType) -> bool:
    return kind.is_numeric or kind.is_text or kind.is_temporal or kind.kind == "boolean"


def _has_steps(kind: DataType) -> bool:
    return kind.is_integral or (kind.kind == "decimal" and kind.args[1] == 0)


def _can_be_grouped(kind: DataType) -> bool:
    return kind.kind not in ("map", "variant") and all(
        _can_be_grouped(part[1] if isinstance(part, tuple) else part)
        for part in kind.args
        if isinstance(part, tuple | DataType)
    )


NUMERIC = Family("a number", lambda kind: kind.is_numeric)
TEXTUAL = Family("text", lambda kind: kind.is_text)
TIME = Family("a date or a timestamp", lambda kind: kind.is_temporal)
STEPPED = Family("a whole number", _has_steps)
COMPARABLE = Family("a number, text, a date, a timestamp or true and false", _is_comparable)
GROUPABLE = Family("of a type whose values can be compared", _can_be_grouped)


_CAST = "cast it in the query, declare its type in columns of [landing.ZONE]"


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    kind: ParameterKind

    accepts: Family | None = None
    """The types that a column may have; None for any."""

    optional: bool = False

    choices: tuple[str, ...] = ()
    """Of a CHOICE."""

    also: tuple[str, ...] = ()
    """Other names that it has in settings files."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of a call. Every method that reads one raises ValueError; a Mistake where more than its text is
    wrong."""

    texts: Mapping[str, str]
    """By the name of the parameter."""

    table: Relation
    """The table's columns as far as they are known."""

    namespace: str = ""
    source: str = ""

    quoted_numbers: frozenset[str] = frozenset()
    """The parameters whose argument is a number in quotes, which is text where the column is."""

    def has(self, name: str) -> bool:
        return name in self.texts

    def text(self, name: str) -> str:
        return self.texts[name]

    def literal(self, name: str) -> str:
        return literal(self.texts[name])

    def column(self, name: str = "column") -> Column:
        return self._find(self.texts[name])

    def name(self, name: str = "column") -> str:
        return self.column(name).name

    def quoted(self, name: str = "column") -> str:
        return quote(self.name(name))

    def type(self, name: str = "column") -> DataType:
        return self.column(name).type

    def columns(self, name: str = "columns") -> tuple[Column, ...]:
        columns = tuple(self._find(item) for item in items(self.texts[name]))
        lowered = [column.name.lower() for column in columns]
        if twice := next((column.name for column in columns if lowered.count(column.name.lower()) > 1), None):
            raise ValueError(f"column '{twice}' is named twice")
        return columns

    def number(self, name: str) -> str:
        return number(self.texts[name])

    def decimal(self, name: str) -> Decimal:
        return Decimal(self.number(name).strip("()"))

    def whole(self, name: str) -> int:
        text = self.texts[name].strip()
        if not (text.isascii() and text.isdigit()) or len(text) > 18:
            raise ValueError(f"'{text}' is not a whole number of 0 or more")
        return int(text)

    def integer(self, name: str) -> int:
        value = self.decimal(name)
        if value != value.to_integral_value():
            raise ValueError(f"'{self.texts[name]}' is not a whole number")
        return int(value)

    def percent(self, name: str) -> Decimal:
        text = self.texts[name].strip().removesuffix("%").strip()
        try:
            share = Decimal(number(text).strip("()"))
        except ValueError:
            raise ValueError(f"'{self.texts[name]}' is not a percentage such as 5%") from None
        if share < 0:
            raise ValueError(f"'{self.texts[name]}' is less than 0 %")
        return share

    def share(self, name: str) -> Decimal:
        text = self.texts[name].strip()
        share = self.percent(name) / 100 if text.endswith("%") else Decimal(number(text).strip("()"))
        if not 0 <= share <= 1:
            raise ValueError(f"'{text}' is not between 0 and 1; write 0.95 or 95%")
        return share

    def value(self, name: str, column: str = "column") -> str:
        """A number without quotes is compared as a number: as text, '1000' comes before '900'."""
        of, text = self.column(column), self.texts[name]
        if of.type.known and not of.type.is_numeric and name not in self.quoted_numbers and is_number(text):
            message = f"column '{of.name}' is {of.type}, and the check compares it with a number"
            other = f"write '{text}' in quotes to compare text" if of.type.is_text else "compare it with another value"
            raise Mistake(message, "CheckColumnType", f"{_CAST}, or {other}")
        return typed_literal(text, of.type)

    def values(self, name: str, column: str = "column") -> tuple[str, ...]:
        return tuple(typed_literal(item, self.type(column)) for item in items(self.texts[name]))

    def operator(self, name: str = "operator") -> str:
        return operator(self.texts[name])

    def duration(self, name: str) -> timedelta:
        length = parse_duration(self.texts[name])
        if not length:
            raise ValueError(f"'{self.texts[name]}' is no time at all")
        return length

    def data_type(self, name: str) -> DataType:
        kind = parse_type(self.texts[name])
        if kind is None:
            raise ValueError(f"'{self.texts[name]}' is not a type of Spark's, such as bigint or decimal(10,2)")
        return kind

    def condition(self, name: str) -> str:
        text = self.texts[name].strip()
        if not text:
            raise ValueError(f"{name} is empty")
        return text

    def relation(self, name: str) -> TableName:
        text = self.texts[name]
        return TableName.parse(text, self.namespace)

    def read(self, parameter: Parameter) -> object:
        """The argument for the parameter, read by its kind."""
        return _READERS[parameter.kind](self, parameter)

    def _find(self, name: str) -> Column:
        match = self.table.find(name)
        if match is not None:
            return match
        if not name.strip():
            raise ValueError("the name of a column is missing")
        if self.table.complete:
            columns = [column.name for column in self.table.columns]
            fix = did_you_mean(nearest(name, columns)) or f"the table has {', '.join(columns)}"
            raise Mistake(f"the table has no column '{name}'", "UnknownColumn", fix)
        return Column(name)


def items(text: str) -> tuple[str, ...]:
    """The items of a list between its commas; one that holds a comma is in quotes. Raises ValueError."""
    try:
        arguments = parse_call(f"list({text})")[0].arguments
    except MalformedCall as error:
        raise ValueError(f"the list '{text}' cannot be read: {error}") from None
    if not arguments:
        raise ValueError("the list is empty")
    return arguments


def _column(args: Arguments, parameter: Parameter) -> object:
    column = args.column(parameter.name)
    return _accepted(column, parameter)


def _columns(args: Arguments, parameter: Parameter) -> object:
    return [_accepted(column, parameter) for column in args.columns(parameter.name)]


def _accepted(column: Column, parameter: Parameter) -> Column:
    family = parameter.accepts
    if family is not None and column.type.known and not family.holds(column.type):
        message = f"column '{column.name}' is {column.type}, not {family.words}"
        raise Mistake(message, "CheckColumnType", f"{_CAST}, or use another check")
    return column


def _value(args: Arguments, parameter: Parameter) -> object:
    """What it means depends on the column; a missing column is reported on its own."""
    column = args.table.find(args.texts.get("column", ""))
    if column is None or (column.type.known and not COMPARABLE.holds(column.type)):
        return typed_literal(args.text(parameter.name), ANY)
    return args.value(parameter.name)


def _choice(args: Arguments, parameter: Parameter) -> object:
    word = args.text(parameter.name).strip().lower()
    if word not in parameter.choices:
        near = did_you_mean(nearest(word, parameter.choices, 1)) or f"use one of {', '.join(parameter.choices)}"
        raise ValueError(f"'{word}' is not a {parameter.name}: {near}")
    return word


_READERS: Mapping[ParameterKind, Callable[[Arguments, Parameter], object]] = {
    ParameterKind.COLUMN: _column,
    ParameterKind.COLUMNS: _columns,
    ParameterKind.OPERATOR: lambda args, parameter: args.operator(parameter.name),
    ParameterKind.NUMBER: lambda args, parameter: args.number(parameter.name),
    ParameterKind.WHOLE: lambda args, parameter: args.whole(parameter.name),
    ParameterKind.INTEGER: lambda args, parameter: args.integer(parameter.name),
    ParameterKind.PERCENT: lambda args, parameter: args.percent(parameter.name),
    ParameterKind.SHARE: lambda args, parameter: args.share(parameter.name),
    ParameterKind.VALUE: _value,
    ParameterKind.DURATION: lambda args, parameter: args.duration(parameter.name),
    ParameterKind.TEXT: lambda args, parameter: args.text(parameter.name),
    ParameterKind.LIST: lambda args, parameter: items(args.text(parameter.name)),
    ParameterKind.TYPE: lambda args, parameter: args.data_type(parameter.name),
    ParameterKind.TABLE: lambda args, parameter: args.relation(parameter.name),
    ParameterKind.OTHER_COLUMN: lambda args, parameter: args.condition(parameter.name),
    ParameterKind.CONDITION: lambda args, parameter: args.condition(parameter.name),
    ParameterKind.EXPRESSION: lambda args, parameter: args.condition(parameter.name),
    ParameterKind.FILE: lambda args, parameter: args.condition(parameter.name),
    ParameterKind.LABEL: lambda args, parameter: args.condition(parameter.name),
    ParameterKind.CHOICE: _choice,
}
