"""snapshot: replaces the partitions that the result has."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tidegate.errors import StrategyError
from tidegate.write.commits import commit_since, existing_rows, table_before
from tidegate.write.drift import Drift, aligned_values, apply_drift, compare_columns, replacement_drift
from tidegate.write.observed_rows import observe_added, record_added_profile
from tidegate.write.replace_table import PartitionField, is_rebuilt, replace_table
from tidegate.write.request import WriteOutcome, WriteRequest
from tidegate.write.staging import staged_table
from tidegate.write.strategies.groups import replace_groups
from tidegate.write.write_columns import TableColumn, TableColumns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["write_snapshot"]


def write_snapshot(request: WriteRequest, columns: TableColumns) -> WriteOutcome:
    if request.settings.partition_column is None:
        raise StrategyError(
            "strategy snapshot needs partition_column",
            where=str(request.table),
            remedy="Add partition_column: the column whose values are replaced as a whole.",
        )
    column = columns.require(request.settings.partition_column, "partition_column", request.table)
    layout = (PartitionField("identity", column),)
    if is_rebuilt(request):
        changes = replacement_drift(request, columns)
        written = replace_table(request, request.result, columns, layout)
        return WriteOutcome(written, 0, changed=True, drift=changes)
    drift = compare_columns(request, columns)
    by_partition = _is_partitioned_by(request, column)
    if by_partition and not drift.alters:
        return _overwrite(request, drift, columns, request.result)
    with staged_table(request, request.result, profiled=columns) as staging:
        apply_drift(request, drift, layout)
        if by_partition:
            return _overwrite(request, drift, columns, request.session.table(staging.quoted))
        # An overwrite by partition would delete rows of other values, or leave some: replace by value instead.
        return replace_groups(replace(request, complete=False), drift, columns, TableColumns((column,)), staging.quoted)


def _is_partitioned_by(request: WriteRequest, column: TableColumn) -> bool:
    """Whether each value of the column is exactly one partition."""
    metadata = request.lake.table(request.table)
    assert metadata is not None
    ids = {field.id for field in metadata.fields if field.name.lower() == column.name.lower()}
    return [(f["transform"], f["source-id"] in ids) for f in metadata.partition_fields] == [("identity", True)]


def _overwrite(request: WriteRequest, drift: Drift, columns: TableColumns, source: DataFrame) -> WriteOutcome:
    before = table_before(request)
    observed = observe_added(request, drift.columns)
    rows = source.selectExpr(*aligned_values(drift.columns, columns))
    (observed.of(rows) if observed else rows).writeTo(request.table.quoted).overwritePartitions()
    commit = commit_since(request, before)
    written = commit.count("added-records") if commit else 0
    record_added_profile(request, observed, written, drift.columns, before)
    deleted = before.rows + written - existing_rows(request)
    changed = commit is not None or drift.alters
    return WriteOutcome(written, deleted, changed, drift.changes, dropped_columns=drift.dropped_columns)
