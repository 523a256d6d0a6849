"""Texts of code that is not trusted, before people read them."""

from __future__ import annotations

__all__ = ["printable"]


def printable(value: object, longest: int = 1_000) -> str:
    """Without what a terminal would obey; empty where it is no text."""
    if not isinstance(value, str):
        return ""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else "?" for letter in value[:longest])
