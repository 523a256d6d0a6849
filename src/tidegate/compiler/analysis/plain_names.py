"""Names outside backticks: Spark's are of letters a to z, digits and `_`; the parser takes whatever is no space."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from sqlglot.tokens import Token, TokenType

from tidegate.compiler.analysis.unsupported import Unsupported
from tidegate.names import quote

__all__ = ["misread_sign", "wrong_plain_names"]

_QUOTES = frozenset("“”„‟«»‘’‚‛")
_DASHES = frozenset("‐‑‒–—―−")


def wrong_plain_names(tokens: Sequence[Token]) -> Iterator[Unsupported]:
    for token in _not_ascii(tokens):
        message = f"'{token.text}' has letters or signs that Spark reads only in backticks"
        yield Unsupported(message, f"write it in backticks: {quote(token.text)}", token.start)


def misread_sign(tokens: Sequence[Token]) -> Unsupported | None:
    """The first sign of a text processor that the parser takes for part of a name."""
    for token in _not_ascii(tokens):
        for place, character in enumerate(token.text, token.start):
            shown = f"{character} (U+{ord(character):04X})"
            if character in _QUOTES:
                hint = "write ' around a text, and ` around a name"
                return Unsupported(f"{shown} is no quotation mark of SQL", hint, place)
            if character in _DASHES:
                return Unsupported(f"{shown} is no sign of SQL", "write - for a minus", place)
            if unicodedata.category(character) == "Cf":
                return Unsupported(f"U+{ord(character):04X}, an invisible character, is no SQL", "remove it", place)
    return None


def _not_ascii(tokens: Sequence[Token]) -> Iterator[Token]:
    return (token for token in tokens if token.token_type is TokenType.VAR and not token.text.isascii())
