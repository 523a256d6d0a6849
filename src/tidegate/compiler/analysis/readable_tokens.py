"""The tokens of a query, rewritten so that the parser can read all that Spark reads."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.tokens import Token, TokenType

__all__ = ["WORDS", "readable"]

WORDS = "words"
"""The key of a tree's meta under which its tokens are kept."""

_WITHOUT_PARENTHESES = frozenset(
    {TokenType.CURRENT_DATE, TokenType.CURRENT_TIMESTAMP, TokenType.CURRENT_USER, TokenType.SESSION_USER}
)
_MENDED = _WITHOUT_PARENTHESES | {
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


def readable(tokens: Sequence[Token]) -> list[Token]:
    """What Spark reads and the parser does not, in other words; the places in the text stay the same."""
    result: list[Token] = []
    skipped = -1
    types = 0
    for place, token in enumerate(tokens):
        if place <= skipped:
            continue
        if token.token_type not in _MENDED:
            result.append(token)
            continue
        following = tokens[place + 1] if place + 1 < len(tokens) else None
        kind = following.token_type if following is not None else None
        match token.token_type:
            case TokenType.WINDOW if kind is TokenType.L_PAREN:
                # The function, of which the parser knows nothing after GROUP BY; the clause has a name here.
                result.append(_like(token, TokenType.VAR))
            case TokenType.ANY if kind is TokenType.L_PAREN and _is(tokens, place + 2, TokenType.DISTINCT):
                result.append(_like(token, TokenType.VAR, "bool_or"))
            case TokenType.LT:
                types += place > 0 and tokens[place - 1].token_type in _NESTED_TYPES
                result.append(token)
            case TokenType.GT if types:
                # The end of array<…>, of which there may be three as well.
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
                # A column of that name goes before the function.
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
    """Where a step of a pipe ends that is nothing but names."""
    while place < len(tokens) and tokens[place].token_type not in (TokenType.PIPE_GT, TokenType.R_PAREN):
        place += 1
    return place
