"""time_interval: replaces the rows of one half-open time range."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tidegate.datatypes import DATE
from tidegate.errors import StrategyError
from tidegate.faults import fault
from tidegate.write.commits import commit_since, existing_rows, partly_written, table_before
from tidegate.write.drift import Drift, aligned_values, apply_drift, compare_columns, replacement_drift
from tidegate.write.observed_rows import observe_added, record_added_profile
from tidegate.write.replace_table import PartitionField, is_rebuilt, replace_table
from tidegate.write.request import WriteOutcome, WriteRequest
from tidegate.write.spark_sql import timestamp
from tidegate.write.staging import staged_table
from tidegate.write.write_columns import TableColumn, TableColumns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["interval_condition", "write_time_interval"]

_LAYOUT = {"hour": "hour", "day": "day", "week": "day", "month": "month", "year": "year"}


def write_time_interval(request: WriteRequest, columns: TableColumns) -> WriteOutcome:
    """Rows of the result outside the range, or without a time, are not written."""
    column = _time_column(request, columns)
    inside = _range(request, column)
    layout = (PartitionField(_partitioning(request, column), column),)
    if is_rebuilt(request):
        changes = replacement_drift(request, columns)
        written = replace_table(request, request.result.where(inside), columns, layout)
        return WriteOutcome(written, 0, changed=True, drift=changes)
    drift = compare_columns(request, columns)
    if not drift.alters and _whole_partitions(request, column):
        return _replace(request, drift, columns, request.result, inside, at_once=True)
    # The result is computed before the table is altered or loses rows: it may read the table itself.
    with staged_table(request, request.result.where(inside)) as staging:
        apply_drift(request, drift, layout)
        at_once = _whole_partitions(request, column)
        return _replace(request, drift, columns, request.session.table(staging.quoted), inside, at_once=at_once)


def _replace(
    request: WriteRequest, drift: Drift, columns: TableColumns, source: DataFrame, inside: str, *, at_once: bool
) -> WriteOutcome:
    """One commit where the range consists of whole partitions; otherwise a DELETE, then an INSERT."""
    from pyspark.sql import functions as f

    before = table_before(request)
    target = request.table.quoted
    observed = observe_added(request, drift.columns)
    rows = source.where(inside).selectExpr(*aligned_values(drift.columns, columns))
    written = (observed.of(rows) if observed else rows).writeTo(target)
    if at_once:
        written.overwrite(f.expr(inside))
        commit = commit_since(request, before)
    else:
        with partly_written(request.session):
            request.session.sql(f"DELETE FROM {target} WHERE {inside}")
        commit_since(request, before)
        fault("between_commits", request.table)
        emptied = table_before(request)
        written.append()
        commit = commit_since(request, emptied)
    added = commit.count("added-records") if commit else 0
    record_added_profile(request, observed, added, drift.columns, before)
    deleted = before.rows + added - existing_rows(request)
    changed = bool(added or deleted) or drift.alters
    return WriteOutcome(added, deleted, changed, drift.changes, dropped_columns=drift.dropped_columns)


def interval_condition(request: WriteRequest, columns: TableColumns) -> str:
    """True for the rows of the result that belong to the interval, NULL for those without a time."""
    return _range(request, _time_column(request, columns))


def _time_column(request: WriteRequest, columns: TableColumns) -> TableColumn:
    if request.settings.time_column is None:
        raise StrategyError(
            "strategy time_interval needs time_column",
            where=str(request.table),
            remedy="Add time_column: the date or timestamp by which rows belong to an interval.",
        )
    column = columns.require(request.settings.time_column, "time_column", request.table)
    if not column.type.is_temporal:
        raise StrategyError(
            f"time_column '{column.name}' is {column.type_text}, and intervals need a date or a timestamp",
            where=str(request.table),
            remedy=f"Cast it in the query: CAST({column.quoted} AS timestamp).",
        )
    return column


def _range(request: WriteRequest, column: TableColumn) -> str:
    if request.interval is None:
        raise StrategyError(
            "strategy time_interval was asked to write without an interval",
            where=str(request.table),
            remedy="Run with --from and --to, or set first_partition.",
        )
    start, end = (timestamp(moment, column.type.kind) for moment in request.interval)
    return f"({column.quoted} >= {start} AND {column.quoted} < {end})"


def _partitioning(request: WriteRequest, column: TableColumn) -> str:
    unit = _LAYOUT.get(request.settings.granularity, "day")
    return "day" if unit == "hour" and column.type == DATE else unit


def _whole_partitions(request: WriteRequest, column: TableColumn) -> bool:
    """Whether the range begins and ends at partition boundaries, so that Iceberg can replace whole partitions."""
    metadata = request.lake.table(request.table)
    assert metadata is not None
    assert request.interval is not None
    ids = {field.id for field in metadata.fields if field.name.lower() == column.name.lower()}
    transforms = {f["transform"] for f in metadata.partition_fields if f["source-id"] in ids}
    return any(all(_begins(moment, transform) for moment in request.interval) for transform in transforms)


def _begins(moment: datetime, transform: str) -> bool:
    utc = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    cleared: dict[str, dict[str, int]] = {
        "hour": {"minute": 0, "second": 0, "microsecond": 0},
        "day": {"hour": 0, "minute": 0, "second": 0, "microsecond": 0},
        "month": {"day": 1, "hour": 0, "minute": 0, "second": 0, "microsecond": 0},
        "year": {"month": 1, "day": 1, "hour": 0, "minute": 0, "second": 0, "microsecond": 0},
    }
    return transform in cleared and utc == utc.replace(**cleared[transform])  # type: ignore[arg-type]
