"""`name(argument, 'quoted, argument', >, 24h) warn` → a CheckCall, with where each argument begins."""

from __future__ import annotations

import re

from tidegate.checks.check_values import CheckCall
from tidegate.problems import Severity
from tidegate.sql_literals import is_number

__all__ = ["MalformedCall", "argument_text", "call_text", "parse_call"]

_NAME = re.compile(r"\s*([^\W\d]\w*)\s*")
_QUOTES = "'\"`"
_TEXT_QUOTES = "'\""


class MalformedCall(ValueError):
    """`offset` is where in the text."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


def parse_call(text: str, column: int = 1) -> tuple[CheckCall, Severity | None]:
    """`column`: where the text begins in its line. A severity may follow the call. Raises MalformedCall."""
    name = _NAME.match(text)
    if name is None:
        raise MalformedCall(f"'{text}' is not a check: write name(arguments), such as not_null(order_id)", 0)
    at = name.end()
    arguments: tuple[str, ...] = ()
    columns: tuple[int, ...] = ()
    texts: tuple[int, ...] = ()
    if text[at : at + 1] == "(":
        pieces, at = _pieces(text, at)
        items = [_argument(text, start, end) for start, end in pieces]
        if len(items) > 1 and any(value is None for value, _ in items):
            offset = next(offset for value, offset in items if value is None)
            raise MalformedCall("there is nothing between two commas; separate arguments by single commas", offset)
        nonempty = [(value, offset) for value, offset in items if value is not None]
        arguments = tuple(value for value, _ in nonempty)
        columns = tuple(offset + column for _, offset in nonempty)
        texts = tuple(
            number for number, (value, at) in enumerate(nonempty) if text[at - 1] in _TEXT_QUOTES and is_number(value)
        )
    return CheckCall(name[1], arguments, columns, texts=texts), _severity(text, at)


def call_text(call: CheckCall) -> str:
    """The call as a person would write it, quoted only where that is needed."""
    arguments = call.arguments
    while call.keyed and arguments and not arguments[-1]:
        arguments = arguments[:-1]
    texts = [argument_text(argument, quoted=at in call.texts) for at, argument in enumerate(arguments)]
    return f"{call.name}({', '.join(texts)})" if arguments else call.name


def argument_text(argument: str, *, quoted: bool = False) -> str:
    """In quotes where it would not be read as one argument without them, or as a number that is text."""
    if argument and argument == argument.strip() and not quoted:
        try:
            pieces, end = _pieces(f"({argument})", 0)
        except MalformedCall:
            pieces, end = [], 0
        if len(pieces) == 1 and end == len(argument) + 2 and _argument(argument, 0, len(argument))[0] == argument:
            return argument
    return "'" + argument.replace("'", "''") + "'"


def _severity(text: str, at: int) -> Severity | None:
    word = text[at:].strip()
    if not word:
        return None
    if word in tuple(Severity):
        return Severity(word)
    offset = at + len(text[at:]) - len(text[at:].lstrip())
    if word.startswith(","):
        raise MalformedCall("a second check follows; write each on a line of its own", offset)
    raise MalformedCall(f"'{word}' after the check is not understood; only warn or error may stand there", offset)


def _pieces(text: str, opening: int) -> tuple[list[tuple[int, int]], int]:
    """Where each argument begins and ends, and where the text goes on after the closing parenthesis."""
    pieces: list[tuple[int, int]] = []
    start, depth, quote, quoted_at = opening + 1, 0, "", 0
    for at in range(opening, len(text)):
        char = text[at]
        if quote:
            quote = "" if char == quote else quote
        elif char in _QUOTES:
            quote, quoted_at = char, at
        elif char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
            if depth == 0:
                return [*pieces, (start, at)], at + 1
        elif char == "," and depth == 1:
            pieces.append((start, at))
            start = at + 1
    if quote:
        raise MalformedCall(f"the quote {quote} is not closed", quoted_at)
    raise MalformedCall("the parenthesis is not closed", opening)


def _argument(text: str, start: int, end: int) -> tuple[str | None, int]:
    """The argument without quotes around it and where it begins; None where there is nothing."""
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    piece = piece.strip()
    if not piece:
        return None, start
    quote = piece[0]
    if quote in _QUOTES and len(piece) > 1 and piece[-1] == quote:
        inner = piece[1:-1]
        if quote not in inner.replace(quote * 2, ""):
            return inner.replace(quote * 2, quote), start + 1
    return piece, start
