"""The reference of docs/commands.md, written from the commands: `python -m tidegate.cli.reference FILE`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from inspect import cleandoc
from pathlib import Path

import click

from tidegate.cli.completion.words import Argument, Option, Words, collect
from tidegate.cli.main import cli

__all__ = ["with_reference"]

_MARKED = re.compile(r"<!-- (common|commands) -->\n.*?<!-- end -->", re.DOTALL)


def with_reference(page: str) -> str:
    """The page with what the commands say of themselves between its marks."""
    words = collect()
    parts = {"common": _options(words.common), "commands": _commands(words)}

    def write(mark: re.Match[str]) -> str:
        lines = "\n".join(parts[mark[1]])
        return f"<!-- {mark[1]} -->\n{lines}\n<!-- end -->"

    return _MARKED.sub(write, page)


def _commands(words: Words) -> Iterator[str]:
    for name, command in words.commands.items():
        if command.subcommands:
            continue
        yield ""
        yield f"### `{' '.join(['tidegate', name, *map(_argument, command.arguments)])}`"
        yield ""
        yield from _text(_find(name))
        if command.options:
            yield ""
            yield from _options(command.options)


def _argument(argument: Argument) -> str:
    name = f"[{argument.name}]" if argument.optional else argument.name
    return f"{name}..." if argument.many else name


def _find(name: str) -> click.Command:
    context, command = click.Context(cli), cli.get_command(click.Context(cli), name.partition(" ")[0])
    if " " in name and isinstance(command, click.Group):
        command = command.get_command(context, name.partition(" ")[2])
    assert command is not None
    return command


def _text(command: click.Command) -> Iterator[str]:
    """The help, its paragraphs filled, what is laid out by hand as a block of code."""
    for number, paragraph in enumerate(cleandoc(command.help or "").split("\n\n")):
        if number:
            yield ""
        if not paragraph.startswith("\b"):
            yield " ".join(paragraph.split())
            continue
        lines = [line for line in paragraph.splitlines()[1:] if line != "Example:"]
        yield "```"
        yield from cleandoc("\n".join(["", *lines])).splitlines()
        yield "```"


def _options(options: Iterable[Option]) -> Iterator[str]:
    yield "| option | |"
    yield "|---|---|"
    for option in options:
        names = ", ".join(f"`{name}`" for name in option.names)
        value = f" `{option.value}`" if option.value else ""
        yield f"| {_cell(names + value)} | {_cell(option.help)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    file = Path(sys.argv[1])
    file.write_text(with_reference(file.read_text("utf-8")), "utf-8")
