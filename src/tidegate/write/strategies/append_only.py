"""append_only: adds the rows of the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.write.commits import commit_since, table_before
from tidegate.write.drift import Drift, aligned_values, apply_drift, compare_columns, replacement_drift
from tidegate.write.observed_rows import observe_added, record_added_profile
from tidegate.write.replace_table import is_rebuilt, replace_table
from tidegate.write.request import WriteOutcome, WriteRequest
from tidegate.write.staging import in_written_order, staged_table
from tidegate.write.write_columns import TableColumns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["write_append_only"]


def write_append_only(request: WriteRequest, columns: TableColumns) -> WriteOutcome:
    if is_rebuilt(request):
        changes = replacement_drift(request, columns)
        written = replace_table(request, request.result, columns)
        return WriteOutcome(written, 0, changed=True, drift=changes)
    drift = compare_columns(request, columns)
    if not drift.alters:
        return _append(request, drift, columns, request.result)
    # After the table is altered, Spark refuses a result that reads this same table: compute it first.
    with staged_table(request, request.result) as staging:
        apply_drift(request, drift)
        relation = in_written_order(staging) if request.in_order else staging.quoted
        return _append(request, drift, columns, request.session.sql(f"SELECT * FROM {relation}"))


def _append(request: WriteRequest, drift: Drift, columns: TableColumns, source: DataFrame) -> WriteOutcome:
    before = table_before(request)
    observed = observe_added(request, drift.columns)
    rows = source.selectExpr(*aligned_values(drift.columns, columns))
    (observed.of(rows) if observed else rows).writeTo(request.table.quoted).append()
    commit = commit_since(request, before)
    written = commit.count("added-records") if commit else 0
    record_added_profile(request, observed, written, drift.columns, before)
    changed = commit is not None or drift.alters
    return WriteOutcome(written, 0, changed, drift.changes, dropped_columns=drift.dropped_columns)
