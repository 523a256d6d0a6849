"""A check to evaluate on a table and its answer, with values as JSON can hold them and hidden ones redacted."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from tidegate.checks.check_values import Check, CheckRule
from tidegate.errors import FailureKind

__all__ = [
    "REDACTED",
    "SAMPLES",
    "CheckAnswer",
    "CheckQuery",
    "is_about_hidden",
    "plain",
    "redact_message",
    "redact_row",
]


SAMPLES = 5


@dataclass(frozen=True, slots=True)
class CheckQuery:
    check: Check
    form: CheckRule

    relation: str | None = None
    """Read instead of the whole table, such as the rows just written."""

    concerning: str | None = None
    """A relation with the only keys that a rule about groups needs to read."""


@dataclass(frozen=True, slots=True)
class CheckAnswer:
    """Values are such as JSON can hold."""

    status: str
    """passed, failed, or error where the check could not be evaluated"""

    value: int | float | str | bool | None
    expected: str
    samples: tuple[Mapping[str, Any], ...] = ()

    error: str | None = None
    """Why it could not be evaluated."""

    duration_ms: int = 0

    kind: FailureKind | None = None
    """Of the error."""


def plain(value: Any) -> Any:
    """The value as JSON can hold it."""
    if hasattr(value, "asDict"):
        value = value.asDict(recursive=True)
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, bytes | bytearray):
        return bytes(value).hex()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


REDACTED = "***"

_VALUES = re.compile(
    r"'(?:[^'\\]|\\.)*'|(?<=\bThe value )\S.*?(?= of the type )|(?<=\bThe )\S+(?= cannot be represented)", re.DOTALL
)
"""In Spark's messages names stand in backquotes and types in double quotes."""

_PYTHONS = re.compile(r"\b([A-Z]\w*Error: ).+")
"""Python's errors quote values as it likes."""


def redact_row(row: Mapping[str, Any], hidden: Collection[str]) -> dict[str, Any]:
    """A row of plain values, with hidden ones redacted; NULL stays NULL."""
    return {name: REDACTED if value is not None and name.lower() in hidden else value for name, value in row.items()}


def is_about_hidden(columns: str, hidden: Collection[str]) -> bool:
    """Whether a failure of a contract's row, about the named columns, may quote a hidden one's value: one about a whole
    row may. `hidden`: in lower case."""
    named = columns.lower()
    return bool(hidden) and (not named or bool({named, *(part.strip() for part in named.split(","))} & set(hidden)))


def redact_message(message: str) -> str:
    """A message of Spark's without the values that it quotes."""
    return _PYTHONS.sub(rf"\1{REDACTED}", _VALUES.sub(REDACTED, message))
