"""delete_insert and tracked: replace the groups of rows with the same key whose content differs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from tidegate.faults import fault
from tidegate.write.commits import partly_written, refuse_mass_delete, row_key_recorded, table_before
from tidegate.write.drift import Drift, aligned, apply_drift, compare_columns, replacement_drift
from tidegate.write.few_rows import for_small_tables
from tidegate.write.key_columns import check_keys, key_columns
from tidegate.write.observed_rows import HASHES, hash_columns, observe_added, record_added_profile
from tidegate.write.replace_table import is_rebuilt, replace_table
from tidegate.write.request import WriteOutcome, WriteRequest
from tidegate.write.spark_sql import null_safe_join
from tidegate.write.staging import persisted_view, pinned_table, staged_table
from tidegate.write.write_columns import TableColumns

__all__ = ["replace_groups", "write_groups"]

_CHANGES = "__tidegate_changes"
_SIDE, _NEW, _OLD, _GOES = (f"__tidegate_{name}" for name in ("side", "new", "old", "goes"))
_H1, _H2 = HASHES


def write_groups(request: WriteRequest, columns: TableColumns) -> WriteOutcome:
    """Duplicates are retained. Groups that a complete result no longer has are deleted; otherwise they stay."""
    setting = request.settings.traits.key_setting
    assert setting is not None
    keys = key_columns(request, columns, setting)
    drift = None if is_rebuilt(request) else compare_columns(request, columns)
    if drift is None or drift.rebuild:
        changes = drift.changes if drift else replacement_drift(request, columns)
        written = replace_table(request, request.result, columns)
        check_keys(request, request.table.quoted, keys, unique=False, setting=setting)
        return WriteOutcome(written, 0, changed=True, drift=changes)
    with (
        staged_table(request, request.result, profiled=columns) as staging,
        for_small_tables(request.session, request.lake, request.table, staging),
    ):
        check_keys(request, staging.quoted, keys, unique=False, setting=setting)
        apply_drift(request, drift)
        return replace_groups(request, drift, columns, keys, staging.quoted)


def replace_groups(
    request: WriteRequest,
    drift: Drift,
    columns: TableColumns,
    keys: TableColumns,
    source: str,
    within: str | None = None,
) -> WriteOutcome:
    """Find the groups that differ, then replace them in one commit.

    `within`: a relation with the keys in scope; those that the source lacks are deleted. For a few groups a DELETE and
    an INSERT are cheaper than one MERGE, which shuffles the table; the first commit is marked as partial.
    """
    batch = f"(SELECT {aligned(drift.columns, columns)} FROM {source})"
    compared = TableColumns(tuple(column for column in drift.columns if column.name in columns))
    with _settled(request, _changes_sql(request, compared, keys, batch, within), within) as changes:
        row = request.session.sql(
            f"SELECT CAST(sum({_NEW}) AS bigint) AS inserted, CAST(sum({_OLD}) AS bigint) AS deleted,"
            f" count_if({_NEW} = 0) AS gone FROM {changes}"
        ).collect()[0]
        if row["inserted"] is None:
            return WriteOutcome(0, 0, drift.alters, drift.changes, dropped_columns=drift.dropped_columns)
        if row["gone"] and not request.allow_deletes and not request.settings.traits.replaces_table:
            refuse_mass_delete(request, row["gone"], _group_count(request, keys))
        with row_key_recorded(request.session, keys.names):
            if within is None and row["deleted"] and row["inserted"]:
                request.session.sql(_merge_sql(request, drift.columns, keys, batch, changes))
            else:
                _delete_and_insert(request, drift, keys, batch, changes, row.asDict(), profiled=within is not None)
    return WriteOutcome(row["inserted"], row["deleted"], True, drift.changes, dropped_columns=drift.dropped_columns)


def _merge_sql(request: WriteRequest, columns: TableColumns, keys: TableColumns, batch: str, changes: str) -> str:
    """Rows to insert match nothing, and a key to delete is there once, so no row of the table is matched twice."""
    bare = (
        f"CAST({column.quoted if column.name in keys else 'NULL'} AS {column.type_sql}) AS {column.quoted}"
        for column in columns
    )
    source = (
        f"SELECT {columns.sql()}, false AS {_GOES} FROM {batch} __r WHERE {_is_among(changes, keys)}"
        f" UNION ALL SELECT {', '.join(bare)}, true AS {_GOES} FROM {changes} WHERE {_OLD} > 0"
    )
    return (
        f"MERGE INTO {request.table.quoted} __t USING ({source}) __s"
        f" ON __s.{_GOES} AND {null_safe_join('__t', '__s', keys.names)} WHEN MATCHED THEN DELETE"
        f" WHEN NOT MATCHED AND NOT __s.{_GOES} THEN INSERT ({columns.sql()}) VALUES ({columns.sql('__s')})"
    )


def _delete_and_insert(
    request: WriteRequest,
    drift: Drift,
    keys: TableColumns,
    batch: str,
    changes: str,
    counts: Mapping[str, int],
    *,
    profiled: bool,
) -> None:
    concerned = _is_among(changes, keys)
    before, observed = table_before(request), observe_added(request, drift.columns) if profiled else None
    if counts["deleted"]:
        with partly_written(request.session, if_any=counts["inserted"] > 0):
            request.session.sql(f"DELETE FROM {request.table.quoted} __r WHERE {concerned}")
    if counts["deleted"] and counts["inserted"]:
        fault("between_commits", request.table)
    if counts["inserted"]:
        rows = request.session.sql(f"SELECT {drift.columns.sql()} FROM {batch} __r WHERE {concerned}")
        (observed.of(rows) if observed else rows).writeTo(request.table.quoted).append()
        if profiled:
            record_added_profile(request, observed, counts["inserted"], drift.columns, before)


def _is_among(changes: str, keys: TableColumns) -> str:
    return f"EXISTS (SELECT 1 FROM {changes} __c WHERE {null_safe_join('__c', '__r', keys.names)})"


@contextlib.contextmanager
def _settled(request: WriteRequest, query: str, within: str | None) -> Iterator[str]:
    """The groups that differ. For touched keys they are few, so they are persisted instead of staged."""
    if within is None:
        with staged_table(request, query, "changes") as changes:
            yield changes.quoted
        return
    with persisted_view(request.session, query, _CHANGES) as view:
        yield view


def _changes_sql(
    request: WriteRequest, columns: TableColumns, keys: TableColumns, batch: str, within: str | None
) -> str:
    """The groups whose rows differ, from one aggregate over both sides.

    Rows of the batch count up and rows of the table count down, so for equal groups the row count and both independent
    64-bit hashes are zero, in any order of the rows. Sums are of 32-bit halves: no overflow.
    """
    table = f"{request.table.quoted if within is None else pinned_table(request)} __r"
    only = batch if within is None and not request.complete else within
    if only is not None:
        table += f" WHERE EXISTS (SELECT 1 FROM {only} __b WHERE {null_safe_join('__b', '__r', keys.names)})"
    hashes = ", ".join(hash_columns(columns))
    return (
        f"SELECT {keys.sql()}, count_if({_SIDE} = 1) AS {_NEW}, count_if({_SIDE} = -1) AS {_OLD}"
        f" FROM (SELECT {keys.sql()}, 1 AS {_SIDE}, {hashes} FROM {batch}"
        f" UNION ALL SELECT {keys.sql()}, -1 AS {_SIDE}, {hashes} FROM {table})"
        f" GROUP BY {keys.sql()} HAVING sum({_SIDE}) <> 0 OR bit_xor({_H1}) <> 0"
        f" OR sum({_SIDE} * shiftright({_H2}, 32)) <> 0 OR sum({_SIDE} * ({_H2} & 4294967295)) <> 0"
    )


def _group_count(request: WriteRequest, keys: TableColumns) -> int:
    query = f"SELECT count(*) AS n FROM (SELECT DISTINCT {keys.sql()} FROM {request.table.quoted})"
    count: int = request.session.sql(query).collect()[0]["n"]
    return count
