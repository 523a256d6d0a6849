"""Syntax of other systems that the parser reads and Spark refuses, found in the tokens of a query."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from tidegate.names import quote

__all__ = ["MARKER_NODES", "Unsupported", "misread_character", "unquoted_names", "unsupported_syntax"]


_WITH_WORDS = (exp.AtTimeZone, exp.IgnoreNulls, exp.RespectNulls)
MARKER_NODES = (exp.Qualify, exp.Fetch, exp.Lock, *_WITH_WORDS)
"""Nodes of the tree without which some words are only names."""

Nodes = Mapping[type, list[Any]]


class Unsupported(NamedTuple):
    message: str
    hint: str
    offset: int


class _TokenWindow:
    """The tokens of a query; places outside them are empty."""

    __slots__ = ("nodes", "tokens")

    def __init__(self, tokens: Sequence[Token], nodes: Nodes) -> None:
        self.tokens = tokens
        self.nodes = nodes

    def kind(self, place: int) -> TokenType | None:
        return self.tokens[place].token_type if 0 <= place < len(self.tokens) else None

    def text(self, place: int) -> str:
        return str(self.tokens[place].text).upper() if 0 <= place < len(self.tokens) else ""

    def opening(self, place: int) -> int:
        """Where the parentheses around a place open; -1 where there are none."""
        depth = 0
        for at in range(place - 1, -1, -1):
            kind = self.tokens[at].token_type
            if kind is TokenType.R_PAREN:
                depth += 1
            elif kind is TokenType.L_PAREN:
                if depth == 0:
                    return at
                depth -= 1
        return -1


_WITH_UNIT = frozenset({"DATEADD", "DATEDIFF", "DATE_ADD", "DATE_DIFF", "TIMESTAMPADD", "TIMESTAMPDIFF"})
_UNITS = frozenset({"YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"})
_NULLS_BEHIND = frozenset({"first_value", "lag", "last_value", "lead", "nth_value"})

Rule = Callable[[_TokenWindow, int], tuple[str, str] | None]

_ITEM_BEGINS = frozenset({TokenType.SELECT, TokenType.DISTINCT, TokenType.COMMA, TokenType.DOT, TokenType.L_PAREN})
_VALUE_BEGINS = frozenset({TokenType.SELECT, TokenType.COMMA, TokenType.L_PAREN, TokenType.EQ})
_COMPARISONS = frozenset({TokenType.EQ, TokenType.NEQ, TokenType.GT, TokenType.GTE, TokenType.LT, TokenType.LTE})
_QUERY_BEGINS = frozenset({TokenType.SELECT, TokenType.WITH, TokenType.FROM, TokenType.VALUES, TokenType.TABLE})
_FRAME_BEGINS = frozenset({TokenType.ROWS, TokenType.RANGE, TokenType.ORDER_BY, TokenType.PARTITION_BY})


def _qualify(words: _TokenWindow, place: int) -> tuple[str, str] | None:
    if not words.nodes[exp.Qualify]:
        return None
    return "Spark has no QUALIFY", "put the window function into a subquery, and filter with WHERE around it"


def _fetch(words: _TokenWindow, place: int) -> tuple[str, str] | None:
    if not words.nodes[exp.Fetch] or words.text(place + 1) not in ("FIRST", "NEXT"):
        return None
    return "Spark has no FETCH", "write LIMIT and a number"


def _lock(words: _TokenWindow, place: int) -> tuple[str, str] | None:
    if not words.nodes[exp.Lock] or words.text(place + 1) not in ("UPDATE", "SHARE"):
        return None
    return f"Spark has no FOR {words.text(place + 1)}", "remove it: a query locks nothing"


def _comma(words: _TokenWindow, place: int) -> tuple[str, str] | None:
    if words.kind(place + 1) in (TokenType.FROM, TokenType.R_PAREN, None):
        return "there is nothing after this comma", "remove the comma"
    return None


def _star(words: _TokenWindow, place: int) -> tuple[str, str] | None:
    word = words.text(place + 1)
    if words.kind(place - 1) not in _ITEM_BEGINS or words.kind(place + 2) is not TokenType.L_PAREN:
        return None
    if word == "EXCLUDE":
        return "Spark has no * EXCLUDE (…)", "write * EXCEPT (…)"
    if word in ("REPLACE", "RENAME"):
        return f"Spark has no * {word} (…)", "write * EXCEPT (…), and the other columns after it"
    return None


def _limit(words: _TokenWindow, place: int) -> tuple[str, str] | None:
    if words.kind(place + 1) is not TokenType.NUMBER:
        return None
    if words.kind(place + 2) is TokenType.COMMA and words.kind(place + 3) is TokenType.NUMBER:
        offset, limit = words.text(place + 1), words.text(place + 3)
        return f"Spark has no LIMIT {offset}, {limit}", f"write LIMIT {limit} OFFSET {offset}"
    if words.text(place + 2) == "BY":
        return (
            "Spark has no LIMIT … BY",
            "number the rows with row_number() in a subquery, and filter with WHERE around it",
        )
    return None


def _distinct(words: _TokenWindow, place: int) -> tuple[str, str] | None:
    if words.kind(place + 1) is not TokenType.ON or words.kind(place + 2) is not TokenType.L_PAREN:
        return None
    return (
        "Spark has no DISTINCT ON",
        "number the rows with row_number() in a subquery, and filter with WHERE around it",
    )


def _bracket(words: _TokenWindow, place: int) -> tuple[str, str] | None:
    return ("Spark has no […] for an array", "write array(…)") if words.kind(place - 1) in _VALUE_BEGINS else None


def _order(words: _TokenWindow, place: int) -> tuple[str, str] | None:
    opening = words.opening(place)
    if opening < 1 or words.kind(opening - 1) is not TokenType.VAR or words.kind(opening + 1) in _QUERY_BEGINS:
        return None
    name = words.text(opening - 1).lower()
    if name == "group":
        return None
    if name in ("listagg", "string_agg"):
        return f"Spark has no ORDER BY inside {name}(…)", f"write {name}(…) WITHIN GROUP (ORDER BY …)"
    return (
        f"Spark has no ORDER BY inside {name}(…)",
        "sort the array: array_sort(…), or sort_array(…, false) for the largest first",
    )


def _over(words: _TokenWindow, place: int) -> tuple[str, str] | None:
    if words.kind(place + 1) is not TokenType.L_PAREN or words.kind(place + 2) is not TokenType.VAR:
        return None
    if words.kind(place + 3) not in _FRAME_BEGINS:
        return None
    return "Spark has no window made from another one", "write the whole window, or OVER and its name alone"


def _all(words: _TokenWindow, place: int) -> tuple[str, str] | None:
    before, inside = words.kind(place - 1), words.kind(place + 2)
    if before not in _COMPARISONS or words.kind(place + 1) is not TokenType.L_PAREN or inside not in _QUERY_BEGINS:
        return None
    return (
        f"Spark has no comparison with {words.text(place)} (…)",
        "compare with a subquery of max() or min(), or use IN or EXISTS",
    )


def _union(words: _TokenWindow, place: int) -> tuple[str, str] | None:
    at = place + 2 if words.kind(place + 1) in (TokenType.ALL, TokenType.DISTINCT) else place + 1
    if words.text(at) != "BY" or words.text(at + 1) != "NAME":
        return None
    return "Spark has no BY NAME", "name the columns in the same order on both sides"


def _asof(words: _TokenWindow, place: int) -> tuple[str, str] | None:
    if words.kind(place + 1) is not TokenType.JOIN:
        return None
    return "Spark has no ASOF JOIN", "join ON a range, and keep the latest row with row_number() in a subquery"


def _string(words: _TokenWindow, place: int) -> tuple[str, str] | None:
    name, unit = words.text(place - 2), words.text(place)
    if name not in _WITH_UNIT or unit not in _UNITS or words.kind(place - 1) is not TokenType.L_PAREN:
        return None
    return f"the unit of {name.lower()} takes no quotes", f"write {name.lower()}({unit}, …)"


def _nulls(words: _TokenWindow, place: int) -> tuple[str, str] | None:
    """IGNORE NULLS: some functions have it inside their parentheses, others only after them."""
    if words.text(place - 1) not in ("IGNORE", "RESPECT") or words.kind(place + 1) is not TokenType.R_PAREN:
        return None
    name = words.text(words.opening(place) - 1).lower()
    if name not in _NULLS_BEHIND:
        return None
    rule = f"{words.text(place - 1)} NULLS"
    return f"Spark has no {rule} inside {name}(…)", f"write {name}(…) {rule}"


def _word(words: _TokenWindow, place: int) -> tuple[str, str] | None:
    if words.text(place) == "NULLS":
        return _nulls(words, place)
    if words.text(place) != "AT" or words.text(place + 1) != "TIME" or words.text(place + 2) != "ZONE":
        return None
    return "Spark has no AT TIME ZONE", "use from_utc_timestamp, to_utc_timestamp or convert_timezone"


_RULES: dict[TokenType, Rule] = {
    TokenType.ALL: _all,
    TokenType.ANY: _all,
    TokenType.ASOF: _asof,
    TokenType.COMMA: _comma,
    TokenType.DISTINCT: _distinct,
    TokenType.FETCH: _fetch,
    TokenType.FOR: _lock,
    TokenType.LIMIT: _limit,
    TokenType.L_BRACKET: _bracket,
    TokenType.ORDER_BY: _order,
    TokenType.OVER: _over,
    TokenType.QUALIFY: _qualify,
    TokenType.SOME: _all,
    TokenType.STAR: _star,
    TokenType.STRING: _string,
    TokenType.UNION: _union,
}


def unsupported_syntax(tokens: Sequence[Token], nodes: Nodes) -> Iterator[Unsupported]:
    """`nodes`: the MARKER_NODES of the tree, by class."""
    words = _TokenWindow(tokens, nodes)
    rules = {**_RULES, TokenType.VAR: _word} if any(nodes[kind] for kind in _WITH_WORDS) else _RULES
    for place, token in enumerate(tokens):
        rule = rules.get(token.token_type)
        refusal = rule(words, place) if rule is not None else None
        if refusal is not None:
            yield Unsupported(*refusal, token.start)


_QUOTES = frozenset("“”„‟«»‘’‚‛")
_DASHES = frozenset("‐‑‒–—―−")


def unquoted_names(tokens: Sequence[Token]) -> Iterator[Unsupported]:
    for token in _not_ascii(tokens):
        message = f"'{token.text}' has letters or signs that Spark reads only in backticks"
        yield Unsupported(message, f"write it in backticks: {quote(token.text)}", token.start)


def misread_character(tokens: Sequence[Token]) -> Unsupported | None:
    """The first typographic quote, dash or invisible character, which the parser takes for part of a name."""
    for token in _not_ascii(tokens):
        for place, character in enumerate(token.text, token.start):
            character_text = f"{character} (U+{ord(character):04X})"
            if character in _QUOTES:
                hint = "write ' around a text, and ` around a name"
                return Unsupported(f"{character_text} is not a quotation mark of SQL", hint, place)
            if character in _DASHES:
                return Unsupported(f"{character_text} is not an operator of SQL", "write - for a minus", place)
            if unicodedata.category(character) == "Cf":
                return Unsupported(
                    f"U+{ord(character):04X}, an invisible character, is not allowed in SQL", "remove it", place
                )
    return None


def _not_ascii(tokens: Sequence[Token]) -> Iterator[Token]:
    return (token for token in tokens if token.token_type is TokenType.VAR and not token.text.isascii())
