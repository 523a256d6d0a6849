"""Text for a terminal or a pipe: colours, and columns of text."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TextIO

import click

__all__ = [
    "WIDEST_CELL",
    "Paint",
    "clean",
    "cut_cells",
    "display_width",
    "is_terminal",
    "painter",
    "plain",
    "text_table",
]

Paint = Callable[[str, str], str]
"""(text, role) → the text as it is shown. Roles: error, warning, info, help, place, quiet, strong."""

_STYLES: dict[str, dict[str, Any]] = {
    "error": {"fg": "red", "bold": True},
    "warning": {"fg": "yellow", "bold": True},
    "info": {"fg": "cyan", "bold": True},
    "help": {"fg": "green"},
    "place": {"fg": "blue"},
    "quiet": {"dim": True},
    "strong": {"bold": True},
}


def plain(text: str, role: str) -> str:
    return text


def _coloured(text: str, role: str) -> str:
    return click.style(text, **_STYLES[role])


def is_terminal(stream: TextIO) -> bool:
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def painter(stream: TextIO) -> Paint:
    """NO_COLOR, set to anything, means none (no-color.org)."""
    return _coloured if is_terminal(stream) and not os.environ.get("NO_COLOR") else plain


WIDEST_CELL = 60


def text_table(
    headers: Sequence[str], rows: Iterable[Sequence[str]], widest: int | None = WIDEST_CELL
) -> Iterator[str]:
    """Left-aligned columns, two spaces apart; numbers to the right. Longer cells are cut with an ellipsis; None: none
    are."""
    cells = [[_cut(clean(cell), widest) for cell in row] for row in rows]
    widths = [max([display_width(head), *(display_width(row[i]) for row in cells)]) for i, head in enumerate(headers)]
    numeric = [_is_numeric([row[i] for row in cells]) for i in range(len(headers))]
    yield _line(headers, widths, numeric)
    yield "  ".join("-" * width for width in widths)
    for row in cells:
        yield _line(row, widths, numeric)


def cut_cells(rows: Iterable[Sequence[str]], widest: int = WIDEST_CELL) -> int:
    """How many cells `text_table` cuts."""
    return sum(len(clean(cell)) > widest for row in rows for cell in row)


def _line(row: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    padded = []
    for cell, width, right in zip(row, widths, numeric, strict=True):
        space = " " * (width - display_width(cell))
        padded.append(space + cell if right else cell + space)
    return "  ".join(padded).rstrip()


def clean(text: str) -> str:
    """Data may hold anything: line breaks and control characters must not reach the terminal as such."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def display_width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _cut(text: str, widest: int | None) -> str:
    return text if widest is None or len(text) <= widest else text[: widest - 1] + "…"


def _is_numeric(cells: Sequence[str]) -> bool:
    """Whether all that is there are numbers."""
    present = [cell for cell in cells if cell not in ("", "-", "NULL")]
    try:
        return bool([float(cell) for cell in present])
    except ValueError:
        return False
