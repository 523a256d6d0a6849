"""What is shown in place of values that nobody is to see."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

__all__ = ["HIDDEN", "without_hidden"]

HIDDEN = "***"


def without_hidden(row: Mapping[str, Any], hidden: Collection[str]) -> dict[str, Any]:
    """A row of plain values. That there is no value may be seen."""
    return {name: HIDDEN if value is not None and name.lower() in hidden else value for name, value in row.items()}
