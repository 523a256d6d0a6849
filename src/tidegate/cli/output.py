"""Where a command's answer goes: lines for a person, or one JSON document for a program."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from tidegate import __version__
from tidegate.cli.paint import is_terminal
from tidegate.jsontext import json_text
from tidegate.spark.starting import NOT_STARTED, STARTED, STARTING

__all__ = ["HumanOutput", "JsonOutput", "Output", "note"]

_CLEAR_LINE = "\r\x1b[K"


def note(line: str) -> None:
    """A line on stderr. That Spark starts is shown on a terminal only until it has."""
    live = is_terminal(sys.stderr)
    if line in (STARTED, NOT_STARTED):
        print(_CLEAR_LINE if live else "", end="", file=sys.stderr, flush=True)
    elif line == STARTING and live:
        print(f"{line} …", end="", file=sys.stderr, flush=True)
    else:
        print(f"{_CLEAR_LINE if live else ''}{line}", file=sys.stderr, flush=True)


class Output(Protocol):
    def show(self, document: Mapping[str, Any], lines: Callable[[], Iterable[str]]) -> None:
        """The answer: `document` for programs, `lines` for people. Only one of the two is used."""

    def note(self, line: str, always: bool = False) -> None:
        """Something reported on the way, which is not the answer. With --quiet only what is `always` needed."""


class HumanOutput:
    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet

    def show(self, document: Mapping[str, Any], lines: Callable[[], Iterable[str]]) -> None:
        for line in lines():
            print(line)

    def note(self, line: str, always: bool = False) -> None:
        if always or not self._quiet:
            note(line)


class JsonOutput:
    def __init__(self, command: str, indent: int | None = 2, quiet: bool = False) -> None:
        self._quiet = quiet
        self._command = command
        self._indent = indent

    def show(self, document: Mapping[str, Any], lines: Callable[[], Iterable[str]]) -> None:
        print(json_text({"version": __version__, "command": self._command, **document}, indent=self._indent))

    def note(self, line: str, always: bool = False) -> None:
        if always or not self._quiet:
            note(line)
