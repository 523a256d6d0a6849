"""The request to write one result, and the outcome of the write."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from tidegate.contracts.ingestion import DeletionRules
from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.project.model import ModelSettings
from tidegate.quality.column_profiles import Counted, merged

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tidegate.compiler.sql.row_by_row import Obstacle

__all__ = [
    "DELETED",
    "DELETED_AT",
    "IS_DELETED",
    "SNAPSHOT",
    "BadRecords",
    "DeleteRequest",
    "DeletionCounts",
    "DriftChange",
    "ObservedProfile",
    "SourceSnapshot",
    "Touched",
    "WriteOutcome",
    "WriteRequest",
    "summed",
]

DELETED = "__tidegate_deleted"
"""A column of the result of a contract: the row says that its key is deleted. It is never written."""

SNAPSHOT = "__tidegate_snapshot"
"""A column that names the complete snapshot of its source that a row is part of."""

IS_DELETED, DELETED_AT = "_is_deleted", "_deleted_at"
"""Columns of a table of current state whose deleted rows are flagged."""


@dataclass(slots=True)
class ObservedProfile:
    """The profile of the rows of one write, filled in by the statement that writes them."""

    counted: Counted | None = None


@dataclass(frozen=True, slots=True)
class Touched:
    """The result covers these keys only: a row of them that it lacks is gone; rows of other keys stay."""

    view: str
    """A relation of the session with the keys, without duplicates."""

    region: tuple[str, ...]
    """The columns of `view`."""


@dataclass(frozen=True, slots=True)
class BadRecords:
    """Records of landing files that the result lacks, because they cannot be read."""

    frame: DataFrame
    """`_reasons`, `_columns`, `_source_file`, `_line` and `_text` of each."""

    new_files: frozenset[str]
    """The files that no earlier run of the model read, named as in `_source_file`."""


@dataclass(frozen=True, slots=True)
class SourceSnapshot:
    name: str
    taken: datetime
    whole: bool = True
    """False: rows of it are missing or have no key, so a key that it lacks may be there."""


@dataclass(frozen=True, slots=True)
class DeleteRequest:
    """How a contract's table follows the deletes of its source."""

    rules: DeletionRules

    present: str | None = None
    """A relation of the session with the keys that each of the snapshots has, those of quarantined rows included, the
    name of the SNAPSHOT, and `_commit_time` and `_sequence` of the newest row of the key in it. None: nothing is
    deleted by inference."""

    snapshots: tuple[SourceSnapshot, ...] = ()
    """Those of `present`, in the order in which they were taken."""

    tombstones: str | None = None
    """A relation with the key, `_commit_time` and `_sequence` of the delete signals of bronze that are not older than
    all rows of the batch: rows that are not newer than the one of their key do not bring it back. None: only the table
    itself is compared."""


@dataclass(frozen=True, slots=True)
class DeletionCounts:
    """What became of the delete signals of a batch, and of rows that came too late."""

    applied: int = 0
    """Live keys that were deleted, by a signal or by inference."""

    ignored_late: int = 0
    """Signals and rows that are older than what was applied to their key."""

    unknown: int = 0
    """Signals for keys that have no live row."""

    revived: int = 0
    """Keys that were deleted and have a live row again. In a table that removes deleted rows they are new keys."""

    def __add__(self, other: DeletionCounts) -> DeletionCounts:
        return DeletionCounts(
            self.applied + other.applied,
            self.ignored_late + other.ignored_late,
            self.unknown + other.unknown,
            self.revived + other.revived,
        )


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """One result for one table on one branch."""

    session: SparkSession
    """The model's own child session. Its current catalog is the branch, so names leave it out."""

    lake: BranchView
    table: TableName
    result: DataFrame
    settings: ModelSettings
    run_started_at: datetime

    complete: bool
    """The result holds everything there is, so keys that are not in it are gone."""

    rebuild: bool = False
    """The table is rebuilt from the result."""

    allow_deletes: bool = False

    deletion: DeleteRequest | None = None
    """None: rows that say that their key is deleted are left out."""

    interval: tuple[datetime, datetime] | None = None
    """Of time_interval: the half-open range that the result replaces."""

    dropped_columns: Mapping[str, str] = field(default_factory=dict)
    """Columns that the query no longer returns, each with the ISO time since when."""

    dropped_column_grace: timedelta = timedelta(days=7)

    touched: Touched | None = None
    """The keys that the result covers; None for all."""

    has_readers: bool = True
    """Some model reads the table, so it is worth finding out that no row differs."""

    as_difference: bool = False
    """Few rows are expected to differ, and only those are written."""

    row_key: tuple[str, ...] = ()
    """With `as_difference`: the columns that identify a row, if the settings have no unique_key."""

    hidden: frozenset[str] = frozenset()
    """Columns, in lower case, whose values no message may show."""

    expected_rows: int = 0
    """An estimate, from what is read."""

    reads_few: bool = False
    """All that the result is computed from is known to be few rows."""

    profiled: bool = False
    """The profile of the rows is recorded in `observed`."""

    arrival: str | None = None
    """Not None: of several rows with one key the result has the newest arrival. The text is the reason why some of its
    commits have no order inside, so that all their rows of a key are there; empty where all have one."""

    obstacle: Obstacle | None = None
    """Why the newest arrival is not known, although the settings ask for it."""

    in_order: bool = False
    """Rows are appended in the order in which the result has them."""

    observed: ObservedProfile = field(default_factory=ObservedProfile, compare=False)

    stamp: Callable[[], None] = field(default=lambda: None, compare=False)
    """Called before each statement that commits."""


@dataclass(frozen=True, slots=True)
class DriftChange:
    column: str

    action: str
    """added, widened, narrowed, rewritten, kept, dropped or rebuilt"""

    before: str | None
    after: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class WriteOutcome:
    rows_written: int
    rows_deleted: int

    changed: bool
    """False: no row differs, and the branch's pointer is where it was."""

    drift: tuple[DriftChange, ...] = ()
    warnings: tuple[str, ...] = ()
    dropped_columns: Mapping[str, str] = field(default_factory=dict)

    properties: Mapping[str, str] = field(default_factory=dict)
    """For the table, set together with its progress."""

    counted: Counted | None = field(default=None, compare=False)
    """The profile of the written rows, if it was taken while they were written."""

    rows_quarantined: int = 0

    deletions: DeletionCounts | None = None
    """None where the strategy applies no deletes of a source."""


def summed(outcomes: Sequence[WriteOutcome]) -> WriteOutcome:
    """The outcome of several writes to one table, one after the other."""
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
        deletions=_added([o.deletions for o in outcomes if o.deletions is not None]),
    )


def _added(counts: Sequence[DeletionCounts]) -> DeletionCounts | None:
    return sum(counts, DeletionCounts()) if counts else None
