"""How a text is read as a value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["TextReading"]


@dataclass(frozen=True, slots=True)
class TextReading:
    """SQL of what Spark makes of a text, which for some types is too much: Spark takes `2024` for a date.

    That is told best where the value has a name, in a projection of its own: it is then computed once.
    """

    cast: str
    is_right: Callable[[str], str] | None = None
    """The condition that the cast value, which is not NULL and is called so, is what the text says. None: it always
    is."""

    @property
    def value(self) -> str:
        """NULL where the text is no such value."""
        return self.cast if self.is_right is None else f"CASE WHEN {self.is_right(self.cast)} THEN {self.cast} END"
