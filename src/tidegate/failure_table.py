"""What the exceptions of the world mean: the table failure_table.toml, by class, error condition, SQLSTATE or status.

`make docs` writes docs/failures.md from it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from tidegate.errors import FailureKind

__all__ = ["By", "Rule", "deciding_rule", "markdown", "rule_for", "rule_for_class", "rule_for_words", "rules"]


class By(StrEnum):
    """The fact that a rule looks at."""

    JAVA = "java"
    PYTHON = "python"
    CONDITION = "condition"
    SQLSTATE = "sqlstate"
    SQLITE = "sqlite"
    SQLSERVER = "sqlserver"
    STATUS = "status"
    ERRNO = "errno"
    GRPC = "grpc"
    WORDS = "words"


@dataclass(frozen=True, slots=True)
class Rule:
    origin: str
    by: By
    names: tuple[str, ...]
    kind: FailureKind
    means: str
    remedy: str | None = None
    decides: bool = False
    """It takes precedence over the causes of the exception."""
    of: str | None = None
    """Its words count in messages of this class only."""


@cache
def rules() -> tuple[Rule, ...]:
    """In the order of the file."""
    text = files("tidegate").joinpath("failure_table.toml").read_text(encoding="utf-8")
    return tuple(map(_rule, tomllib.loads(text)["rules"]))


def _rule(entry: Mapping[str, Any]) -> Rule:
    fields = {**entry, "by": By(entry["by"]), "kind": FailureKind(entry["kind"]), "names": tuple(entry["names"])}
    return Rule(**fields)


def rule_for(by: By, name: str | int) -> Rule | None:
    """The rule of a code, or of what it is part of: `SQLITE_IOERR` for `SQLITE_IOERR_READ`, `5xx` for 503. Not so a
    SQLSTATE, whose class is too general: look up its first two characters."""
    rules = _by_name()
    return next((rule for part in _parts(by, str(name)) if (rule := rules.get((by, part)))), None)


def rule_for_class(classes: Sequence[str]) -> Rule | None:
    """Of an exception's class and those it is derived from, nearest first. Java and Python share no names."""
    rules = _by_name()
    matches = (rules.get((by, name)) for name in classes for by in (By.JAVA, By.PYTHON))
    return next(filter(None, matches), None)


def rule_for_words(message: str, classes: Sequence[str], *, of_class: bool) -> Rule | None:
    """`of_class` True: the rules for words of these classes; False: those for words of any."""
    return next(
        (
            rule
            for rule in rules()
            if rule.by is By.WORDS
            and (rule.of in classes if of_class else rule.of is None)
            and any(words in message for words in rule.names)
        ),
        None,
    )


def deciding_rule(classes: Sequence[str]) -> Rule | None:
    rule = rule_for_class(classes)
    return rule if rule is not None and rule.decides else None


@cache
def _by_name() -> Mapping[tuple[By, str], Rule]:
    return MappingProxyType(
        {(rule.by, name): rule for rule in rules() if rule.by is not By.WORDS for name in rule.names}
    )


def _parts(by: By, name: str) -> Iterator[str]:
    yield name
    if by is By.CONDITION:
        yield name.partition(".")[0]
    elif by is By.SQLITE:
        while "_" in name:
            name = name.rpartition("_")[0]
            yield name
    elif by is By.STATUS:
        yield f"{name[:1]}xx"


def markdown() -> str:
    """The page docs/failures.md."""
    return "\n".join(_page()) + "\n"


_OPENING = """\
# Failures

Every failure of a model, a source or a run has a *kind*, which `run --json` gives as `failure_kind`. The kind says what
is done about it. This page is written from `src/tidegate/failure_table.toml` by `make docs`.

| kind | tried again | |
|---|---|---|"""

_READING = """\

How a kind is found: the exception is followed down to what caused it, and the innermost one that a table below knows
counts: by its code first (condition, SQLSTATE, HTTP status, the database's own), then by its class and those it is
derived from, then, where there is nothing else, by words of its message. A SQLSTATE that is not listed counts by its
first two characters. What is marked *decides* counts whatever caused it. What no table knows is `Unknown`, and is not
tried again. Java classes are shown here without their packages."""

_HEADINGS = {
    By.JAVA: "Java class",
    By.PYTHON: "Python class",
    By.CONDITION: "error condition",
    By.SQLSTATE: "SQLSTATE",
    By.SQLITE: "result code",
    By.SQLSERVER: "error number",
    By.STATUS: "HTTP status",
    By.ERRNO: "errno",
    By.GRPC: "gRPC status",
    By.WORDS: "words in a message",
}


def _page() -> Iterator[str]:
    yield _OPENING
    for kind in FailureKind:
        yield f"| `{kind}` | {_again(kind)} | {_cell(kind.means)} |"
    yield _READING
    for origin in dict.fromkeys(rule.origin for rule in rules()):
        yield ""
        yield f"## {origin[0].upper()}{origin[1:]}"
        yield ""
        yield "| recognised by | | kind | |"
        yield "|---|---|---|---|"
        yield from (_row(rule) for rule in rules() if rule.origin == origin)


def _again(kind: FailureKind) -> str:
    return "yes" if kind.is_transient else "no, and the run stops" if kind.stops_run else "no"


def _row(rule: Rule) -> str:
    what = _HEADINGS[rule.by] + (f" of `{_short(rule.of)}`" if rule.of else "") + (", decides" if rule.decides else "")
    labels = map(_short, rule.names) if rule.by is By.JAVA else rule.names
    names = ", ".join(f"`{name}`" for name in dict.fromkeys(labels))
    means = f"{rule.means[0].upper()}{rule.means[1:]}." + (f" {rule.remedy}" if rule.remedy else "")
    return f"| {what} | {_cell(names)} | `{rule.kind}` | {_cell(means)} |"


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
