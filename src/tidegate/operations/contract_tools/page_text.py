"""A page as blocks of text, and its two spellings: Markdown and HTML. All text is escaped, whoever wrote it."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

__all__ = ["Block", "Heading", "PageTable", "Paragraph", "html_page", "markdown_page"]

_MARKS = re.compile(r"([\\`*{}\[\]<>|~&$#]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")
"""An underscore inside a word means nothing."""
_LINE_START = re.compile(r"^(\s*)([+\-=>]|\d+(?=[.)]))")
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse;margin:1rem 0}th,td{border:1px solid #ccc;padding:.3rem .6rem;text-align:left;"
    "vertical-align:top}th{background:#f4f4f4}"
    "@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}th{background:#252525}th,td{border-color:#444}}"
)


@dataclass(frozen=True, slots=True)
class Heading:
    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Paragraph:
    text: str


@dataclass(frozen=True, slots=True)
class PageTable:
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Block = Heading | Paragraph | PageTable


def markdown_page(blocks: Iterable[Block]) -> str:
    return "\n".join(line for block in blocks for line in _markdown(block)).rstrip("\n") + "\n"


def _markdown(block: Block) -> Iterator[str]:
    match block:
        case Heading():
            yield f"{'#' * block.level} {_escaped(block.text)}"
        case Paragraph():
            yield _LINE_START.sub(r"\1\\\2", _escaped(block.text))
        case PageTable():
            yield _row(block.headers)
            yield f"|{'---|' * len(block.headers)}"
            yield from map(_row, block.rows)
    yield ""


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_escaped, cells))} |"


def _escaped(text: str) -> str:
    """On one line, without meaning to Markdown."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))


def html_page(title: str, blocks: Iterable[Block]) -> str:
    body = "\n".join(map(_html, blocks))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _html(block: Block) -> str:
    match block:
        case Heading():
            return f"<h{block.level}>{html.escape(block.text)}</h{block.level}>"
        case Paragraph():
            return f"<p>{html.escape(block.text)}</p>"
        case PageTable():
            rows = [_html_row("th", block.headers), *(_html_row("td", row) for row in block.rows)]
            return "\n".join(["<table>", *rows, "</table>"])


def _html_row(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{html.escape(cell)}</{tag}>' for cell in cells)}</tr>"
