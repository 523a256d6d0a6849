"""The tokens of a query: rewritten so that the parser reads all that Spark reads, and the calls among them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from sqlglot.tokens import Token, TokenType

from tidegate.compiler.analysis.functions.lookup import FUNCTIONS
from tidegate.problems import did_you_mean

__all__ = [
    "TOKENS_KEY",
    "WrittenCall",
    "WrongCall",
    "misread_calls",
    "rewrite_tokens",
    "written_calls",
    "wrong_calls",
    "wrong_count",
]


TOKENS_KEY = "words"
"""The key of a tree's meta that holds its tokens."""

_WITHOUT_PARENTHESES = frozenset(
    {TokenType.CURRENT_DATE, TokenType.CURRENT_TIMESTAMP, TokenType.CURRENT_USER, TokenType.SESSION_USER}
)
_REWRITTEN = _WITHOUT_PARENTHESES | {
    TokenType.ANY,
    TokenType.GT,
    TokenType.LT,
    TokenType.PIPE_GT,
    TokenType.TABLE,
    TokenType.VAR,
    TokenType.WINDOW,
}
_BEFORE_A_QUERY = frozenset(
    {TokenType.UNION, TokenType.ALL, TokenType.DISTINCT, TokenType.EXCEPT, TokenType.INTERSECT, TokenType.R_PAREN}
)
_NESTED_TYPES = frozenset({TokenType.ARRAY, TokenType.MAP, TokenType.STRUCT})
_NAMES = frozenset({TokenType.VAR, TokenType.IDENTIFIER})


def rewrite_tokens(tokens: Sequence[Token]) -> list[Token]:
    """Replace syntax that only Spark reads by an equivalent that the parser reads; positions stay the same."""
    result: list[Token] = []
    skipped = -1
    types = 0
    for place, token in enumerate(tokens):
        if place <= skipped:
            continue
        if token.token_type not in _REWRITTEN:
            result.append(token)
            continue
        following = tokens[place + 1] if place + 1 < len(tokens) else None
        kind = following.token_type if following is not None else None
        match token.token_type:
            case TokenType.WINDOW if kind is TokenType.L_PAREN:
                # The function window(…), which the parser does not expect after GROUP BY; the clause has a name here.
                result.append(_like(token, TokenType.VAR))
            case TokenType.ANY if kind is TokenType.L_PAREN and _is(tokens, place + 2, TokenType.DISTINCT):
                result.append(_like(token, TokenType.VAR, "bool_or"))
            case TokenType.LT:
                types += place > 0 and tokens[place - 1].token_type in _NESTED_TYPES
                result.append(token)
            case TokenType.GT if types:
                # The end of a nested type such as array<array<array<int>>>.
                types -= 1
                result.append(token)
            case TokenType.GT if _is_unsigned_shift(tokens, place):
                result += [token, tokens[place + 1]]
                skipped = place + 2
            case TokenType.TABLE if kind in _NAMES and _begins_query(tokens, place):
                words = ((TokenType.SELECT, "SELECT"), (TokenType.STAR, "*"), (TokenType.FROM, "FROM"))
                result += [_like(token, word, text) for word, text in words]
            case TokenType.PIPE_GT if kind is TokenType.DROP and following is not None:
                end = _end_of_names(tokens, place + 2)
                words = ((TokenType.SELECT, "SELECT"), (TokenType.STAR, "*"), (TokenType.EXCEPT, "EXCEPT"))
                result += [token, *(_like(following, word, text) for word, text in words)]
                result.append(_like(following, TokenType.L_PAREN, "("))
                result += [*tokens[place + 2 : end], _like(tokens[end - 1], TokenType.R_PAREN, ")")]
                skipped = end - 1
            case TokenType.VAR if kind is TokenType.STRING and token.text in ("x", "X") and following is not None:
                result.append(_like(token, TokenType.HEX_STRING, following.text, following.end))
                skipped = place + 1
            case what if what in _WITHOUT_PARENTHESES and kind is not TokenType.L_PAREN:
                # A column of that name takes precedence over the function.
                result.append(_like(token, TokenType.VAR))
            case _:
                result.append(token)
    return result


def _like(token: Token, kind: TokenType, text: str | None = None, end: int | None = None) -> Token:
    end = token.end if end is None else end
    return Token(kind, token.text if text is None else text, token.line, token.col, token.start, end, token.comments)


def _is(tokens: Sequence[Token], place: int, kind: TokenType) -> bool:
    return place < len(tokens) and tokens[place].token_type is kind


def _is_unsigned_shift(tokens: Sequence[Token], place: int) -> bool:
    three = tokens[place : place + 3]
    start = tokens[place].start
    return len(three) == 3 and all(t.token_type is TokenType.GT and t.start == start + i for i, t in enumerate(three))


def _begins_query(tokens: Sequence[Token], place: int) -> bool:
    """`TABLE t` for `SELECT * FROM t`; after a function's name it is an argument."""
    if place == 0 or tokens[place - 1].token_type in _BEFORE_A_QUERY:
        return True
    opened = tokens[place - 1].token_type is TokenType.L_PAREN
    return opened and (place == 1 or tokens[place - 2].token_type not in _NAMES)


def _end_of_names(tokens: Sequence[Token], place: int) -> int:
    """Where a pipe step that is only a list of names ends."""
    while place < len(tokens) and tokens[place].token_type not in (TokenType.PIPE_GT, TokenType.R_PAREN):
        place += 1
    return place


_SIGNS = frozenset({TokenType.COMMA, TokenType.L_PAREN, TokenType.R_PAREN})
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
"""Functions of other systems → the equivalent of Spark."""

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
"""Functions of Spark whose arguments are separated by commas alone."""


class WrittenCall(NamedTuple):
    """`name(…)` in the text. `certain`: it is not a list of columns, as in `WITH name (a, b) AS (…)`."""

    name: str
    arguments: int
    start: int
    certain: bool


def written_calls(tokens: Sequence[Token]) -> dict[int, WrittenCall]:
    """Everything that looks like a call, by the position of its name; also a table with a list of columns."""
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
    """Calls with a wrong number of arguments, in the order of the text; the tree is not needed."""
    for call in sorted(written_calls(tokens).values(), key=lambda call: call.start):
        message = wrong_count(call) if call.certain else None
        if message is not None:
            yield WrongCall(message, call.start)


def wrong_count(call: WrittenCall) -> str | None:
    """A message where a function of Spark has a wrong number of arguments."""
    name, count = call.name.lower(), call.arguments
    if name in _SYNTAX:
        wanted, fits = _SYNTAX[name]
        return None if fits(count) else f"{name} takes {wanted}, not {count}"
    function = FUNCTIONS.get(name)
    if function is None or function.accepts_count(count) or (count == 3 and name in _WITH_UNIT):
        return None
    return f"{name} takes {function.arity_text}, not {count}"


def misread_calls(calls: Iterable[WrittenCall], own_functions: frozenset[str]) -> Iterator[WrongCall]:
    """Wrong calls that the tree does not show, because the parser has a syntax of its own for the function."""
    for call in calls:
        name = call.name.lower()
        if not call.certain or not {call.name, name}.isdisjoint(own_functions):
            continue
        if name in _FOREIGN:
            hint = did_you_mean((_FOREIGN[name],))
            yield WrongCall(f"unknown function '{call.name}'", call.start, "UnknownFunction", hint)
        # A single argument may be a star, which stands for any number of arguments.
        elif name in _COUNTED and call.arguments != 1 and (message := wrong_count(call)) is not None:
            yield WrongCall(message, call.start)
