"""Whether a query gives the same rows whenever its inputs are the same."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.tokens import TokenType

from tidegate.compiler.functions import DETERMINISTIC, NEVER_THE_SAME, TIME_WORDS
from tidegate.compiler.queries import Query

__all__ = ["is_deterministic"]

_MOVING_LITERALS = {"now", "today", "tomorrow", "yesterday"}


def is_deterministic(query: Query) -> bool:
    """False also where it cannot be known: functions that are not Spark's own."""
    return not (_calls_changing_function(query) or _calls_unknown_function(query) or _picks_any_rows(query))


def _calls_changing_function(query: Query) -> bool:
    kinds = [token.token_type for token in query.tokens] + [None, None]
    for i, token in enumerate(query.tokens):
        if token.token_type in (TokenType.STRING, TokenType.IDENTIFIER) or (i and kinds[i - 1] is TokenType.DOT):
            continue
        word = token.text.lower()
        called = kinds[i + 1] is TokenType.L_PAREN
        if word in TIME_WORDS or (called and word in NEVER_THE_SAME):
            return True
        if word == "unix_timestamp" and called and kinds[i + 2] is TokenType.R_PAREN:
            return True
    # DATE 'today' is read when the query runs.
    literals = (cast.this for cast in query.tree.find_all(exp.Cast, exp.TryCast))
    return any(isinstance(x, exp.Literal) and x.this.strip().lower() in _MOVING_LITERALS for x in literals)


def _calls_unknown_function(query: Query) -> bool:
    if any(True for _ in query.tree.find_all(exp.QueryTransform)):
        return True
    return any(call.name.lower() not in DETERMINISTIC for call in query.tree.find_all(exp.Anonymous))


def _picks_any_rows(query: Query) -> bool:
    """LIMIT or OFFSET without ORDER BY, TABLESAMPLE."""
    if any(True for _ in query.tree.find_all(exp.TableSample)):
        return True
    cuts = query.tree.find_all(exp.Limit, exp.Offset)
    return any(not cut.parent.args.get("order") for cut in cuts if cut.parent is not None)
