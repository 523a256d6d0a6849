"""How a text is read as a value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["TextReading"]


@dataclass(frozen=True, slots=True)
class TextReading:
    """SQL of what Spark casts a text to, which for some types is too much: Spark takes `2024` for a date.

    Check `is_right` over the cast value as a column of an earlier projection: the cast is then computed once.
    """

    cast: str
    is_right: Callable[[str], str] | None = None
    """Takes SQL of the cast value; gives the condition that this value, if it is not NULL, is what the text says. It is
    never NULL itself. None: the value always is."""

    @property
    def value(self) -> str:
        """NULL where the text is no such value."""
        return self.cast if self.is_right is None else f"CASE WHEN {self.is_right(self.cast)} THEN {self.cast} END"
