"""Colour where a person reads on a terminal, plain text everywhere else."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TextIO

import click

__all__ = ["Paint", "is_terminal", "painter", "plain"]

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
