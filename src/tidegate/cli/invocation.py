"""One call of the program: the options that every command takes, and where its result is written."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol, TextIO

import click

from tidegate import __version__
from tidegate.cli.terminal import OutputLine, Paint, is_terminal, painter, plain, print_lines
from tidegate.jsontext import json_text
from tidegate.operations.workspace import Workspace
from tidegate.spark.starting import NOT_STARTED, STARTED, STARTING

__all__ = [
    "CommandOutput",
    "HumanOutput",
    "Invocation",
    "JsonOutput",
    "common_options",
    "note",
    "open_workspace",
    "pass_invocation",
    "worker_option",
]


@dataclass
class Invocation:
    """One call of the program. Options set it wherever they stand, before the command or after it."""

    project: Path | None = None
    config: Path | None = None
    json: bool = False
    debug: bool = False
    quiet: bool = False
    verbose: bool = False
    no_color: bool = False
    no_worker: bool = False
    command: str = ""

    @property
    def root(self) -> Path:
        """The folder that was named, or that the program was started in; the project may be one above it."""
        return self.project or Path()

    @classmethod
    def peek(cls, args: Sequence[str]) -> Invocation:
        """What can be known before the arguments are parsed: how to report that they cannot be."""
        options = args[: args.index("--")] if "--" in args else args
        return cls(json="--json" in options, debug="--debug" in options, no_color="--no-color" in options)

    def output(self) -> CommandOutput:
        return (
            JsonOutput(self.command, quiet=self.quiet)
            if self.json
            else HumanOutput(self.quiet, color=not self.no_color)
        )

    def painter(self, stream: TextIO) -> Paint:
        return plain if self.no_color else painter(stream)

    def stream(self) -> CommandOutput:
        """For answers that keep coming: each document is one line."""
        return (
            JsonOutput(self.command, indent=None, quiet=self.quiet)
            if self.json
            else HumanOutput(self.quiet, color=not self.no_color)
        )


pass_invocation = click.make_pass_decorator(Invocation)


def _remember(ctx: click.Context, parameter: click.Parameter, value: Any) -> None:
    invocation = ctx.ensure_object(Invocation)
    if ctx.parent is not None:
        invocation.command = ctx.info_name or ""
    if value is not None and value is not False:
        setattr(invocation, str(parameter.name), value)
    if invocation.quiet and invocation.verbose:
        raise click.UsageError("--quiet asks for less and --verbose for more: give one of them.", ctx)


def _common(*names: str, help: str, **attributes: Any) -> Callable[..., Any]:
    return click.option(*names, help=help, expose_value=False, is_eager=True, callback=_remember, **attributes)


_FILE = click.Path(path_type=Path)
_COMMON: tuple[Callable[..., Any], ...] = (
    _common("--project", type=_FILE, metavar="DIR", help="The project's folder (default: this one)."),
    _common("-c", "--config", type=_FILE, metavar="FILE", help="Another file than the project's tidegate.toml."),
    _common("--json", is_flag=True, help="Write one JSON document to stdout, everything else to stderr."),
    _common("-q", "--quiet", is_flag=True, help="Show only failures and the summary."),
    _common("-v", "--verbose", is_flag=True, help="Show more: reasons, and the time of each phase."),
    _common("--no-color", is_flag=True, help="Use no colors; so does the variable NO_COLOR."),
    _common("--debug", is_flag=True, help="Show the traceback of an error."),
)


worker_option = _common(
    "--no-worker", is_flag=True, help="Start a Spark of this command's own, and leave the worker alone."
)


def common_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_COMMON):
        command = option(command)
    return command


_AT_TERMINAL = timedelta(minutes=10)
"""`[spark] keep_alive` where a person may type the next command."""


def open_workspace(invocation: Invocation) -> Workspace:
    """Without --project and --config the project is the nearest one from here upwards."""
    from tidegate.config.settings_file import find_project, load_settings

    root = invocation.root
    if invocation.project is None and invocation.config is None:
        root = find_project(root)
        invocation.project = root
    settings = load_settings(root, invocation.config)
    keep_alive = timedelta() if invocation.no_worker else settings.spark.keep_alive
    if keep_alive is None and sys.stdin.isatty() and sys.stderr.isatty():
        keep_alive = _AT_TERMINAL
    return Workspace(replace(settings, spark=replace(settings.spark, keep_alive=keep_alive)))


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


class CommandOutput(Protocol):
    def show(self, document: Mapping[str, Any], lines: Callable[[], Iterable[OutputLine]]) -> None:
        """The answer: `document` for programs, `lines` for people. Only one of the two is used."""

    def note(self, line: str, always: bool = False) -> None:
        """Something reported on the way, which is not the answer. With --quiet only what is `always` needed."""


class HumanOutput:
    def __init__(self, quiet: bool = False, color: bool = True) -> None:
        self._quiet = quiet
        self._color = color

    def show(self, document: Mapping[str, Any], lines: Callable[[], Iterable[OutputLine]]) -> None:
        print_lines(lines(), sys.stdout, self._color)

    def note(self, line: str, always: bool = False) -> None:
        if always or not self._quiet:
            note(line)


class JsonOutput:
    def __init__(self, command: str, indent: int | None = 2, quiet: bool = False) -> None:
        self._quiet = quiet
        self._command = command
        self._indent = indent

    def show(self, document: Mapping[str, Any], lines: Callable[[], Iterable[OutputLine]]) -> None:
        print(json_text({"version": __version__, "command": self._command, **document}, indent=self._indent))

    def note(self, line: str, always: bool = False) -> None:
        if always or not self._quiet:
            note(line)
