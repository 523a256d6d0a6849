"""Places in SQL text: from rendered SQL back to its template, and where a query names its columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from sqlglot import exp
from sqlglot.tokens import TokenType

from tidegate.compiler.sql.queries import ParsedQuery, parse_query
from tidegate.problems import Place
from tidegate.project.directives import without_templates
from tidegate.project.rendering import Templates
from tidegate.project.template_names import Rendered, TemplateContext

__all__ = ["line_and_column", "locate", "offset_in_source", "offset_of_output", "offset_of_star"]

_MARK = re.compile("\ue000([\ue010-\ue019]+)\ue002([\ue010-\ue019]+)\ue001")
_DIGITS = {ord(digit): 0xE010 + int(digit) for digit in "0123456789"}


def locate(templates: Templates, source: str, file: str, context: TemplateContext, rendered: str, offset: int) -> Place:
    """Exact for plain text; what an expression produced is placed at that expression."""
    source = without_templates(source.replace("\r\n", "\n").replace("\r", "\n"))
    if source[: offset + 1] == rendered[: offset + 1]:
        return _place(source, file, offset)
    marks = _trace(templates, source, file, context, rendered)
    before = [mark for mark in marks if mark[0] <= offset]
    if before:
        at, origin, length = before[-1]
        return _place(source, file, origin + min(offset - at, length))
    return _place(source, file, _alike(source, rendered, offset))


def _alike(source: str, rendered: str, offset: int) -> int:
    """Without a trace: where the rest of both texts is equal, else the only equal line."""
    rest = rendered[offset:]
    if rest and source.endswith(rest):
        return len(source) - len(rest)
    start = rendered.rfind("\n", 0, offset) + 1
    line = rendered[start:].partition("\n")[0]
    at = source.find(line) if line.strip() and source.count(line) == 1 else -1
    return at + offset - start if at >= 0 else 0


def _mark(offset: int, length: int) -> str:
    """Letters that no template splits at, counts or changes the case of."""
    return "\ue000{}\ue002{}\ue001".format(*(str(n).translate(_DIGITS) for n in (offset, length)))


def _number(text: str) -> int:
    return int("".join(chr(ord(letter) - 0xE010 + ord("0")) for letter in text))


def _trace(
    templates: Templates, source: str, file: str, context: TemplateContext, rendered: str
) -> list[tuple[int, int, int]]:
    """Render once more with a mark in each piece of plain text: (offset in the result, in the source, length).

    A template that looks at its own text may come out otherwise when marked; then there is no trace.
    """
    marked, last = [], 0
    for offset, text in templates.segments(source):
        lead = len(text) - len(text.lstrip())
        if lead < len(text):
            marked += [source[last : offset + lead], _mark(offset + lead, len(text) - lead)]
            last = offset + lead
    result = templates.render("".join([*marked, source[last:]]), file, context)
    if not isinstance(result, Rendered):
        return []
    marks, removed = [], 0
    for match in _MARK.finditer(result.text):
        marks.append((match.start() - removed, _number(match[1]), _number(match[2])))
        removed += len(match[0])
    return marks if _MARK.sub("", result.text) == rendered else []


def _place(source: str, file: str, offset: int) -> Place:
    line = source.count("\n", 0, offset) + 1
    return Place(file, line, offset - (source.rfind("\n", 0, offset) + 1) + 1)


_BEFORE_STAR = {TokenType.SELECT, TokenType.DISTINCT, TokenType.ALL, TokenType.COMMA, TokenType.DOT}
_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)


def offset_of_output(sql: str, column: str) -> int | None:
    """None where the text does not name the column, as with `*`, or is no query."""
    query = parse_query(sql)
    tree = query.tree if isinstance(query, ParsedQuery) else None
    while isinstance(tree, exp.SetOperation | exp.Subquery):
        tree = tree.this
    for item in tree.expressions if isinstance(tree, exp.Select) else ():
        for name in _names(item):
            if name.name.lower() == column.lower() and "start" in name.meta:
                return int(name.meta["start"])
    return None


def offset_in_source(source: str, column: str) -> int | None:
    """The same in a file with unrendered templates, which are taken for names."""
    return offset_of_output(_without_templates(source), column)


def offset_of_star(source: str) -> int | None:
    """The first `*` of a file that means columns; None where there is none, or the text is no query."""
    query = parse_query(_without_templates(source))
    for before, token in pairwise(query.tokens) if isinstance(query, ParsedQuery) else ():
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
