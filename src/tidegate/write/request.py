"""What a strategy is asked to write, and what it did."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.project.model import ModelSettings
from tidegate.quality.column_profiles import Counted, merged

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tidegate.compiler.sql.row_by_row import Obstacle

__all__ = ["BadRecords", "DriftChange", "ObservedProfile", "Touched", "WriteOutcome", "WriteRequest", "summed"]


@dataclass(slots=True)
class ObservedProfile:
    """What the rows of one write look like, filled in by whoever writes them."""

    counted: Counted | None = None


@dataclass(frozen=True, slots=True)
class Touched:
    """The result is of these keys only: what it lacks of them is gone, and of others it says nothing.

    `view` names a relation of the session with the columns `region`, without duplicates.
    """

    view: str
    region: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BadRecords:
    """Records of landing files that the result lacks, because they cannot be read.

    `frame`: `_reasons`, `_columns`, `_source_file`, `_line` and `_text` of each.
    `new_files`: those of its files that no earlier run of the model read, named as in `_source_file`.
    """

    frame: DataFrame
    new_files: frozenset[str]


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """One result for one table on one branch.

    `session` is the model's own child session, after USE <branch>: names leave out the catalog. `complete`: the result
    is the whole truth, so keys that are not in it are gone. `rebuild`: the table is made anew from the result.
    `interval`: for time_interval, the half-open range that the result replaces. `dropped_columns` maps a column that
    the query no longer gives to the ISO time since when. `has_readers`: some model reads the table, so it is worth
    finding out that no row differs. `as_difference`: few rows are expected to differ, and only those are written;
    `row_key` is what tells rows apart then, if the settings have no unique_key. `hidden`: columns, in lower case, whose
    values no message shows. `profiled`: what the rows look like is put down in `learnt`;
    `arrival`: of several rows with one key the result has the newest arrival; the text says why some of its commits
    have no order inside, so that all their rows of a key are there, and is empty where all have one.
    `obstacle`: why it has not, where it would by the settings.
    `expected_rows`: how many there may be, by what is read. `learnt`: where it is put down
    what the rows look like. `in_order`: the rows are to be appended in the order in which the result has them.
    `stamp`: to be called before a statement that commits.
    """

    session: SparkSession
    lake: BranchView
    table: TableName
    result: DataFrame
    settings: ModelSettings
    run_started_at: datetime
    complete: bool
    rebuild: bool = False
    allow_deletes: bool = False
    interval: tuple[datetime, datetime] | None = None
    dropped_columns: Mapping[str, str] = field(default_factory=dict)
    dropped_column_grace: timedelta = timedelta(days=7)
    touched: Touched | None = None
    has_readers: bool = True
    as_difference: bool = False
    row_key: tuple[str, ...] = ()
    hidden: frozenset[str] = frozenset()
    expected_rows: int = 0
    profiled: bool = False
    arrival: str | None = None
    obstacle: Obstacle | None = None
    in_order: bool = False
    learnt: ObservedProfile = field(default_factory=ObservedProfile, compare=False)
    stamp: Callable[[], None] = field(default=lambda: None, compare=False)


@dataclass(frozen=True, slots=True)
class DriftChange:
    """`action`: added, widened, narrowed, rewritten, kept, dropped or rebuilt."""

    column: str
    action: str
    before: str | None
    after: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class WriteOutcome:
    """`changed` False: not one row differs, and the branch's pointer is where it was.

    `properties` are for the table, to be set with its progress. `counted`: what the rows that were brought look like,
    if that was learnt while they were written.
    """

    rows_written: int
    rows_deleted: int
    changed: bool
    drift: tuple[DriftChange, ...] = ()
    warnings: tuple[str, ...] = ()
    dropped_columns: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    counted: Counted | None = field(default=None, compare=False)
    rows_quarantined: int = 0


def summed(outcomes: Sequence[WriteOutcome]) -> WriteOutcome:
    """Of several writes to one table, one after the other."""
    return WriteOutcome(
        rows_written=sum(o.rows_written for o in outcomes),
        rows_deleted=sum(o.rows_deleted for o in outcomes),
        changed=any(o.changed for o in outcomes),
        drift=tuple(change for o in outcomes for change in o.drift),
        warnings=tuple(dict.fromkeys(warning for o in outcomes for warning in o.warnings)),
        dropped_columns=outcomes[-1].dropped_columns,
        properties=outcomes[-1].properties,
        counted=merged([o.counted for o in outcomes]),
        rows_quarantined=sum(o.rows_quarantined for o in outcomes),
    )
