"""delete_insert and tracked: groups of rows with a key are replaced where their content differs."""

from __future__ import annotations

from tidegate.project.model import Strategy
from tidegate.write.columns import Columns
from tidegate.write.deletes import refuse_mass_delete
from tidegate.write.drift import Drift, aligned, apply_drift, compare_columns, replacement_drift
from tidegate.write.keys import check_keys, key_columns
from tidegate.write.request import WriteOutcome, WriteRequest
from tidegate.write.sql import null_safe_join
from tidegate.write.staging import RESULT, held
from tidegate.write.tables import replace_table, starts_anew
from tidegate.write.types import comparable, is_nested

__all__ = ["replace_groups", "write_groups"]

_SIDE, _NEW, _OLD, _H1, _H2 = (f"__tidegate_{name}" for name in ("side", "new", "old", "hash1", "hash2"))


def write_groups(request: WriteRequest, columns: Columns) -> WriteOutcome:
    """Duplicates are kept. Groups gone from a complete result are deleted; else they stay as they are."""
    setting = "group_key" if request.settings.strategy is Strategy.TRACKED else "unique_key"
    keys = key_columns(request, columns, setting)
    drift = None if starts_anew(request) else compare_columns(request, columns)
    if drift is None or drift.rebuild:
        changes = drift.changes if drift else replacement_drift(request, columns)
        written = replace_table(request, f"SELECT * FROM {RESULT}", columns)
        check_keys(request, request.table.quoted, keys, unique=False, setting=setting)
        return WriteOutcome(written, 0, changed=True, drift=changes)
    with held(request, f"SELECT * FROM {RESULT}") as staging:
        check_keys(request, staging.quoted, keys, unique=False, setting=setting)
        apply_drift(request, drift)
        return replace_groups(request, drift, columns, keys, staging.quoted)


def replace_groups(request: WriteRequest, drift: Drift, columns: Columns, keys: Columns, source: str) -> WriteOutcome:
    """Deletes come before inserts, so which groups differ is settled first, in a small table of its own."""
    batch = f"(SELECT {aligned(drift.columns, columns)} FROM {source})"
    compared = Columns(tuple(column for column in drift.columns if column.name in columns))
    with held(request, _changes_sql(request, compared, keys, batch), "changes") as changes:
        metadata = request.lake.table(changes)
        if metadata is None or metadata.total_records == 0:
            return WriteOutcome(0, 0, drift.alters, drift.changes, dropped_columns=drift.dropped_columns)
        row = request.session.sql(
            f"SELECT CAST(sum({_NEW}) AS bigint) AS inserted, CAST(sum({_OLD}) AS bigint) AS deleted,"
            f" count_if({_NEW} = 0) AS gone FROM {changes.quoted}"
        ).collect()[0]
        if row["gone"] and not request.allow_deletes:
            refuse_mass_delete(request, row["gone"], _group_count(request, keys))
        concerned = f"EXISTS (SELECT 1 FROM {changes.quoted} __c WHERE {null_safe_join('__c', '__r', keys.names)})"
        if row["deleted"]:
            request.session.sql(f"DELETE FROM {request.table.quoted} __r WHERE {concerned}")
        if row["inserted"]:
            request.session.sql(
                f"INSERT INTO {request.table.quoted} ({drift.columns.sql()})"
                f" SELECT {drift.columns.sql()} FROM {batch} __r WHERE {concerned}"
            )
    return WriteOutcome(row["inserted"], row["deleted"], True, drift.changes, dropped_columns=drift.dropped_columns)


def _changes_sql(request: WriteRequest, columns: Columns, keys: Columns, batch: str) -> str:
    """The groups whose rows differ, from one aggregate over both sides.

    Rows of the batch count up and rows of the table count down, so equal groups come to zero in the number of rows
    and in two independent hashes of 64 bits, in whatever order the rows are. Sums are of 32-bit halves: no overflow.
    """
    table = f"{request.table.quoted} __r"
    if not request.complete:
        table += f" WHERE EXISTS (SELECT 1 FROM {batch} __b WHERE {null_safe_join('__b', '__r', keys.names)})"
    encoded = [part for column in columns for part in _encoded(column.quoted, column.type)]
    hashes = f"xxhash64({', '.join(encoded)}) AS {_H1}, xxhash64('tidegate', {', '.join(reversed(encoded))}) AS {_H2}"
    return (
        f"SELECT {keys.sql()}, count_if({_SIDE} = 1) AS {_NEW}, count_if({_SIDE} = -1) AS {_OLD}"
        f" FROM (SELECT {keys.sql()}, 1 AS {_SIDE}, {hashes} FROM {batch}"
        f" UNION ALL SELECT {keys.sql()}, -1 AS {_SIDE}, {hashes} FROM {table})"
        f" GROUP BY {keys.sql()} HAVING sum({_SIDE}) <> 0 OR bit_xor({_H1}) <> 0"
        f" OR sum({_SIDE} * shiftright({_H2}, 32)) <> 0 OR sum({_SIDE} * ({_H2} & 4294967295)) <> 0"
    )


def _encoded(value: str, kind: object) -> tuple[str, str]:
    """What is hashed of a value: Spark's hash passes over NULL and over the bounds of nested values."""
    whole = comparable(value, kind)
    if is_nested(kind):
        whole = f"to_json(named_struct('v', {whole}), map('ignoreNullFields', 'false'))"
    return f"{value} IS NULL", whole


def _group_count(request: WriteRequest, keys: Columns) -> int:
    query = f"SELECT count(*) AS n FROM (SELECT DISTINCT {keys.sql()} FROM {request.table.quoted})"
    count: int = request.session.sql(query).collect()[0]["n"]
    return count
