"""Problems in a project's files that are found while reading them. The compiler shows them with its own diagnostics."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Place", "Problem", "Severity", "did_you_mean", "not_toml", "not_yaml", "toml_reason"]


class Severity(StrEnum):
    ERROR = "error"
    WARN = "warn"


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a file of the project; `line` and `col` count from 1."""

    file: str
    line: int = 1
    col: int = 1


@dataclass(frozen=True, slots=True)
class Problem:
    code: str
    """Stable, in CamelCase."""
    message: str
    place: Place
    severity: Severity = Severity.ERROR
    suggestion: str | None = None
    model: str | None = None
    """The table's short name, where the problem is one model's."""


def did_you_mean(names: tuple[str, ...]) -> str | None:
    if not names:
        return None
    return f"did you mean {' or '.join(names)}?"


def not_toml(error: tomllib.TOMLDecodeError, text: str, file: str) -> Problem:
    """Python's error about a broken TOML file, at the place that its message names."""
    at = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
    place = Place(file, int(at[1]), int(at[2])) if at else Place(file, text.count("\n") + 1)
    reason, fix = toml_reason(error)
    return Problem("UnreadableFile", f"not valid TOML: {reason}", place, suggestion=fix)


def toml_reason(error: tomllib.TOMLDecodeError) -> tuple[str, str | None]:
    """What is wrong with a TOML file, without the place, and what to do where that is known."""
    reason = re.sub(r"\s*\(at .*\)$", "", str(error))
    if name := re.search(r"\('.*'.*\)", reason):
        section = ".".join(re.findall(r"'([^']*)'", name[0]))
        if reason.startswith("Cannot declare"):
            return f"[{section}] is there twice", f"write all settings of [{section}] under one heading"
        return f"'{section}' is written in two places", "write it in one place"
    if reason == "Cannot overwrite a value":
        return "a key is there twice", "keep one of the two lines"
    return reason[:1].lower() + reason[1:], None


def not_yaml(error: Exception, file: str) -> Problem:
    """From an error of the YAML parser, which has a mark where it knows the place."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    reason = getattr(error, "problem", None) or getattr(error, "context", None) or error
    place = Place(file, mark.line + 1, mark.column + 1) if mark else Place(file)
    return Problem("UnreadableFile", f"not valid YAML: {reason}".splitlines()[0], place)
