"""A second lexer that splits text as Spark does: where it and the parser differ, a query is refused.

The parser reads many dialects, and Spark gets the text, not the parser's tree. What one takes for a comment or for the
inside of a string and the other does not would be a way past every check of the tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import NamedTuple

from sqlglot.tokens import Token, TokenType

__all__ = ["Lexeme", "LexemeKind", "difference", "lexemes"]


class LexemeKind(Enum):
    WORD = "word"
    NAME = "name"
    STRING = "string"
    HINT = "hint"
    SIGN = "sign"


class Lexeme(NamedTuple):
    """`text[start:end]` of the query. NAME: an identifier in backquotes."""

    kind: LexemeKind
    text: str
    start: int
    end: int

    @property
    def name(self) -> str:
        """The name in lower case; empty where it cannot be one."""
        if self.kind is LexemeKind.WORD:
            return self.text.lower()
        return self.text[1:-1].replace("``", "`").lower() if self.kind is LexemeKind.NAME else ""


_PIECE = re.compile(
    r"""
    (?P<space>[ \t\n\f\r\x0b\xa0\u1680\u2000-\u200a\u2028\u202f\u205f\u3000]+)
    | (?P<line>--(?:\\\n|[^\r\n])*)
    | (?P<hint>/\*\+[\w\s,().]*\*/)
    | (?P<block>/\*(?!\+))
    | (?P<string>[rR]'[^']*' | [rR]"[^"]*" | '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*")
    | (?P<name>`(?:[^`]|``)*`)
    | (?P<word>\w+)
    | (?P<sign>[()\[\]{},.;:=<>!+\-*/%&|^~@?])
    """,
    re.VERBOSE | re.DOTALL,
)
_INSIDE_BLOCK = re.compile(r"/\*(?!\+)|\*/")
_QUOTED = frozenset({TokenType.STRING, TokenType.RAW_STRING, TokenType.HEX_STRING, TokenType.NATIONAL_STRING})

Span = tuple[int, int]


def lexemes(text: str) -> list[Lexeme] | int:
    """The lexemes without spaces and comments; or the position of the first text that cannot be split for certain."""
    result: list[Lexeme] = []
    at = 0
    while at < len(text):
        piece = _PIECE.match(text, at)
        if piece is None:
            return at
        kind, end = piece.lastgroup, piece.end()
        if kind == "block":
            closed = _end_of_block(text, end)
            if closed is None:
                return at
            end = closed
        elif kind == "word" and text.startswith("://", end):
            return at
        elif kind not in ("space", "line"):
            result.append(Lexeme(LexemeKind(kind), piece[0], at, end))
        at = end
    return result


def _end_of_block(text: str, at: int) -> int | None:
    """Comments are nested; a hint inside is none."""
    depth = 1
    for mark in _INSIDE_BLOCK.finditer(text, at):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    return None


def difference(pieces: Sequence[Lexeme], tokens: Sequence[Token], text: str) -> int | None:
    """The first position at which the parser's tokens and Spark's differ in extent or quotes; None: nowhere."""
    by_spark, by_parser = bytearray(len(text) + 1), bytearray(len(text) + 1)
    for piece in pieces:
        by_spark[piece.start : piece.end] = b"\1" * (piece.end - piece.start)
    for token in tokens:
        by_parser[token.start : token.end + 1] = b"\1" * (token.end + 1 - token.start)
    for piece in pieces:
        if piece.text != ";" and 0 in by_parser[piece.start : piece.end]:
            return piece.start
    for token in tokens:
        if 0 in by_spark[token.start : token.end + 1] and not _has_only_gaps_of_space(by_spark, token, text):
            return int(token.start)
    own = _merged((piece.start, piece.end) for piece in pieces if piece.kind in (LexemeKind.STRING, LexemeKind.NAME))
    other = _merged((token.start, token.end + 1) for token in tokens if _is_quoted(token, text))
    # A prefix such as r before the quote is part of the string for one lexer only.
    if [(_opening(text, a), b) for a, b in own] == [(_opening(text, a), b) for a, b in other]:
        return None
    return min((span[0] for span in {*own} ^ {*other}), default=0)


def _has_only_gaps_of_space(by_spark: bytearray, token: Token, text: str) -> bool:
    """`GROUP  BY` is one word to the parser."""
    inside = range(token.start, token.end + 1)
    return token.token_type not in _QUOTED and all(by_spark[at] or text[at].isspace() for at in inside)


def _is_quoted(token: Token, text: str) -> bool:
    return token.token_type in _QUOTED or text[token.start] == "`"


def _opening(text: str, at: int) -> int:
    while text[at] not in "'\"`":
        at += 1
    return at


def _merged(spans: Iterable[Span]) -> list[Span]:
    """`'a''b'` is one string or two."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and merged[-1][1] == start:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return merged
