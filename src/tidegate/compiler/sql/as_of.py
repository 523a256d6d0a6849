"""The clause with which a query reads a table as it was: where it stands, and what it asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlglot import Dialect
from sqlglot.errors import SqlglotError

from tidegate.compiler.analysis.words import readable
from tidegate.compiler.sql.queries import Query, Reference

__all__ = ["AsOf", "as_of"]

_SPARK = Dialect.get_or_raise("spark")
_LONGEST = 100


@dataclass(frozen=True, slots=True)
class AsOf:
    """`text[start:end]` of the query is the clause. `kind`: VERSION or TIMESTAMP; `value` is what follows AS OF."""

    kind: str
    value: str
    start: int
    end: int


def as_of(query: Query, reference: Reference) -> AsOf | None:
    """The clause behind a table; None where the table is read as it is."""
    version = reference.node.args.get("version")
    if version is None:
        return None
    words = [token for token in query.tokens if token.start >= reference.end]
    begins = next((at for at, word in enumerate(words) if word.text.upper() == "OF"), None)
    last = _last_word(words[begins + 1 :], query.text, version.expression) if begins is not None else None
    if begins is None or last is None:
        return None
    value = query.text[words[begins + 1].start : last.end + 1]
    return AsOf(str(version.this).upper(), value, words[0].start, last.end + 1)


def _last_word(words: list[Any], text: str, expression: Any) -> Any | None:
    """The last word of the value. The tree does not say where a value ends, so it is the longest text that reads so,
    without the AS of a name."""
    tried = enumerate(words[:_LONGEST], 1)
    ends = [word for at, word in tried if word.text.upper() != "AS" and _reads_as(words[:at], text, expression)]
    return ends[-1] if ends else None


def _reads_as(words: list[Any], text: str, expression: Any) -> bool:
    try:
        trees = _SPARK.parser().parse(readable(words), text)
    except (SqlglotError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return False
    return bool(trees) and trees[0] == expression
