"""A unit test of a model: rows that its inputs are given, and the rows that its query must give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tidegate.names import TableName
from tidegate.problems import Place

__all__ = ["Cell", "Given", "Rows", "Scalar", "UnitTest"]


@dataclass(frozen=True, slots=True)
class Scalar:
    """A plain value as its file understands it, and as it is written there: `no` is false, and a country."""

    value: Any
    text: str


Cell = Scalar | tuple[Any, ...] | Mapping[str, Any] | None
"""A plain value, a list or a mapping of cells, or NULL."""


@dataclass(frozen=True, slots=True)
class Rows:
    """`rows` have a cell per column of `columns`, NULL where a row does not name it. `sql`: a query instead of rows.

    `places`: where each column is first named.
    """

    place: Place
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    sql: str | None = None
    places: Mapping[str, Place] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Given:
    """`name`: a table as the model's query names it, a landing zone, or `this`."""

    name: str
    place: Place
    rows: Rows


@dataclass(frozen=True, slots=True)
class UnitTest:
    """`place`: where it begins. What is None was not said: the time of the test, no interval, a first run."""

    table: TableName
    name: str
    place: Place
    expect: Rows
    given: tuple[Given, ...] = ()
    description: str = ""
    vars: Mapping[str, Any] = field(default_factory=dict)
    run_started_at: str | None = None
    is_incremental: bool | None = None
    watermark_value: str | None = None
    start_date: str | None = None
    end_date: str | None = None
    ordered: bool = False

    @property
    def incremental(self) -> bool:
        """What `is_incremental()` says: a watermark is known only to a run that is not the first."""
        return self.watermark_value is not None if self.is_incremental is None else self.is_incremental
