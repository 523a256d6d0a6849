"""A password or a key, which shows itself to nobody."""

from __future__ import annotations

__all__ = ["Secret"]


class Secret:
    """Printed, logged or written as JSON it is `***`; only `reveal` gives the text, to whoever must send it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return "***"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)
