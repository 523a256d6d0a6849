"""Names in a piece of SQL: which of them it mentions, and the same text with others in their place."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

__all__ = ["mentioned", "renamed"]

_TOKEN = re.compile(
    r"""'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`(?P<quoted>(?:[^`]|``)*)`|\d[\w.]*|(?P<word>[^\W\d]\w*)""", re.DOTALL
)

_SQL = frozenset({"and", "between", "false", "in", "is", "like", "not", "null", "or", "true"})


def renamed(text: str, names: Mapping[str, str]) -> str:
    """Each word that is a key of `names` replaced, but not within quotes, after a dot or as a function."""

    def other(match: re.Match[str]) -> str:
        word = match["word"]
        called = text[match.end() :].lstrip().startswith("(")
        of_something = text[: match.start()].rstrip().endswith(".")
        return match[0] if word is None or called or of_something else names.get(word, match[0])

    return _TOKEN.sub(other, text)


def mentioned(text: str, columns: Collection[str]) -> tuple[str, ...]:
    """Those of `columns` that the text names, in their order. A word of SQL, or a function, is a column in backquotes
    only."""
    words = {_name(match) for match in _TOKEN.finditer(text) if match["word"] is None or not _is_sql(text, match)}
    return tuple(column for column in columns if column.lower() in words)


def _is_sql(text: str, match: re.Match[str]) -> bool:
    return match["word"].lower() in _SQL or text[match.end() :].lstrip().startswith("(")


def _name(match: re.Match[str]) -> str:
    return (match["word"] or (match["quoted"] or "").replace("``", "`")).lower()
