"""What is wrong with a contract, and where in its file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tidegate.contracts.yaml_document import Path, YamlDocument, path_text
from tidegate.errors import ContractValidationError
from tidegate.problems import Problem

__all__ = ["Issue", "problems_of", "validation_error", "value_text", "yaml_error"]


@dataclass(frozen=True, slots=True)
class Issue:
    path: Path
    """Of the value that is wrong, or of the one that lacks something."""
    message: str
    suggestion: str | None = None


def value_text(value: Any) -> str:
    """What a contract says, for "not …"."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (dict, list)):
        return "keys and values" if isinstance(value, dict) else "a list"
    text = "empty" if value is None else repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"


def problems_of(document: YamlDocument, issues: Iterable[Issue]) -> tuple[Problem, ...]:
    """Each issue once, in the order of the file."""
    problems = [
        Problem("InvalidContract", issue.message, document.place(issue.path), suggestion=issue.suggestion)
        for issue in dict.fromkeys(issues)
    ]
    return tuple(sorted([*document.problems, *problems], key=lambda problem: (problem.place.line, problem.place.col)))


def yaml_error(problems: Iterable[Problem], file: str) -> ContractValidationError:
    """For a file that is no YAML at all."""
    lines = [f"line {problem.place.line}: {problem.message}" for problem in problems]
    return ContractValidationError("YAML", lines, file)


def validation_error(document: YamlDocument, issues: Iterable[Issue], purpose: str) -> ContractValidationError:
    unique = list(dict.fromkeys(issues))
    lines = [f"line {problem.place.line}: {problem.message}" for problem in document.problems]
    for issue in sorted(unique, key=lambda issue: document.place(issue.path).line):
        place, path = document.place(issue.path), path_text(issue.path)
        where = f"line {place.line}: {path}" if path else f"line {place.line}"
        lines.append(f"{where}: {issue.message}" + (f" ({issue.suggestion})" if issue.suggestion else ""))
    return ContractValidationError(purpose, lines, document.file)
