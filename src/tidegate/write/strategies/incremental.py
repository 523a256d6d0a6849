"""incremental: one MERGE on the key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.names import TableName
from tidegate.write.commits import commit_since, existing_rows, refuse_mass_delete, row_key_recorded, table_before
from tidegate.write.drift import Drift, aligned, apply_drift, compare_columns, replacement_drift
from tidegate.write.few_rows import for_small_tables
from tidegate.write.key_columns import check_keys, deduplicated_rows, keeps_latest, key_columns, match_keys
from tidegate.write.replace_table import is_rebuilt, replace_table
from tidegate.write.request import WriteOutcome, WriteRequest
from tidegate.write.spark_sql import any_of
from tidegate.write.staging import RESULT, result_view, staged_table
from tidegate.write.touched_regions import upsert_few
from tidegate.write.write_columns import TableColumns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["write_incremental"]

_SMALL_BATCH, _LARGE_TABLE = 200_000, 1_000_000
"""In rows. A batch this small can be broadcast to every task that reads the table; for a small table one MERGE is
cheaper."""


def write_incremental(request: WriteRequest, columns: TableColumns) -> WriteOutcome:
    """Rows that differ are updated, new ones inserted; keys that a complete result no longer has are deleted.

    A row whose watermark is older than the one that the table has (late data) does not overwrite it, unless the result
    is complete. Updated rows have NULL in columns that the query no longer gives.
    """
    keys = key_columns(request, columns)
    if request.settings.watermark_column:
        columns.require(request.settings.watermark_column, "watermark_column", request.table)
    if not keeps_latest(request) and not request.arrival:
        return _write(request, columns, keys, request.result)
    with result_view(request):
        rows = request.session.sql(deduplicated_rows(request, RESULT, columns, keys))
        return _write(request, columns, keys, rows)


def _write(request: WriteRequest, columns: TableColumns, keys: TableColumns, rows: DataFrame) -> WriteOutcome:
    latest = keeps_latest(request)
    drift = None if is_rebuilt(request) else compare_columns(request, columns)
    if drift is None or drift.rebuild:
        changes = drift.changes if drift else replacement_drift(request, columns)
        written = replace_table(request, rows, columns)
        with for_small_tables(request.session, request.lake, request.table):
            check_keys(request, request.table.quoted, keys, unique=not latest)
        return WriteOutcome(written, 0, changed=True, drift=changes)
    with (
        staged_table(request, rows, profiled=columns) as staging,
        for_small_tables(request.session, request.lake, request.table, staging),
    ):
        if _beside_a_large_table(request, staging):
            apply_drift(request, drift)
            outcome = upsert_few(request, drift, columns, staging)
            if outcome is not None:
                return outcome
        else:
            check_keys(request, staging.quoted, keys, unique=not latest)
            apply_drift(request, drift)
        return _merge(request, drift, columns, keys, staging.quoted)


def _beside_a_large_table(request: WriteRequest, staging: TableName) -> bool:
    """A complete result is compared with all rows anyway, to delete the rows that it lacks."""
    batch = request.lake.table(staging)
    few = batch is not None and batch.total_records <= _SMALL_BATCH
    return few and not request.complete and existing_rows(request) >= _LARGE_TABLE


def _merge(
    request: WriteRequest, drift: Drift, columns: TableColumns, keys: TableColumns, staging: str
) -> WriteOutcome:
    before = table_before(request)
    with row_key_recorded(request.session, keys.names):
        request.session.sql(_merge_sql(request, drift.columns, columns, keys, staging))
    commit = commit_since(request, before)
    if commit is None:
        return WriteOutcome(0, 0, drift.alters, drift.changes, dropped_columns=drift.dropped_columns)
    inserted, updated = (commit.count(f"spark.merge-into.num-target-rows-{what}") for what in ("inserted", "updated"))
    # Spark's own count can be missing from the summary, and the guard below needs a count.
    lost = max(0, before.rows + inserted - existing_rows(request))
    deleted = commit.count("spark.merge-into.num-target-rows-deleted") or lost
    refuse_mass_delete(request, deleted, before.rows)
    written = inserted + updated or commit.count("added-records")
    return WriteOutcome(written, deleted, True, drift.changes, dropped_columns=drift.dropped_columns)


def _merge_sql(
    request: WriteRequest, table: TableColumns, batch: TableColumns, keys: TableColumns, staging: str
) -> str:
    others = table.without(keys.names)
    compared = [column for column in others if column.name in batch]
    differs = any_of(column.differs("__t", "__s") for column in compared)
    if request.settings.watermark_column and not request.complete:
        watermark = table.require(request.settings.watermark_column, "watermark_column", request.table).quoted
        differs = f"({differs}) AND (__t.{watermark} IS NULL OR __s.{watermark} >= __t.{watermark})"
    clauses = []
    if compared:
        assignments = ", ".join(f"__t.{column.quoted} = __s.{column.quoted}" for column in others)
        clauses.append(f"WHEN MATCHED AND ({differs}) THEN UPDATE SET {assignments}")
    clauses.append(f"WHEN NOT MATCHED THEN INSERT ({table.sql()}) VALUES ({table.sql('__s')})")
    if request.complete:
        clauses.append("WHEN NOT MATCHED BY SOURCE THEN DELETE")
    return (
        f"MERGE INTO {request.table.quoted} __t USING (SELECT {aligned(table, batch)} FROM {staging}) __s "
        f"ON {match_keys(request, keys, '__t', '__s')} {' '.join(clauses)}"
    )
