"""The commands and options of the program as data: `words.json`, written from the commands themselves.

`python -m tidegate.cli.completion.words` writes it (`make docs`); a test compares the two.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["Argument", "Command", "Option", "Words", "as_json", "collect", "read_words"]

FILE = Path(__file__).with_name("words.json")


@dataclass(frozen=True, slots=True)
class Option:
    """`value`: what it takes, as the help calls it; None for a flag. `choices`: all that it takes, if they are few."""

    names: tuple[str, ...]
    help: str
    value: str | None = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Argument:
    name: str
    many: bool = False
    optional: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Command:
    """`options`: without those that all commands take. One with subcommands has their names in `subcommands`."""

    help: str
    arguments: tuple[Argument, ...] = ()
    options: tuple[Option, ...] = ()
    subcommands: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Words:
    """`commands` by name, subcommands as `hooks test`. `common`: options of every command; `top`: of the program."""

    commands: dict[str, Command]
    common: tuple[Option, ...]
    top: tuple[Option, ...]


def read_words() -> Words:
    raw = json.loads(FILE.read_text("utf-8"))
    commands = {
        name: Command(
            command["help"],
            tuple(Argument(a["name"], a["many"], a["optional"], tuple(a["choices"])) for a in command["arguments"]),
            _options(command["options"]),
            tuple(command["subcommands"]),
        )
        for name, command in raw["commands"].items()
    }
    return Words(commands, _options(raw["common"]), _options(raw["top"]))


def _options(raw: list[dict[str, list[str]]]) -> tuple[Option, ...]:
    return tuple(Option(tuple(o["names"]), str(o["help"]), _value(o["value"]), tuple(o["choices"])) for o in raw)


def _value(value: object) -> str | None:
    return None if value is None else str(value)


def as_json(words: Words) -> str:
    return json.dumps(asdict(words), indent=1, ensure_ascii=False) + "\n"


def collect() -> Words:
    """From the commands, each of which is imported for it."""
    import click

    from tidegate.cli.main import COMMANDS, cli

    context = click.Context(cli)
    everywhere = {name for parameter in _common_parameters() for name in parameter}

    def options(command: click.Command, common: bool) -> Iterator[Option]:
        for parameter in command.get_params(context):
            if not isinstance(parameter, click.Option) or "--help" in parameter.opts:
                continue
            names = (*parameter.opts, *parameter.secondary_opts)
            if (names[-1] in everywhere) is common:
                yield _option(parameter, names)

    def describe(name: str, command: click.Command) -> Iterator[tuple[str, Command]]:
        subcommands = command.commands if isinstance(command, click.Group) else {}
        arguments = tuple(_argument(p) for p in command.params if isinstance(p, click.Argument))
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
    import click

    from tidegate.cli.context import common_options

    @click.command()
    @common_options
    def none() -> None: ...

    yield from (tuple(parameter.opts) for parameter in none.params)


def _option(parameter: object, names: tuple[str, ...]) -> Option:
    import click

    assert isinstance(parameter, click.Option)
    help = parameter.help or ""
    if parameter.is_flag:
        return Option(names, help)
    if isinstance(parameter.type, click.Choice):
        return Option(names, help, "|".join(parameter.type.choices), tuple(parameter.type.choices))
    return Option(names, help, parameter.metavar or parameter.type.name.upper())


def _argument(parameter: object) -> Argument:
    import click

    from tidegate.config.hooks import HOOK_EVENTS

    assert isinstance(parameter, click.Argument)
    name = (parameter.metavar or str(parameter.name).upper()).removesuffix("...")
    name = name[1:-1] if name.startswith("[") and name.endswith("]") else name
    choices = tuple(parameter.type.choices) if isinstance(parameter.type, click.Choice) else ()
    choices = tuple(HOOK_EVENTS) if name == "EVENT" else choices
    return Argument(name, parameter.nargs == -1, not parameter.required, choices)


if __name__ == "__main__":
    FILE.write_text(as_json(collect()), "utf-8")
