"""append_only: adds the rows of the result."""

from __future__ import annotations

from tidegate.write.commits import commit_since, table_before
from tidegate.write.drift import Drift, aligned, apply_drift, compare_columns, replacement_drift
from tidegate.write.observed_rows import observe_added, record_added_profile
from tidegate.write.replace_table import is_rebuilt, replace_table
from tidegate.write.request import WriteOutcome, WriteRequest
from tidegate.write.staging import RESULT, in_written_order, staged_table
from tidegate.write.write_columns import TableColumns

__all__ = ["write_append_only"]


def write_append_only(request: WriteRequest, columns: TableColumns) -> WriteOutcome:
    if is_rebuilt(request):
        changes = replacement_drift(request, columns)
        written = replace_table(request, f"SELECT * FROM {RESULT}", columns)
        return WriteOutcome(written, 0, changed=True, drift=changes)
    drift = compare_columns(request, columns)
    if not drift.alters:
        return _append(request, drift, columns, RESULT)
    # After the table is altered, Spark refuses a result that reads this same table: compute it first.
    with staged_table(request, f"SELECT * FROM {RESULT}") as staging:
        apply_drift(request, drift)
        return _append(request, drift, columns, in_written_order(staging) if request.in_order else staging.quoted)


def _append(request: WriteRequest, drift: Drift, columns: TableColumns, source: str) -> WriteOutcome:
    before = table_before(request)
    observed = observe_added(request, drift.columns)
    rows = f"SELECT {aligned(drift.columns, columns)} FROM {source}"
    rows = observed.sql(rows) if observed else rows
    request.session.sql(f"INSERT INTO {request.table.quoted} ({drift.columns.sql()}) {rows}")
    commit = commit_since(request, before)
    written = commit.count("added-records") if commit else 0
    record_added_profile(request, observed, written, drift.columns, before)
    changed = commit is not None or drift.alters
    return WriteOutcome(written, 0, changed, drift.changes, dropped_columns=drift.dropped_columns)
