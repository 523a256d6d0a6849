"""Values as Spark SQL text. Nothing that a person wrote gets into a query but through here."""

from __future__ import annotations

import re
import warnings
from datetime import date, datetime, timedelta

from tidegate.datatypes import DataType
from tidegate.names import literal

__all__ = [
    "OPERATORS",
    "at_the_very_end",
    "full_match",
    "interval",
    "is_number",
    "number",
    "operator",
    "require_pattern",
    "typed_literal",
]

OPERATORS = {"=": "=", "==": "=", "!=": "<>", "<>": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_MOST_DIGITS = 38
_BROKEN = ("missing )", "unbalanced parenthesis", "unterminated character set", "nothing to repeat")
"""Python's errors for an expression that Java rejects too."""
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?:Z|[+-]\d{2}:\d{2})?)?", re.ASCII)


def full_match(pattern: str) -> str:
    """A literal that RLIKE finds in a text only where the pattern is all of it. Raises ValueError."""
    require_pattern(pattern)
    return literal(rf"\A(?:{pattern})\z")


def require_pattern(pattern: str) -> None:
    """Raises ValueError for what Java takes for no regular expression, as far as Python can say."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(pattern)
    except re.error as error:
        if error.msg.startswith(_BROKEN) and "\\Q" not in pattern:
            raise ValueError(f"'{pattern}' is not a regular expression: {error.msg}") from None


def at_the_very_end(pattern: str) -> str:
    """The pattern for Java, where $ stands for the end as in ECMA-262: Java's also stands before a last line break."""
    if "\\Q" in pattern or "(?m" in pattern:
        return pattern
    parts, depth, at = [], 0, 0
    while at < len(pattern):
        sign = pattern[at : at + 2] if pattern[at] == "\\" else pattern[at]
        depth += (sign == "[") - (sign == "]" and depth > 0)
        parts.append(r"\z" if sign == "$" and not depth else sign)
        at += len(sign)
    return "".join(parts)


def is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text.strip().replace("_", "")) is not None


def number(text: str) -> str:
    """The number as it was written, so that no digit is lost. Raises ValueError."""
    written = text.strip().replace("_", "")
    if not is_number(written):
        raise ValueError(f"'{text}' is not a number")
    if sum(map(str.isdigit, written)) > _MOST_DIGITS:
        raise ValueError(f"'{text}' has more than {_MOST_DIGITS} digits")
    written = written.removeprefix("+")
    # `- -1` and `a - -1` are what they seem, `--1` would be a comment.
    return f"({written})" if written.startswith("-") else written


def operator(text: str) -> str:
    """Raises ValueError."""
    if text.strip() not in OPERATORS:
        raise ValueError(f"'{text}' is not an operator: use one of {' '.join(OPERATORS)}")
    return OPERATORS[text.strip()]


def interval(length: timedelta) -> str:
    return f"INTERVAL '{length // timedelta(microseconds=1) / 1_000_000:.6f}' SECOND"


def typed_literal(text: str, kind: DataType) -> str:
    """What is compared with a column of that type. Raises ValueError where it is no value of the type.

    Of a type that is not known, what looks like a number is one, and anything else is text.
    """
    if kind.is_text:
        return literal(text)
    if kind.is_numeric:
        return number(text)
    if kind.kind == "boolean":
        if text.strip().lower() not in ("true", "false"):
            raise ValueError(f"'{text}' is neither true nor false")
        return text.strip().lower()
    if kind.is_temporal:
        return _moment(text.strip(), kind)
    if kind.known:
        raise ValueError(f"a column of type {kind} cannot be compared with a value")
    return number(text) if is_number(text) else literal(text)


def _moment(text: str, kind: DataType) -> str:
    try:
        if not _MOMENT.fullmatch(text):
            raise ValueError(text)
        if kind.kind == "date":
            return f"DATE '{date.fromisoformat(text).isoformat()}'"
        moment = datetime.fromisoformat(text)
    except ValueError:
        example = "2026-01-31" if kind.kind == "date" else "2026-01-31 or 2026-01-31T06:00:00"
        what = "date" if kind.kind == "date" else "time"
        raise ValueError(f"'{text}' is not a {what} such as {example}") from None
    if kind.kind == "timestamp_ntz":
        if moment.tzinfo is not None:
            raise ValueError(f"'{text}' names a time zone, and the column has none")
        return f"TIMESTAMP_NTZ '{moment.isoformat(sep=' ')}'"
    return f"TIMESTAMP '{moment.isoformat(sep=' ')}'"
