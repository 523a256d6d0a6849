"""The reference of docs/commands.md, written from the commands: `python -m tidegate.cli.reference FILE`."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from inspect import cleandoc
from pathlib import Path

import click

from tidegate.cli.completion_candidates import WORDS_FILE, Argument, Command, Option, Words
from tidegate.cli.invocation import common_options
from tidegate.cli.main import COMMANDS, cli
from tidegate.config.hook_settings import HOOK_EVENTS

__all__ = ["collect_words", "with_reference", "words_json"]

_MARKED = re.compile(r"<!-- (common|commands) -->\n.*?<!-- end -->", re.DOTALL)


def with_reference(page: str) -> str:
    """The page with the reference of the commands between its marks."""
    words = collect_words()
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


def words_json(words: Words) -> str:
    return json.dumps(asdict(words), indent=1, ensure_ascii=False) + "\n"


def collect_words() -> Words:
    """From the commands, each of which is imported for it."""
    context = click.Context(cli)
    everywhere = {name for parameter in _common_parameters() for name in parameter}

    def options(command: click.Command, common: bool) -> Iterator[Option]:
        for parameter in command.get_params(context):
            if not isinstance(parameter, click.Option) or "--help" in parameter.opts:
                continue
            names = (*parameter.opts, *parameter.secondary_opts)
            if (names[-1] in everywhere) is common:
                yield _describe_option(parameter, names)

    def describe(name: str, command: click.Command) -> Iterator[tuple[str, Command]]:
        subcommands = command.commands if isinstance(command, click.Group) else {}
        arguments = tuple(_describe_argument(p) for p in command.params if isinstance(p, click.Argument))
        line = COMMANDS[name].help if name in COMMANDS else (command.help or "").split("\n\n")[0]
        yield name, Command(line, arguments, tuple(options(command, False)), tuple(subcommands))
        for sub, subcommand in subcommands.items():
            yield from describe(f"{name} {sub}", subcommand)

    commands: dict[str, Command] = {}
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        commands |= dict(describe(name, command))
    return Words(commands, tuple(options(cli, True)), tuple(options(cli, False)))


def _common_parameters() -> Iterator[tuple[str, ...]]:
    @click.command()
    @common_options
    def none() -> None: ...

    yield from (tuple(parameter.opts) for parameter in none.params)


def _describe_option(parameter: click.Option, names: tuple[str, ...]) -> Option:
    help = parameter.help or ""
    if parameter.is_flag:
        return Option(names, help)
    if isinstance(parameter.type, click.Choice):
        return Option(names, help, "|".join(parameter.type.choices), tuple(parameter.type.choices))
    return Option(names, help, parameter.metavar or parameter.type.name.upper())


def _describe_argument(parameter: click.Argument) -> Argument:
    name = (parameter.metavar or str(parameter.name).upper()).removesuffix("...")
    name = name[1:-1] if name.startswith("[") and name.endswith("]") else name
    choices = tuple(parameter.type.choices) if isinstance(parameter.type, click.Choice) else ()
    choices = tuple(HOOK_EVENTS) if name == "EVENT" else choices
    return Argument(name, parameter.nargs == -1, not parameter.required, choices)


if __name__ == "__main__":
    WORDS_FILE.write_text(words_json(collect_words()), "utf-8")
    page = Path(sys.argv[1])
    page.write_text(with_reference(page.read_text("utf-8")), "utf-8")
