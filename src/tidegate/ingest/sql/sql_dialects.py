"""How databases write what the SQL connectors ask for: names, values as text and back, and the order of NULL."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum, auto
from typing import Protocol

from tidegate.errors import LandingError

__all__ = [
    "POSTGRES",
    "TRANSACT_SQL",
    "SqlColumn",
    "SqlDialect",
    "ValueKind",
    "generic_dialect",
    "kind_of",
    "name_parts",
]


class ValueKind(StrEnum):
    """How a value is written in a statement."""

    NUMBER = auto()
    FLOAT = auto()
    BOOLEAN = auto()
    TEXT = auto()
    NATIONAL_TEXT = auto()
    """SQL Server: text in Unicode, whose literals differ."""
    BINARY = auto()
    DATE = auto()
    TIMESTAMP = auto()
    """Without a zone."""
    INSTANT = auto()
    """With a zone."""


_KINDS = {
    "binary": ValueKind.BINARY,
    "boolean": ValueKind.BOOLEAN,
    "date": ValueKind.DATE,
    "double": ValueKind.FLOAT,
    "float": ValueKind.FLOAT,
    "string": ValueKind.TEXT,
    "timestamp": ValueKind.INSTANT,
    "timestamp_ntz": ValueKind.TIMESTAMP,
}
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "decimal")
_NATIONAL = frozenset({"nchar", "nvarchar", "ntext", "sysname", "xml"})


def kind_of(spark_type: str, database_type: str = "") -> ValueKind:
    """`spark_type`: its name in SQL, read with timestamps without zone kept apart. `database_type`: as the driver
    names it."""
    if database_type.lower() in _NATIONAL:
        return ValueKind.NATIONAL_TEXT
    if spark_type.startswith(_NUMBERS):
        return ValueKind.NUMBER
    return _KINDS.get(spark_type, ValueKind.TEXT)


@dataclass(frozen=True, slots=True)
class SqlColumn:
    name: str
    kind: ValueKind


class SqlDialect(Protocol):
    """What differs between databases. Statements use what all of them understand for the rest."""

    @property
    def nulls_first(self) -> bool:
        """Whether ORDER BY puts NULL before all values."""

    def quoted(self, name: str) -> str: ...

    def as_text(self, expression: str, kind: ValueKind) -> str:
        """An expression that loses no digit on its way through JDBC, which knows microseconds only."""

    def literal(self, text: str, kind: ValueKind) -> str:
        """The value whose text `as_text` gave, compared as the database compares its column."""

    def order_by(self, name: str) -> str:
        """The terms of ORDER BY for a quoted name."""

    def endless(self, expression: str, kind: ValueKind) -> str | None:
        """Whether the value is greater than all that can come, as infinity is. None: its kind has none such."""

    def remainder(self, dividend: str, divisor: int) -> str: ...


def name_parts(name: str) -> tuple[str, ...]:
    """`dbo.Orders`, `[dbo].[My Orders]` and `"dbo"."Orders"` in their parts; a dot inside quotes separates nothing."""
    parts = [match[0] for match in _PART.finditer(name.strip())]
    return tuple(_unquoted(part) for part in parts)


_PART = re.compile(r'\[(?:[^\]]|\]\])*\]|"(?:[^"]|"")*"|`(?:[^`]|``)*`|[^.]+')


def _unquoted(part: str) -> str:
    part = part.strip()
    for opening, closing in ("[]", '""', "``"):
        if len(part) > 1 and part[0] == opening and part[-1] == closing:
            return part[1:-1].replace(closing * 2, closing)
    return part


def _text_literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _number(text: str) -> str:
    """It stands in the statement without quotes, and comes from a file that others may write."""
    if _NUMBER.fullmatch(text) is None:
        raise _no_bound(text, "number")
    return text


def _digits(text: str) -> str:
    if _HEXADECIMAL.fullmatch(text) is None:
        raise _no_bound(text, "number in hexadecimal digits")
    return text


def _no_bound(text: str, what: str) -> LandingError:
    return LandingError(
        f"the manifest of a read has {text!r} where a {what} belongs",
        remedy="`tidegate ingest --restart` reads from the last bound again; check who may write into the landing zone",
    )


_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_HEXADECIMAL = re.compile(r"[0-9A-Fa-f]*")


@dataclass(frozen=True, slots=True)
class _TransactSql:
    """SQL Server. Its `datetime` counts ticks of 3.33 ms, which only datetime2(7) writes so that they compare equal:
    the text of a `datetime` itself ends after milliseconds."""

    nulls_first: bool = True

    def quoted(self, name: str) -> str:
        return "[" + name.replace("]", "]]") + "]"

    def as_text(self, expression: str, kind: ValueKind) -> str:
        match kind:
            case ValueKind.TIMESTAMP | ValueKind.INSTANT:
                return f"CAST(CAST({expression} AS {_TRANSACT_TIMES[kind]}) AS varchar(34))"
            case _:
                return expression

    def endless(self, expression: str, kind: ValueKind) -> str | None:
        return None

    def literal(self, text: str, kind: ValueKind) -> str:
        match kind:
            case ValueKind.NUMBER:
                return _number(text)
            case ValueKind.BINARY:
                return f"0x{_digits(text)}"
            case ValueKind.NATIONAL_TEXT:
                return f"N{_text_literal(text)}"
            case ValueKind.TIMESTAMP | ValueKind.INSTANT | ValueKind.DATE | ValueKind.FLOAT:
                return f"CAST({_text_literal(text)} AS {_TRANSACT_TIMES[kind]})"
            case _:
                return _text_literal(text)

    def order_by(self, name: str) -> str:
        return name

    def remainder(self, dividend: str, divisor: int) -> str:
        return f"{dividend} % {divisor}"


_TRANSACT_TIMES = {
    ValueKind.TIMESTAMP: "datetime2(7)",
    ValueKind.INSTANT: "datetimeoffset(7)",
    ValueKind.DATE: "date",
    ValueKind.FLOAT: "float",
}


@dataclass(frozen=True, slots=True)
class _Postgres:
    """Every value has an exact text, and a literal takes the type of the column that it is compared with."""

    nulls_first: bool = False

    def quoted(self, name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    def as_text(self, expression: str, kind: ValueKind) -> str:
        return f"({expression})::text"

    def endless(self, expression: str, kind: ValueKind) -> str | None:
        # NaN is greater than infinity. A number may be an integer, which is compared with neither but as text.
        values = _ENDLESS.get(kind)
        return None if values is None else f"({expression})::text IN ({values})"

    def literal(self, text: str, kind: ValueKind) -> str:
        return _text_literal(text)

    def order_by(self, name: str) -> str:
        return name

    def remainder(self, dividend: str, divisor: int) -> str:
        return f"{dividend} % {divisor}"


_ENDLESS = {
    ValueKind.NUMBER: "'Infinity', 'NaN'",
    ValueKind.FLOAT: "'Infinity', 'NaN'",
    ValueKind.DATE: "'infinity'",
    ValueKind.TIMESTAMP: "'infinity'",
    ValueKind.INSTANT: "'infinity'",
}


@dataclass(frozen=True, slots=True)
class _Generic:
    """What the standard has, and no more. The order of NULL differs between databases, so it is written out."""

    quote: str = '"'
    nulls_first: bool = True

    def quoted(self, name: str) -> str:
        return self.quote + name.replace(self.quote, self.quote * 2) + self.quote

    def as_text(self, expression: str, kind: ValueKind) -> str:
        is_time = kind in (ValueKind.TIMESTAMP, ValueKind.INSTANT)
        return f"TRIM(CAST({expression} AS CHAR(64)))" if is_time else expression

    def endless(self, expression: str, kind: ValueKind) -> str | None:
        return None

    def literal(self, text: str, kind: ValueKind) -> str:
        match kind:
            case ValueKind.NUMBER:
                return _number(text)
            case ValueKind.FLOAT:
                return _number(text) if "e" in text.lower() else f"{_number(text)}E0"
            case ValueKind.BINARY:
                return f"X'{_digits(text)}'"
            case ValueKind.DATE:
                return f"DATE {_text_literal(text)}"
            case ValueKind.TIMESTAMP:
                return f"TIMESTAMP {_text_literal(text)}"
            case ValueKind.INSTANT:
                return f"TIMESTAMP WITH TIME ZONE {_text_literal(text)}"
            case _:
                return _text_literal(text)

    def order_by(self, name: str) -> str:
        return f"CASE WHEN {name} IS NULL THEN 0 ELSE 1 END, {name}"

    def remainder(self, dividend: str, divisor: int) -> str:
        return f"MOD({dividend}, {divisor})"


TRANSACT_SQL: SqlDialect = _TransactSql()
POSTGRES: SqlDialect = _Postgres()
_BACKTICKS = ("jdbc:mysql:", "jdbc:mariadb:")


def generic_dialect(url: str) -> SqlDialect:
    """For a database of which only its JDBC address is known."""
    return _Generic("`" if url.lower().startswith(_BACKTICKS) else '"')
