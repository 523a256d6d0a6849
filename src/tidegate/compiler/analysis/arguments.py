"""How many arguments a call is written with, and whether the function takes so many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlglot.tokens import Token

from tidegate.compiler.analysis.functions import FUNCTIONS
from tidegate.compiler.analysis.words import WrittenCall, written_calls

__all__ = ["WrongCall", "wrong_calls", "wrong_count"]

_SYNTAX: dict[str, tuple[str, Any]] = {
    "if": ("3 arguments", lambda count: count == 3),
    "map": ("pairs of a key and a value", lambda count: count % 2 == 0),
    "named_struct": ("pairs of a name and a value", lambda count: count % 2 == 0),
}
"""Functions that are syntax to the parser."""

_WITH_UNIT = frozenset({"date_add", "date_diff", "dateadd", "datediff", "timestampadd", "timestampdiff"})
"""Functions that may be given a unit before their arguments."""


class WrongCall(NamedTuple):
    message: str
    offset: int


def wrong_calls(tokens: Sequence[Token]) -> Iterator[WrongCall]:
    """In the order of the text, going by the words alone."""
    for call in sorted(written_calls(tokens).values(), key=lambda call: call.start):
        message = wrong_count(call) if call.certain else None
        if message is not None:
            yield WrongCall(message, call.start)


def wrong_count(call: WrittenCall) -> str | None:
    """What is wrong with the number of arguments of a function of Spark's; None where nothing is, or it is not one."""
    name, count = call.name.lower(), call.arguments
    if name in _SYNTAX:
        wanted, fits = _SYNTAX[name]
        return None if fits(count) else f"{name} takes {wanted}, not {count}"
    function = FUNCTIONS.get(name)
    if function is None or function.takes_count(count) or (count == 3 and name in _WITH_UNIT):
        return None
    return f"{name} takes {function.wanted}, not {count}"
