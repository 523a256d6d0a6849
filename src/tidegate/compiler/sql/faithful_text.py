"""Whether the text that is made of a query's tree says what the query says.

The parser takes some texts for others: `'O''Brien'` for a concatenation, `log10(x)` for `log(10, x)`, a column for the
word that a function expects in its place. A piece of the tree as text then finds other rows than the query does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from sqlglot import Dialect
from sqlglot.errors import SqlglotError
from sqlglot.tokens import TokenType

from tidegate.compiler.analysis.query_tokens import TOKENS_KEY
from tidegate.compiler.sql.queries import ParsedQuery

__all__ = ["difference_in_text"]

_SPARK = Dialect.get_or_raise("spark")

_SAME = {
    "BYTE": "TINYINT",
    "CEILING": "CEIL",
    "CHARACTER_LENGTH": "LENGTH",
    "CHAR_LENGTH": "LENGTH",
    "DEC": "DECIMAL",
    "IFNULL": "COALESCE",
    "INTEGER": "INT",
    "LCASE": "LOWER",
    "LEN": "LENGTH",
    "LONG": "BIGINT",
    "NUMERIC": "DECIMAL",
    "NVL": "COALESCE",
    "POW": "POWER",
    "REAL": "FLOAT",
    "SHORT": "SMALLINT",
    "SUBSTR": "SUBSTRING",
    "UCASE": "UPPER",
}
_SAYS_NOTHING = frozenset(
    {
        *("AND", "AS", "ASC", "BETWEEN", "CAST", "CROSS", "CURRENT", "DATE", "FIRST", "INNER", "JOIN", "LAST", "MOD"),
        *("NULLS", "OUTER", "ROW", "TIMESTAMP"),
    }
)
"""Words that the tree leaves out or fills in without another meaning: `DATE '2024-01-01'` is a cast."""

_SUFFIXES = {"D": "DOUBLE", "F": "FLOAT", "L": "BIGINT", "S": "SMALLINT", "Y": "TINYINT"}
"""Of numbers, which are read and rendered as casts."""

_LITERALS = (TokenType.STRING, TokenType.NUMBER, TokenType.RAW_STRING)


def difference_in_text(query: ParsedQuery) -> str | None:
    """A word or literal that stands in only one of the two texts, or more often."""
    tokens = query.tree.meta.pop(TOKENS_KEY, None)  # they cannot be copied
    try:
        made = _SPARK.tokenize(query.tree.sql("spark"))
    except (SqlglotError, ValueError) as error:
        return str(error)
    finally:
        if tokens is not None:
            query.tree.meta[TOKENS_KEY] = tokens
    written, rendered = _words(query.tokens), _words(made)
    return next(iter((written - rendered) + (rendered - written)), None)


def _words(tokens: Sequence[Any]) -> Counter[str]:
    words = Counter(word for token in tokens for word in _words_of(token))
    for cast, suffix in pairwise(tokens):
        if cast.token_type is TokenType.DCOLON and (kind := _SUFFIXES.get(suffix.text.upper())) is not None:
            words -= Counter(_words_of(suffix))
            words[kind] += 1
    return words


def _words_of(token: Any) -> tuple[str, ...]:
    if token.token_type in _LITERALS:
        return (f"'{token.text.upper()}'",)  # words such as units are rendered in capitals
    if token.token_type is TokenType.NULLSAFE_EQ:
        return ("IS", "NOT", "DISTINCT", "FROM")
    text = token.text.upper()
    if not text[:1].isalpha() and text[:1] != "_" and token.token_type is not TokenType.IDENTIFIER:
        return ()
    word = _SAME.get(text, text)
    return () if word in _SAYS_NOTHING and token.token_type is not TokenType.IDENTIFIER else (word,)
