"""A check as it is declared, and the kinds of rules that checks become for a table with known columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

from tidegate.problems import Place, Severity

__all__ = [
    "AggregateRule",
    "Argument",
    "Check",
    "CheckCall",
    "CheckRule",
    "ColumnName",
    "FunctionRule",
    "GroupRule",
    "QueryRule",
    "RowRule",
    "Stage",
    "StaticRule",
    "ValueRange",
]


class Stage(StrEnum):
    """When a check is run: on the result, on the branch, on main."""

    BEFORE_WRITE = "before_write"
    BEFORE_PUBLISH = "before_publish"
    AFTER_PUBLISH = "after_publish"


@dataclass(frozen=True, slots=True)
class CheckCall:
    """`name(arguments)` as written."""

    name: str

    arguments: tuple[str, ...] = ()
    """Without their quotes. Of a keyed call in the order of the parameters, empty where one is left out."""

    columns: tuple[int, ...] = field(default=(), compare=False)
    """Where in its line each argument begins."""

    keyed: bool = False
    """Written with keys in a settings file."""

    lines: tuple[int, ...] = field(default=(), compare=False)
    """Of a keyed call: the line of each argument."""

    texts: tuple[int, ...] = ()
    """Positions of arguments that look like numbers and are text, because they are written in quotes."""


@dataclass(frozen=True, slots=True)
class Check:
    """A declared rule about one table."""

    name: str
    """Unique among the checks of a model and stage."""

    stage: Stage

    place: Place
    """Where it is declared."""

    call: CheckCall | None = None
    """None for a SQL test."""

    severity: Severity = Severity.ERROR
    description: str = ""
    tags: tuple[str, ...] = ()
    remediation: str = ""
    timeout: timedelta | None = None

    source: str = ""
    """Of a SQL test its query, which returns the rows that break the rule. With a call the text of the file that it
    needs: a check of the project's own, or the rows to compare with."""

    file: str = ""
    """The file of a check of the project's own."""


@dataclass(frozen=True, slots=True)
class ValueRange:
    """The values of a column with which a rule holds in every row."""

    column: str

    low: Fraction | None = None
    high: Fraction | None = None

    inside: bool = False
    """`low` and `high` themselves are outside."""

    nulls: bool = True
    """NULL is allowed."""

    nans: bool = False
    """NaN is allowed."""


@dataclass(frozen=True, slots=True)
class RowRule:
    """No row may break it. The value of the check is the number of rows that do."""

    violates: str
    """A condition over the columns of a row, which breaks the rule where it is true; NULL is not."""

    expected: str

    shown: tuple[str, ...] = ()
    """The columns that a sample shows first."""

    within: ValueRange | None = field(default=None, compare=False)
    """Where the values of the column are known to be in this range, no row breaks the rule, and none is read."""


class ColumnName(NamedTuple):
    """An argument that is a column."""

    name: str


Argument = str | int | float | bool | Decimal | timedelta | ColumnName | tuple[str, ...] | tuple[ColumnName, ...]


@dataclass(frozen=True, slots=True)
class FunctionRule:
    """A row breaks the rule where the condition that a function of the project returns is false; NULL is not."""

    name: str

    file: str
    """Relative to the project."""

    line: int
    """Where the function begins."""

    source: str
    """The text of the file."""

    arguments: tuple[tuple[str, Argument], ...]
    """By the names of its parameters, without those that are left out."""

    expected: str
    shown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AggregateRule:
    """A condition over aggregates of the whole table."""

    aggregates: tuple[tuple[str, str], ...]
    """Name and expression of each."""

    value: str
    """An expression over the names of the aggregates: the value of the check."""

    passes: str
    """An expression over the names of the aggregates: the check passes where it is true, not where it is NULL."""

    expected: str

    exact: bool = False
    """Some aggregate counts different values or sorts, so it costs a shuffle."""

    past: bool = False
    """The aggregates are also taken of the version that was published last, as `past_` and their name; NULL where
    there is none."""

    of: str = ""
    """The column whose values the value discloses; empty where it only counts."""


@dataclass(frozen=True, slots=True)
class GroupRule:
    """A condition over aggregates of groups of rows."""

    keys: tuple[str, ...]
    """Expressions: rows with the same values of them are a group."""

    only: str
    """A condition on the rows that count."""

    aggregates: tuple[tuple[str, str], ...]
    """Name of each, and its expression over `n` of the groups."""

    value: str
    passes: str
    expected: str

    broken: str
    """A condition over `n`: which groups a sample shows."""

    counted: str = "count(*)"
    """The aggregate of the rows of a group that is called `n`."""


@dataclass(frozen=True, slots=True)
class QueryRule:
    """A query that returns the rows that break the rule."""

    sql: str
    """`{table}` in it stands for the checked relation."""

    expected: str

    other: tuple[str, ...] = ()
    """Other tables that it reads."""


@dataclass(frozen=True, slots=True)
class StaticRule:
    """Known from the columns alone."""

    passed: bool
    value: str
    expected: str


CheckRule = RowRule | FunctionRule | AggregateRule | GroupRule | QueryRule | StaticRule
