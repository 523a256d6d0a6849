"""The code of a Python model, as far as its syntax tree shows what it reads, uses and is set to. It is never run here.

`tg` is known by its name, as the parameter of `model`, and wherever a name or a parameter of another function is given
it; what code reaches by other ways is not seen, and so it cannot read it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidegate.config import ZoneSettings
from tidegate.problems import Place, Problem
from tidegate.project.settings_files import SettingEntry
from tidegate.python_inputs import ReadKind

__all__ = ["PythonCallPlace", "PythonImport", "PythonQuery", "PythonRead", "PythonSource"]


@dataclass(frozen=True, slots=True)
class PythonRead:
    """One place where the code asks for an input."""

    kind: ReadKind
    name: str | None
    """As written; None where the code computes it. Empty for `tg.this()`."""

    place: Place
    zone: ZoneSettings | None = None
    """What a call of `tg.landing_zone` says about the files."""


@dataclass(frozen=True, slots=True)
class PythonQuery:
    """One call of `tg.sql`."""

    text: str | None
    """None where the code computes it."""

    place: Place
    """Where the text begins."""

    has_values: bool = False
    """Values of the run or numbers are filled in; zeros stand for them in the text."""


@dataclass(frozen=True, slots=True)
class PythonImport:
    module: str
    """In full, such as `pandas.api`; one that is relative begins with a dot."""

    place: Place

    @property
    def package(self) -> str:
        return self.module.partition(".")[0]


@dataclass(frozen=True, slots=True)
class PythonCallPlace:
    """A function that is called, in Python or in a text that may be SQL, by the last part of its name."""

    name: str
    place: Place


@dataclass(frozen=True, slots=True)
class PythonSource:
    digest: str = ""
    """Of the tree: comments, formatting, docstrings and settings do not count. Empty where it cannot be parsed."""

    reads: tuple[PythonRead, ...] = ()
    queries: tuple[PythonQuery, ...] = ()
    imports: tuple[PythonImport, ...] = ()
    """In order, those inside functions too."""

    uses: Mapping[str, Place] = field(default_factory=dict)
    """What it uses of `tg`, each at its first place."""

    variables: frozenset[str] | None = frozenset()
    """The names that it gives to `tg.var`; None where it computes one."""

    calls: tuple[PythonCallPlace, ...] = ()
    """Each function once, at its first place."""

    settings: tuple[SettingEntry, ...] = ()
    """Of the decorator."""

    comments: tuple[tuple[int, str, bool], ...] = ()
    """Lines that are a comment with an `@`: number, text, and whether they stand above the first line of code."""

    problems: tuple[Problem, ...] = ()
