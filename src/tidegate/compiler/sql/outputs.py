"""Where in a query's text its columns are named, or taken with a `*`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from sqlglot import exp
from sqlglot.tokens import TokenType

from tidegate.compiler.sql.queries import Query, parse_query

__all__ = ["line_and_column", "offset_in_source", "offset_of_output", "offset_of_star"]

_BEFORE_STAR = {TokenType.SELECT, TokenType.DISTINCT, TokenType.ALL, TokenType.COMMA, TokenType.DOT}
_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)


def offset_of_output(sql: str, column: str) -> int | None:
    """None where the text does not name the column, as with `*`, or is no query."""
    query = parse_query(sql)
    tree = query.tree if isinstance(query, Query) else None
    while isinstance(tree, exp.SetOperation | exp.Subquery):
        tree = tree.this
    for item in tree.expressions if isinstance(tree, exp.Select) else ():
        for name in _names(item):
            if name.name.lower() == column.lower() and "start" in name.meta:
                return int(name.meta["start"])
    return None


def offset_in_source(source: str, column: str) -> int | None:
    """The same in a file whose templates have not been rendered: what they would give is taken for a name."""
    return offset_of_output(_without_templates(source), column)


def offset_of_star(source: str) -> int | None:
    """The first `*` of a file that means columns; None where there is none, or the text is no query."""
    query = parse_query(_without_templates(source))
    for before, token in pairwise(query.tokens) if isinstance(query, Query) else ():
        if token.token_type is TokenType.STAR and before.token_type in _BEFORE_STAR:
            return int(token.start)
    return None


def line_and_column(source: str, offset: int) -> tuple[int, int]:
    before = source.replace("\r\n", "\n")[:offset]
    return before.count("\n") + 1, offset - before.rfind("\n")


def _names(item: Any) -> Iterator[exp.Identifier]:
    if isinstance(item, exp.Aliases):
        yield from item.aliases
        return
    named = item.args.get("alias") if isinstance(item, exp.Alias) else item
    if isinstance(named, exp.Dot):
        named = named.expression
    elif isinstance(named, exp.Column):
        named = named.this
    if isinstance(named, exp.Identifier):
        yield named


def _without_templates(source: str) -> str:
    return _TEMPLATE.sub(_stand_in, source.replace("\r\n", "\n"))


def _stand_in(match: re.Match[str]) -> str:
    """As long as the template, so that nothing moves."""
    filler = "_" if match[0].startswith("{{") else " "
    return "".join("\n" if sign == "\n" else filler for sign in match[0])
