"""Text for a terminal or a pipe: colours, and columns of text."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, TextIO

import click

if TYPE_CHECKING:
    from rich.table import Table

__all__ = [
    "WIDEST_CELL",
    "OutputLine",
    "Paint",
    "TextTable",
    "clean",
    "color_system",
    "cut_cells",
    "display_width",
    "is_terminal",
    "painter",
    "plain",
    "print_lines",
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


def color_system(color: bool) -> Literal["auto"] | None:
    """What a console of rich is opened with. Its own `no_color` drops only the colors: bold and dim stay escapes."""
    return "auto" if color and not os.environ.get("NO_COLOR") else None


WIDEST_CELL = 60
_NO_WRAP = 24
_LEAST_WRAPPED = 20
"""A column of longer text is folded to no less; a table that does not fit even so is written without folding."""


class TextTable:
    """Left-aligned columns, two spaces apart; numbers to the right. `widest`: longer cells are cut with an ellipsis;
    None: none are."""

    def __init__(self, headers: Sequence[str], rows: Iterable[Sequence[str]], widest: int | None = WIDEST_CELL) -> None:
        self._headers = headers
        self._rows = [[_cut(clean(cell), widest) for cell in row] for row in rows]
        columns = [[row[i] for row in self._rows] for i in range(len(headers))]
        self._widths = [
            max([display_width(head), *map(display_width, column)])
            for head, column in zip(headers, columns, strict=True)
        ]
        self._numeric = [_is_numeric(column) for column in columns]

    def lines(self) -> Iterator[str]:
        yield self._line(self._headers)
        yield "  ".join("-" * width for width in self._widths)
        yield from map(self._line, self._rows)

    def print(self, stream: TextIO, color: bool = True) -> None:
        """On a terminal long text is folded within its column."""
        if is_terminal(stream):
            # rich takes a tenth of a second to import, which output for a pipe need not pay.
            from rich.console import Console

            system = color_system(color)
            console = Console(file=stream, highlight=False, markup=False, emoji=False, color_system=system)
            least = sum(2 + (width if width <= _NO_WRAP else _LEAST_WRAPPED) for width in self._widths) - 2
            if least <= console.width:
                console.print(self._rich())
                return
        for line in self.lines():
            print(line, file=stream)

    def _rich(self) -> Table:
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for head, width, right in zip(self._headers, self._widths, self._numeric, strict=True):
            justify: Literal["left", "right"] = "right" if right else "left"
            table.add_column(Text(head), justify=justify, no_wrap=width <= _NO_WRAP, overflow="fold")
        for row in self._rows:
            table.add_row(*map(Text, row))
        return table

    def _line(self, row: Sequence[str]) -> str:
        padded = []
        for cell, width, right in zip(row, self._widths, self._numeric, strict=True):
            space = " " * (width - display_width(cell))
            padded.append(space + cell if right else cell + space)
        return "  ".join(padded).rstrip()


OutputLine = str | TextTable
"""A command writes lines, with tables among them."""


def cut_cells(rows: Iterable[Sequence[str]], widest: int = WIDEST_CELL) -> int:
    """How many cells a table cuts."""
    return sum(len(clean(cell)) > widest for row in rows for cell in row)


def print_lines(lines: Iterable[OutputLine], stream: TextIO, color: bool = True) -> None:
    for line in lines:
        if isinstance(line, TextTable):
            line.print(stream, color)
        else:
            print(line, file=stream)
    stream.flush()  # a pipe would get it only when the command ends, which may be minutes from here


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
