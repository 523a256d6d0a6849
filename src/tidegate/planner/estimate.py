"""Estimates of what a step reads and how long it takes, from counts in the metadata and the model's own history."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from tidegate.lake.changes import TableChange
from tidegate.lake.metadata import TableMetadata
from tidegate.lake.progress import Progress
from tidegate.names import TableName
from tidegate.planner.cost_rule import ReaderTimes
from tidegate.planner.deltas.delta_query import TOUCHED, DeltaQuery, Image
from tidegate.planner.inputs import Inputs

__all__ = [
    "Estimate",
    "TimeEstimate",
    "estimate_all",
    "estimate_changes",
    "estimate_delta",
    "estimate_new",
    "in_seconds",
    "probable_time",
    "reader_times",
    "touched_share",
    "worth_a_difference",
]

# Seconds on two cores, as measured with `make bench`; only their proportions decide, for history scales the work.
_FULL = 0.5
"""To plan and commit a build from all rows."""
_DELTA = 0.85
"""To find touched keys, merge and insert: more jobs, more commits."""
_LOOKED_UP = 0.15
"""To collect the touched keys before their query starts, where it reads more than changed rows."""
_READ_VALUE = 2e-8
_WRITE_VALUE = 8e-8
_JOINED_ROW = 3e-7
"""Each row of every table after the first."""
_FOUND_ROW = 8e-8
"""Each row of the target, among which the touched ones are found by key."""
_BEFORE_ROW = 4e-8
"""Each row of a table, among which those that were changed are found by their mark."""
_COMPARED_ROW = 1e-6
"""Each row of a table that is compared with a new result instead of being overwritten."""
_FEW = 0.05
"""The share of a table up to which a difference is worth looking for."""
_LEAST_WORK, _MOST_WORK = 0.5, 8.0
"""How much lighter or heavier a query may be than one of its size; a last duration beyond that is an outlier."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The rows and bytes that are read, and the time; None where they are not known yet."""

    rows: int | None = None
    bytes: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class TimeEstimate:
    """The probable time with its spread, in seconds."""

    seconds: float
    low: float
    high: float
    runs: int
    """How many past runs it is based on."""


@dataclass(frozen=True, slots=True)
class _Size:
    rows: int
    bytes: int
    columns: int


def estimate_all(inputs: Inputs, own: TableMetadata | None, progress: Progress | None) -> Estimate:
    """Everything is read. Landing files have a size but no known number of rows."""
    if inputs.untracked or inputs.delta:
        return Estimate()
    sizes = _sizes(inputs, progress)
    landed = [file.size for zone in inputs.zones.values() for file in zone.files]
    rows, bytes = sum(size.rows for size in sizes.values()), sum(size.bytes for size in sizes.values()) + sum(landed)
    if landed:
        return Estimate(None, bytes, progress.full_ms / 1000 if progress and progress.full_ms else None)
    return Estimate(rows, bytes, _FULL + _work(sizes, own, progress))


def estimate_new(inputs: Inputs) -> Estimate:
    """Only rows that tables gained and new files are read; there is no history of how long that takes."""
    files = [file.size for zone in inputs.zones.values() for file in (*zone.fresh.new, *zone.fresh.replaced)]
    changes = inputs.traced.values()
    rows = None if files else sum(change.rows_written for change in changes)
    return Estimate(rows, sum(change.bytes_written for change in changes) + sum(files))


def estimate_changes(inputs: Inputs, changes: Mapping[TableName, TableChange], whole: Iterable[TableName]) -> Estimate:
    """What the code of a Python model is given: the changed rows of some tables, and others whole. What it does with
    them, and how long that takes, only its history can say."""
    if inputs.delta or inputs.untracked:
        return Estimate()
    tables = [inputs.metadata[name] for name in map(str, whole) if name in inputs.metadata]
    files = [file.size for zone in inputs.zones.values() for file in (*zone.fresh.new, *zone.fresh.replaced)]
    rows = sum(change.rows_written + change.rows_removed for change in changes.values())
    rows += sum(table.total_records for table in tables)
    read = sum(change.bytes_written for change in changes.values()) + sum(table.total_bytes for table in tables)
    return Estimate(None if files else rows, read + sum(files))


