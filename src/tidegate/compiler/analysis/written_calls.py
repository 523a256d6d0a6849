"""Calls of functions as the text has them: their number of arguments, and what the parser's tree forgets of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from sqlglot.tokens import Token, TokenType

from tidegate.compiler.analysis.functions.lookup import FUNCTIONS
from tidegate.problems import did_you_mean

__all__ = ["WrittenCall", "WrongCall", "misread_calls", "written_calls", "wrong_calls", "wrong_count"]

_SIGNS = frozenset({TokenType.COMMA, TokenType.L_PAREN, TokenType.R_PAREN})
_NAMES = frozenset({TokenType.VAR, TokenType.IDENTIFIER})
_NOT_BEFORE_A_CALL = _NAMES | {TokenType.ALIAS, TokenType.DOT, TokenType.R_PAREN, TokenType.WITH}

_SYNTAX: dict[str, tuple[str, Any]] = {
    "if": ("3 arguments", lambda count: count == 3),
    "map": ("pairs of a key and a value", lambda count: count % 2 == 0),
    "named_struct": ("pairs of a name and a value", lambda count: count % 2 == 0),
}
"""Functions that are syntax to the parser."""

_WITH_UNIT = frozenset({"date_add", "date_diff", "dateadd", "datediff", "timestampadd", "timestampdiff"})
"""Functions that may be given a unit before their arguments."""

_FOREIGN = {
    "arg_max": "max_by",
    "arg_min": "min_by",
    "argmax": "max_by",
    "argmin": "min_by",
    "convert": "cast",
    "json_object": "to_json",
    "json_objectagg": "map_from_entries",
    "json_table": "from_json",
    "openjson": "from_json",
    "safe_cast": "try_cast",
    "try_convert": "try_cast",
    "unnest": "explode",
}
"""Functions of other systems, and which of Spark's is meant."""

_COUNTED = frozenset(
    {
        "approx_percentile",
        "ceil",
        "char",
        "chr",
        "current_date",
        "current_timestamp",
        "floor",
        "initcap",
        "max_by",
        "min_by",
        "percentile",
        "percentile_approx",
    }
)
"""Functions of Spark whose arguments are written with nothing but commas between them."""


class WrittenCall(NamedTuple):
    """`name(…)` in the text. `certain`: it is no name with a list of columns, as in `WITH name (a, b) AS (…)`."""

    name: str
    arguments: int
    start: int
    certain: bool


def written_calls(tokens: Sequence[Token]) -> dict[int, WrittenCall]:
    """Whatever is written like a call, by where its name begins: also names of columns behind a table's."""
    calls: dict[int, WrittenCall] = {}
    open_ones: list[tuple[int, int]] = []
    commas = 0
    for place, token in enumerate(tokens):
        kind = token.token_type
        if kind not in _SIGNS:
            continue
        if kind is TokenType.L_PAREN:
            open_ones.append((place, commas))
            commas = 0
        elif kind is TokenType.COMMA:
            commas += 1
        elif kind is TokenType.R_PAREN and open_ones:
            opened, around = open_ones.pop()
            if opened:
                name = tokens[opened - 1]
                count = 0 if place == opened + 1 else commas + 1
                certain = opened < 2 or tokens[opened - 2].token_type not in _NOT_BEFORE_A_CALL
                following = [token.token_type for token in tokens[place + 1 : place + 3]]
                if certain and following == [TokenType.ALIAS, TokenType.L_PAREN]:
                    certain = False
                calls[name.start] = WrittenCall(name.text, count, name.start, certain)
            commas = around
    return calls


class WrongCall(NamedTuple):
    message: str
    offset: int
    code: str = "WrongArguments"
    suggestion: str | None = None


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


def misread_calls(calls: Iterable[WrittenCall], own_functions: frozenset[str]) -> Iterator[WrongCall]:
    """Wrong calls of functions that the parser reads in a way of its own, so that its tree does not show them."""
    for call in calls:
        name = call.name.lower()
        if not call.certain or not {call.name, name}.isdisjoint(own_functions):
            continue
        if name in _FOREIGN:
            hint = did_you_mean((_FOREIGN[name],))
            yield WrongCall(f"unknown function '{call.name}'", call.start, "UnknownFunction", hint)
        # A single argument may be a star, which stands for any number.
        elif name in _COUNTED and call.arguments != 1 and (message := wrong_count(call)) is not None:
            yield WrongCall(message, call.start)
