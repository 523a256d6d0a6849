"""What is wrong with a project's files, found while reading them. The compiler shows these with its own findings."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Place", "Problem", "Severity", "did_you_mean"]


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
    """`code` is stable CamelCase; `model` the table's short name, where the problem is one model's."""

    code: str
    message: str
    place: Place
    severity: Severity = Severity.ERROR
    suggestion: str | None = None
    model: str | None = None


def did_you_mean(names: tuple[str, ...]) -> str | None:
    if not names:
        return None
    return f"did you mean {' or '.join(names)}?"
