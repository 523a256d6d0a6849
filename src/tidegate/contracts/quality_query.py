"""The text of a quality rule of type sql: which of its forms it has, and what its placeholders stand for.

`${object}`, `${table}` and `${schema}` stand for the valid rows of the object; `${column}`, `${property}` and
`${field}` for the column whose rule it is. The dollar may be left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import sqlglot
from sqlglot import exp

__all__ = ["filled", "is_select", "one_statement", "placeholder_mistakes"]

_OF_OBJECT, _OF_COLUMN = ("object", "table", "schema"), ("property", "column", "field")
_PLACEHOLDER = re.compile(rf"\$?\{{\s*({'|'.join((*_OF_OBJECT, *_OF_COLUMN))})\s*\}}", re.IGNORECASE)
_ANY_PLACEHOLDER = re.compile(r"\$\{([^}]*)\}")
_FIRST_WORD = re.compile(r"(?:\s|\(|--[^\n]*(?:\n|$)|/\*.*?\*/)*(?:select|with)\b", re.IGNORECASE | re.DOTALL)


def is_select(query: str) -> bool:
    """A SELECT; else a condition. One in parentheses is a SELECT only where nothing follows them."""
    if _FIRST_WORD.match(query) is None:
        return False
    parsed = _statements(filled(query, "t", "c"))
    return isinstance(parsed, str) or isinstance(parsed[0], exp.Query)


def one_statement(sql: str) -> exp.Expression | str:
    """The one statement of a text, or what is wrong with it."""
    parsed = _statements(sql)
    if isinstance(parsed, str):
        return parsed
    return "it is more than one statement" if len(parsed) != 1 or parsed[0] is None else parsed[0]


def _statements(sql: str) -> Sequence[exp.Expression | None] | str:
    try:
        statements: Sequence[exp.Expression | None] = sqlglot.parse(sql, read="spark")
    except sqlglot.errors.SqlglotError as error:
        first = error.errors[0] if isinstance(error, sqlglot.errors.ParseError) and error.errors else None
        return str(first["description"] if first else error).splitlines()[0]
    except RecursionError:
        return "it is nested too deeply"
    except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError):
        return "it is not understood"  # The parser may fail without reporting why.
    return statements


def filled(query: str, rows: str, column: str | None) -> str:
    """`rows` and `column`: names as SQL writes them. Without the semicolon at the end."""

    def replace(match: re.Match[str]) -> str:
        return rows if match[1].lower() in _OF_OBJECT else column or match[0]

    return _PLACEHOLDER.sub(replace, query).strip().rstrip(";").rstrip()


def placeholder_mistakes(query: str, has_column: bool) -> Iterator[str]:
    for match in _ANY_PLACEHOLDER.finditer(query):
        name = match[1].strip().lower()
        if name in _OF_COLUMN and not has_column:
            yield f"the query names {match[0]}, and the rule is not that of a column"
        elif name not in (*_OF_OBJECT, *_OF_COLUMN):
            yield f"the query names {match[0]}, which is no placeholder: write ${{object}} or, in a column, ${{column}}"
