"""What is shown in place of values that nobody is to see."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

__all__ = ["HIDDEN", "without_hidden", "without_values"]

HIDDEN = "***"

_VALUES = re.compile(
    r"'(?:[^'\\]|\\.)*'|(?<=\bThe value )\S.*?(?= of the type )|(?<=\bThe )\S+(?= cannot be represented)", re.DOTALL
)
"""In Spark's messages names stand in backquotes and types in double quotes."""

_PYTHONS = re.compile(r"\b([A-Z]\w*Error: ).+")
"""Python's errors quote values as it likes."""


def without_hidden(row: Mapping[str, Any], hidden: Collection[str]) -> dict[str, Any]:
    """A row of plain values. That there is no value may be seen."""
    return {name: HIDDEN if value is not None and name.lower() in hidden else value for name, value in row.items()}


def without_values(message: str) -> str:
    """A message of Spark's without the values that it quotes."""
    return _PYTHONS.sub(rf"\1{HIDDEN}", _VALUES.sub(HIDDEN, message))