def estimate_delta(
    inputs: Inputs,
    changes: Mapping[TableName, TableChange],
    delta: DeltaQuery,
    own: TableMetadata | None,
    progress: Progress | None,
) -> Estimate:
    """Changed rows are read from the files written since; tables that the result looks up are scanned, then reduced."""
    if inputs.delta:
        return Estimate()
    sizes = _sizes(inputs, progress)
    target = own.total_records if own else 0
    rows = bytes = 0
    seconds = _DELTA + (_LOOKED_UP if TOUCHED in delta.result else 0.0) + target * _FOUND_ROW
    before = {read.table for read in delta.reads if read.image is Image.BEFORE}
    for table, change in changes.items():
        size = sizes[str(table)]
        rows, bytes = rows + change.rows_written, bytes + change.bytes_written
        seconds += change.rows_written * size.columns * _READ_VALUE
        if table in before and not change.insert_only:
            rows, bytes = rows + change.rows_removed, bytes + size.bytes // max(1, size.columns)
            seconds += change.rows_then * _BEFORE_ROW
    texts = (delta.result, *(step.sql for step in delta.steps), *(guard.sql for guard in delta.guards))
    for name, size in sizes.items():
        if any(_reads(text, name) for text in texts):
            rows, bytes = rows + size.rows, bytes + size.bytes
            seconds += size.rows * size.columns * _READ_VALUE
    # The steps read changed rows, however few rows of the target they touch.
    spread = max(change.rows_now for change in changes.values()) if delta.steps else target
    seconds += touched_share(inputs, changes, spread) * _work(sizes, own, progress)
    factor = min(max(progress.delta_factor, _LEAST_WORK), _MOST_WORK) if progress else 1.0
    return Estimate(rows, bytes, seconds * factor)


def _reads(sql: str, table: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(table)}(?!\w)", sql.replace("`", "")) is not None


def touched_share(inputs: Inputs, changes: Mapping[TableName, TableChange], target: int) -> float:
    """The share of the target that changed rows can touch: each one, or as many as a row of its table yields."""
    rows = {table: inputs.metadata[str(table)].total_records for table in changes}
    return min(1.0, sum(change.rows / max(1, min(target, rows[table])) for table, change in changes.items()))


def worth_a_difference(own: TableMetadata, touched: float, readers: Iterable[Progress]) -> bool:
    """Whether to write a recomputed table as the rows that differ: where its readers save more than that costs.

    They save the time of a build from all rows.
    """
    gain = sum(max(0.0, reader.full_ms / 1000 - _DELTA) for reader in readers)
    return touched <= _FEW and gain > own.total_records * _COMPARED_ROW


def reader_times(table: TableName, progress: Progress) -> ReaderTimes:
    """How long a reader of changes took the last time in each way; from changes at least as long as any delta."""
    last = progress.duration_ms / 1000 if progress.deltas else _DELTA
    return ReaderTimes(table, progress.full_ms / 1000, max(last, _DELTA))


def _sizes(inputs: Inputs, progress: Progress | None) -> dict[str, _Size]:
    """The size of each table, of the columns that are read."""
    sizes = {}
    for name, metadata in inputs.metadata.items():
        last_read = progress.tables.get(name) if progress else None
        columns = len(metadata.fields) if last_read is None or last_read.used is None else len(last_read.used)
        share = columns / max(1, len(metadata.fields))
        sizes[name] = _Size(metadata.total_records, round(metadata.total_bytes * share), columns)
    return sizes


def _work(sizes: Mapping[str, _Size], own: TableMetadata | None, progress: Progress | None) -> float:
    """Seconds of a build from all rows without its fixed part, scaled by the last such build where it is known."""
    rows = sorted((size.rows for size in sizes.values()), reverse=True)
    written = own.total_records * len(own.fields) if own else 0
    plain = sum(size.rows * size.columns for size in sizes.values()) * _READ_VALUE + written * _WRITE_VALUE
    plain += sum(rows[1:]) * _JOINED_ROW
    if progress is None or not progress.full_ms or not progress.full_rows:
        return plain
    measured = (progress.full_ms / 1000 - _FULL) * sum(rows) / progress.full_rows
    return min(max(measured, plain * _LEAST_WORK), plain * _MOST_WORK)


def probable_time(past_ms: Sequence[int], estimate: Estimate) -> TimeEstimate | None:
    """From past runs of the same kind, else from the estimate, which may be off by a factor of two."""
    if past_ms:
        ordered = sorted(ms / 1000 for ms in past_ms)
        return TimeEstimate(median(ordered), ordered[0], ordered[-1], len(ordered))
    if estimate.seconds is None:
        return None
    return TimeEstimate(estimate.seconds, estimate.seconds / 2, estimate.seconds * 2, 0)


def in_seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
