"""A check, whatever its origin, and what it asks of a table."""

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
    """`name(arguments)` as written: each argument without its quotes; `columns` are where each begins in the file.

    `keyed`: written with keys in a settings file; the arguments stand in the order of the parameters then, empty where
    one was not given, and `lines` are where each is written.

    `texts`: which arguments, from 0, look like numbers and are text, because they are written in quotes.
    """

    name: str
    arguments: tuple[str, ...] = ()
    columns: tuple[int, ...] = field(default=(), compare=False)
    keyed: bool = False
    lines: tuple[int, ...] = field(default=(), compare=False)
    texts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """A rule about one table. `name` is unique among those of a model and stage; `call` is None for a SQL test, whose
    query, of the rows that break the rule, is `source`. With a call, `source` is the text of the file that it needs: a
    check of the project's own, which is `file`, or rows to compare with. `place`: where it was declared."""

    name: str
    stage: Stage
    place: Place
    call: CheckCall | None = None
    severity: Severity = Severity.ERROR
    description: str = ""
    tags: tuple[str, ...] = ()
    remediation: str = ""
    timeout: timedelta | None = None
    source: str = ""
    file: str = ""


@dataclass(frozen=True, slots=True)
class ValueRange:
    """What is enough for a rule to hold in every row: no NaN unless `nans`, no NULL unless `nulls`, and no number below
    `low` or above `high`, nor either of them if `inside`."""

    column: str
    low: Fraction | None = None
    high: Fraction | None = None
    inside: bool = False
    nulls: bool = True
    nans: bool = False


@dataclass(frozen=True, slots=True)
class RowRule:
    """A row breaks the rule where `violates`, a condition over its columns, is true; NULL is not. The value is how
    many do, and none may. `shown`: the columns that a sample shows first. `within`: what to know of a column to know
    that no row does, without a look at the rows."""

    violates: str
    expected: str
    shown: tuple[str, ...] = ()
    within: ValueRange | None = field(default=None, compare=False)


class ColumnName(NamedTuple):
    """An argument that is a column."""

    name: str


Argument = str | int | float | bool | Decimal | timedelta | ColumnName | tuple[str, ...] | tuple[ColumnName, ...]


@dataclass(frozen=True, slots=True)
class FunctionRule:
    """A row breaks the rule where the condition that a function of the project gives is false; NULL is not.

    `file`: the function's, relative to the project, and `source` its text; `line`: where the function begins.
    `arguments`: by the names of its parameters, without those that were left out.
    """

    name: str
    file: str
    line: int
    source: str
    arguments: tuple[tuple[str, Argument], ...]
    expected: str
    shown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AggregateRule:
    """Aggregates over the whole table, by name; `value` and `passes` are expressions over those names. The check
    passes where `passes` is true, not where it is NULL. `exact`: some aggregate counts different values or sorts, so
    that it costs a shuffle. `past`: the aggregates are taken of the table as it was published last too, under their
    names with `past_` before; NULL where it was not. `of`: the column whose values the value tells of, where it is more
    than how many there are.
    """

    aggregates: tuple[tuple[str, str], ...]
    value: str
    passes: str
    expected: str
    exact: bool = False
    past: bool = False
    of: str = ""


@dataclass(frozen=True, slots=True)
class GroupRule:
    """Aggregates over the groups of rows with the same values of `keys`, among rows where `only` is true: names for
    expressions over `n`, which is `counted` of the rows of a group. `keys` are expressions. `broken` is a condition
    over `n` that tells groups to show."""

    keys: tuple[str, ...]
    only: str
    aggregates: tuple[tuple[str, str], ...]
    value: str
    passes: str
    expected: str
    broken: str
    counted: str = "count(*)"


@dataclass(frozen=True, slots=True)
class QueryRule:
    """A query of the rows that break the rule, in which `{table}` stands for the checked relation. `other`: tables
    that it reads besides."""

    sql: str
    expected: str
    other: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StaticRule:
    """Known from the columns alone."""

    passed: bool
    value: str
    expected: str


CheckRule = RowRule | FunctionRule | AggregateRule | GroupRule | QueryRule | StaticRule
