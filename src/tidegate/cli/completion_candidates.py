"""What a shell may offer where the cursor is, given the words before it and the beginning of a word."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path
from typing import NamedTuple, Protocol

from tidegate.planner.selector_words import METHODS, STATES

__all__ = [
    "WORDS_FILE",
    "Argument",
    "Candidate",
    "Command",
    "Completion",
    "Option",
    "ProjectNames",
    "Words",
    "complete",
    "read_words",
]

WORDS_FILE = Path(__file__).with_name("completion_words.json")


@dataclass(frozen=True, slots=True)
class Option:
    names: tuple[str, ...]
    help: str
    value: str | None = None
    """What it takes, as the help calls it; None for a flag."""

    choices: tuple[str, ...] = ()
    """All values that it takes, if they are few."""


@dataclass(frozen=True, slots=True)
class Argument:
    name: str
    many: bool = False
    optional: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Command:
    help: str
    arguments: tuple[Argument, ...] = ()
    options: tuple[Option, ...] = ()
    """Without those that all commands take."""

    subcommands: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Words:
    commands: dict[str, Command]
    """By name, subcommands as `hooks test`."""

    common: tuple[Option, ...]
    """Options of every command."""

    top: tuple[Option, ...]
    """Options of the program."""


def read_words() -> Words:
    raw = json.loads(WORDS_FILE.read_text("utf-8"))
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


class Candidate(NamedTuple):
    value: str
    help: str = ""


@dataclass(frozen=True, slots=True)
class Completion:
    kind: str = "words"
    """`words`; `open`, where the word continues; `files` or `folders`, which the shell itself completes."""

    candidates: tuple[Candidate, ...] = ()


class ProjectNames(Protocol):
    """The names of the current project; read only where they are needed."""

    def models(self) -> Iterable[str]: ...
    def tags(self) -> Iterable[str]: ...
    def folders(self) -> Iterable[str]: ...
    def runs(self) -> Iterable[tuple[str, str]]:
        """Each with its status."""

    def diagnostics(self) -> Iterable[str]: ...


FindNames = Callable[[str | None, str | None], ProjectNames]
"""(--project, --config) → the names of that project."""

_OPERATORS = re.compile(r"@|\d*\+")
_METHODS = tuple(Candidate(f"{method}:", help) for method, help in METHODS.items())


def complete(words: Words, before: Sequence[str], current: str, find_names: FindNames) -> Completion:
    """`before`: the words between the program and the cursor."""
    line = _read(words, before)
    names = find_names(line.values.get("--project"), line.values.get("--config"))
    if line.open_option is not None:
        return _value_of(line.open_option, current, names)
    if current.startswith("--") and "=" in current and not line.options_ended:
        name, _, start = current.partition("=")
        option = next((o for o in line.options if name in o.names and o.value), None)
        answer = _value_of(option, start, names) if option else Completion()
        return Completion(answer.kind, tuple(Candidate(f"{name}={value}", help) for value, help in answer.candidates))
    if current.startswith("-") and not line.options_ended:
        options = (Candidate(name, option.help) for option in line.options for name in option.names)
        return _starting(
            current, (*options, *(Candidate(name, "Show this message and exit.") for name in ("-h", "--help")))
        )
    if line.command is None or line.command.subcommands:
        prefix = f"{line.name} " if line.name else ""
        listed = line.command.subcommands if line.command else [name for name in words.commands if " " not in name]
        return _starting(current, (Candidate(name, words.commands[prefix + name].help) for name in listed))
    argument = _argument_at(line.command.arguments, line.arguments)
    return _by_kind(argument.name, argument.choices, current, names) if argument else Completion()


@dataclass(slots=True)
class _Line:
    """The words before the cursor, parsed. `open_option` waits for its value."""

    options: tuple[Option, ...]
    values: dict[str, str]
    name: str = ""
    command: Command | None = None
    arguments: int = 0
    open_option: Option | None = None
    options_ended: bool = False


def _read(words: Words, before: Sequence[str]) -> _Line:
    line = _Line((*words.top, *words.common), {})
    for word in before:
        if line.open_option is not None:
            line.values[line.open_option.names[-1]] = word
            line.open_option = None
        elif word == "--" and line.command is not None:
            line.options_ended = True
        elif word.startswith("-") and len(word) > 1 and not line.options_ended:
            name, equals, value = word.partition("=")
            option = next((option for option in line.options if name in option.names), None)
            if option is not None and option.value is not None:
                if equals:
                    line.values[option.names[-1]] = value
                else:
                    line.open_option = option
        elif line.command is None or line.command.subcommands:
            line.name = f"{line.name} {word}".strip()
            line.command = words.commands.get(line.name, Command(""))
            line.options = (*line.command.options, *words.common)
        else:
            line.arguments += 1
    return line


def _argument_at(arguments: Sequence[Argument], index: int) -> Argument | None:
    if index < len(arguments):
        return arguments[index]
    return arguments[-1] if arguments and arguments[-1].many else None


def _value_of(option: Option, current: str, names: ProjectNames) -> Completion:
    return _by_kind(option.value or "", option.choices, current, names)


def _by_kind(kind: str, choices: Sequence[str], current: str, names: ProjectNames) -> Completion:
    if choices:
        return _starting(current, map(Candidate, choices))
    if kind == "SELECT":
        return _selectors(current, names)
    if kind.startswith(("MODEL", "TABLE")):
        return _starting(current, map(Candidate, names.models()))
    if kind.startswith("RUN"):
        return _starting(current, starmap(Candidate, names.runs()))
    if kind == "CODE":
        return _starting(current, map(Candidate, names.diagnostics()))
    return {"FILE": Completion("files"), "DIR": Completion("folders")}.get(kind, Completion())


def _selectors(current: str, names: ProjectNames) -> Completion:
    """The last part of an intersection, behind its operators."""
    at = current.rfind(",") + 1
    if operator := _OPERATORS.match(current, at):
        at = operator.end()
    before, start = current[:at], current[at:]
    if start.startswith("tag:"):
        answer = _starting(start, (Candidate(f"tag:{tag}") for tag in names.tags()))
    elif start.startswith("path:"):
        answer = _starting(start, (Candidate(f"path:{folder}") for folder in names.folders()))
    elif start.startswith("state:"):
        answer = _starting(start, (Candidate(f"state:{state}") for state in STATES))
    else:
        models = _by_model(start, names.models())
        methods = _starting(start, _METHODS).candidates if start or not models else ()
        answer = Completion("open" if methods and not models else "words", (*models, *methods))
    return Completion(answer.kind, tuple(Candidate(before + value, help) for value, help in answer.candidates))


def _by_model(start: str, models: Iterable[str]) -> tuple[Candidate, ...]:
    """By the whole name; where none begins so, by the last part, if that is written alone."""
    listed = tuple(models)
    whole = tuple(Candidate(name) for name in listed if name.lower().startswith(start.lower()))
    last = {name: name.rpartition(".")[2] for name in listed} if not whole and "." not in start else {}
    return whole or tuple(Candidate(name) for name in _unique(last) if name.lower().startswith(start.lower()))


def _unique(names: Mapping[str, str]) -> list[str]:
    short = list(names.values())
    return [name for name in short if short.count(name) == 1]


def _starting(start: str, candidates: Iterable[Candidate]) -> Completion:
    return Completion("words", tuple(candidate for candidate in candidates if candidate.value.startswith(start)))
