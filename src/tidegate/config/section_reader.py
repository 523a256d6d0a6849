"""Typed reading of one TOML document: every problem is collected with its line, none stops the reading.

Strings may hold `${VAR}` and `${VAR:-default}`; `$${` is a plain `${`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar

from tidegate.amounts import parse_duration, parse_size
from tidegate.config.toml_lines import is_row, line_of, row
from tidegate.names import nearest
from tidegate.redaction import register

__all__ = ["SIZE", "Document", "FromEnvironment", "Section", "dotted", "substitute_variables", "unknown_key"]

T = TypeVar("T")

_BARE = re.compile(r"[\w-]+")
SIZE = re.compile(r"[1-9]\d*[kmgt]b?", re.IGNORECASE | re.ASCII)
_KINDS = {str: "text", bool: "true or false", int: "a whole number", dict: "a table", list: "a list", float: "a number"}


@dataclass
class Document:
    """A settings file that is being read."""

    name: str
    """As problems show it."""
    text: str
    problems: list[tuple[int, str]] = field(default_factory=list)

    def report(self, path: tuple[str, ...], message: str) -> None:
        self.problems.append((line_of(self.text, path), message))

    def lines(self) -> list[str]:
        return [f"{self.name}:{line}: {message}" for line, message in sorted(set(self.problems))]


class Section:
    """One table of the document. Read each known key once, then call `finish`, which reports the other keys."""

    def __init__(self, document: Document, path: tuple[str, ...], table: Any, later: Collection[str] = ()) -> None:
        self.document = document
        self.path = path
        self.later = frozenset(later)
        self.read_keys: set[str] = set()
        self.table: Mapping[str, Any] = {}
        if isinstance(table, dict):
            self.table = table
        else:
            document.report(path, f"[{dotted(path)}] must be a table, not {_describe(table)}")

    def report(self, key: str, message: str) -> None:
        self.document.report((*self.path, key), message)

    def wrong(self, key: str, expected: str, value: Any) -> None:
        self.report(key, f"{self._name(key)} must be {expected}, not {_describe(value)}")

    def raw(self, key: str) -> Any:
        """The value as written; None if it is missing."""
        self.read_keys.add(key)
        return self.table.get(key)

    def text(self, key: str, default: T) -> str | T:
        value = self.raw(key)
        if value is None:
            return default
        if not isinstance(value, str) or not value.strip():
            self.wrong(key, "a non-empty text", value)
            return default
        return str(value)

    def choice(self, key: str, choices: Collection[str], default: T) -> str | T:
        value = self.text(key, default)
        if value == default or value in choices:
            return value
        hint = nearest(str(value), choices, 1)
        suggestion = f"; did you mean '{hint[0]}'?" if hint else ""
        self.report(key, f"{self._name(key)} must be one of {', '.join(choices)}, not '{value}'{suggestion}")
        return default

    def boolean(self, key: str, default: T) -> bool | T:
        value = self.raw(key)
        if isinstance(value, FromEnvironment) and value.lower() in {"true", "false"}:
            return value.lower() == "true"
        if value is None or isinstance(value, bool):
            return default if value is None else value
        self.wrong(key, "true or false", value)
        return default

    def integer(self, key: str, default: T, least: int = 0) -> int | T:
        value = self.raw(key)
        if isinstance(value, FromEnvironment) and value.strip().isdecimal():
            value = int(value)
        if value is None:
            return default
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            self.wrong(key, f"a whole number of {least} or more", value)
            return default
        return value

    def number(self, key: str, default: T, expected: str, accepts: Callable[[float], bool]) -> float | T:
        """`expected` describes for messages what `accepts` accepts."""
        value = self.raw(key)
        if isinstance(value, FromEnvironment):
            with suppress(ValueError):
                value = float(value)
        if value is None:
            return default
        if isinstance(value, int | float) and not isinstance(value, bool) and accepts(value):
            return float(value)
        self.wrong(key, expected, value)
        return default

    def duration(self, key: str, default: timedelta) -> timedelta:
        value = self.raw(key)
        if value is None:
            return default
        if not isinstance(value, str):
            self.wrong(key, "a length of time such as '5m' or '7d'", value)
            return default
        try:
            return parse_duration(value)
        except ValueError as error:
            self.report(key, f"{self._name(key)}: {error}")
            return default

    def size(self, key: str, default: T) -> int | T:
        """Bytes."""
        value = self.text(key, None)
        if value is None:
            return default
        if not SIZE.fullmatch(value):
            self.wrong(key, "a size such as 6g or 800m", value)
            return default
        return parse_size(value)

    def table_of(self, key: str) -> Mapping[str, Any]:
        value = self.raw(key)
        if value is None or isinstance(value, dict):
            return value or {}
        self.wrong(key, "a table", value)
        return {}

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.raw(key)
        if value is None:
            return ()
        if isinstance(value, list) and all(isinstance(item, str) and item.strip() for item in value):
            return tuple(map(str, value))
        self.wrong(key, "a list of texts", value)
        return ()

    def finish(self) -> None:
        for key in self.table:
            if key in self.read_keys:
                continue
            if key in self.later:
                self.report(key, f"'{key}' in [{dotted(self.path)}] is not supported by this version; remove it")
            else:
                self.report(key, unknown_key(key, f" in [{dotted(self.path)}]", self.read_keys))

    def _name(self, key: str) -> str:
        return f"'{key}' in [{dotted(self.path)}]"


def dotted(path: Iterable[str]) -> str:
    """The path as TOML writes it in the title of a table, or of all rows of an array."""
    return ".".join(part if _BARE.fullmatch(part) else f'"{part}"' for part in path if not is_row(part))


def unknown_key(key: str, where: str, keys: Collection[str]) -> str:
    hint = nearest(key, keys, 1)
    what = f"; did you mean '{hint[0]}'?" if hint else f"; known are {', '.join(sorted(keys))}"
    return f"unknown key '{key}'{where}{what}"


def _describe(value: Any) -> str:
    if isinstance(value, str):
        return f"'{value}'" if value.strip() else "an empty text"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    return _KINDS.get(type(value), type(value).__name__)


_REFERENCE = re.compile(
    r"\$(?P<escaped>\$\{)|\$\{(?P<name>[A-Za-z_]\w*)(?P<default>:-(?P<value>[^}]*))?\}|(?P<broken>\$\{)"
)

Report = Callable[[tuple[str, ...], str], None]


class FromEnvironment(str):
    """A string from the environment: it may stand for a number or a boolean."""

    __slots__ = ()


def substitute_variables(value: Any, env: Mapping[str, str], report: Report, path: tuple[str, ...] = ()) -> Any:
    """The same value with every reference in its strings replaced; an unset variable is reported with its path."""
    if isinstance(value, str):
        return _substitute_in_text(value, env, lambda message: report(path, message))
    if isinstance(value, dict):
        return {key: substitute_variables(item, env, report, (*path, key)) for key, item in value.items()}
    if isinstance(value, list):
        return [
            substitute_variables(item, env, report, (*path, row(number)) if isinstance(item, dict) else path)
            for number, item in enumerate(value)
        ]
    return value


def _substitute_in_text(text: str, env: Mapping[str, str], report: Callable[[str], None]) -> str:
    def replace(match: re.Match[str]) -> str:
        if match["escaped"]:
            return "${"
        if match["broken"]:
            report(
                "'${' must be followed by a name and '}', as in ${VAR} or ${VAR:-default}; write $${ for a plain '${'"
            )
            return match[0]
        value = env.get(match["name"])
        register(value, match["name"])
        if match["default"] is not None:
            return value or match["value"]
        if value is None:
            report(f"environment variable {match['name']} is not set; set it, or write ${{{match['name']}:-default}}")
            return match[0]
        return value

    filled, references = _REFERENCE.subn(replace, text)
    return FromEnvironment(filled) if references else text
