"""Writes only the rows in which a full result differs from the table, so that readers get a small delta."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidegate.lake.branch_catalog import Pointer, PointerKind
from tidegate.lake.metadata import TableMetadata
from tidegate.names import TableName
from tidegate.write.commits import partly_written, row_key_recorded
from tidegate.write.observed_rows import HASHES, hash_columns
from tidegate.write.request import WriteRequest
from tidegate.write.spark_sql import null_safe_join
from tidegate.write.staging import staged_table
from tidegate.write.write_columns import TableColumns

__all__ = ["DifferenceCounts", "write_difference"]

_SIDE, _NEW, _OLD, _OP = (f"__tidegate_{name}" for name in ("side", "new", "old", "op"))
_NO_KEY = ("map", "variant", "float", "double")
_FEW = 10
"""If more than one row in this many differs, the whole table is cheaper to write and to read."""


@dataclass(frozen=True, slots=True)
class DifferenceCounts:
    written: int
    deleted: int


def write_difference(request: WriteRequest, columns: TableColumns, before: TableMetadata) -> DifferenceCounts | None:
    """Call it when the table has become the result, and was `before`, of the same columns.

    The rows that differ are staged, the table is restored, and they are merged into it. None: the table still is the
    result, because no key identifies its rows, or because too many of them differ.
    """
    keys = _keys(request, columns)
    if keys is None or before.current is None:
        return None
    then = f"{request.table.quoted} VERSION AS OF {before.current.id}"
    with staged_table(request, _touched_sql(request, columns, keys, then), "changes") as touched:
        counts = request.session.sql(
            f"SELECT count_if({_OLD} = 0) AS inserted, count_if({_NEW} = 0) AS deleted, count(*) AS touched,"
            f" count_if({_NEW} > 1 OR {_OLD} > 1) AS repeated FROM {touched.quoted}"
        ).collect()[0]
        after = request.lake.table(request.table)
        most = max(before.total_records, after.total_records if after else 0)
        if counts["repeated"] or counts["touched"] == 0 or counts["touched"] * _FEW > most:
            return None
        with staged_table(request, _rows_sql(request, columns, keys, touched, then)) as rows:
            only_updates = not counts["inserted"] and not counts["deleted"]
            changed = _changed_columns(request, columns, keys, rows) if only_updates else None
            request.lake.restore(request.table, Pointer(PointerKind.TABLE, before.location))
            with row_key_recorded(request.session, keys.names, changed):
                _merge(request, columns, keys, rows, counts["inserted"], counts["touched"] - counts["inserted"])
    return DifferenceCounts(counts["touched"] - counts["deleted"], counts["deleted"])


def _keys(request: WriteRequest, columns: TableColumns) -> TableColumns | None:
    key_columns = [columns.get(name) for name in request.settings.unique_key or request.row_key]
    keys = TableColumns(tuple(column for column in key_columns if column is not None))
    # A MERGE leaves the key as it is, and 0.0 is the same key as -0.0, though it is another value.
    usable = len(keys) == len(key_columns) > 0 and not any(key.type.contains(*_NO_KEY) for key in keys)
    return keys if usable else None


def _touched_sql(request: WriteRequest, columns: TableColumns, keys: TableColumns, then: str) -> str:
    """Keys whose rows differ or are more than one: how many there are now and were then, from one narrow aggregate."""

    def side(sign: int, relation: str) -> str:
        return f"SELECT {keys.sql()}, {sign} AS {_SIDE}, {', '.join(hash_columns(columns))} FROM {relation}"

    halves = [half for name in HASHES for half in (f"shiftright({name}, 32)", f"({name} & 4294967295)")]
    differs = " OR ".join(f"sum({_SIDE} * {half}) <> 0" for half in halves)
    return (
        f"SELECT {keys.sql()}, count_if({_SIDE} = 1) AS {_NEW}, count_if({_SIDE} = -1) AS {_OLD}"
        f" FROM ({side(1, request.table.quoted)} UNION ALL {side(-1, then)}) GROUP BY {keys.sql()}"
        f" HAVING {_NEW} <> {_OLD} OR {differs} OR {_NEW} > 1 OR {_OLD} > 1"
    )


def _rows_sql(request: WriteRequest, columns: TableColumns, keys: TableColumns, touched: TableName, then: str) -> str:
    """The rows to insert, update and delete; `before` holds updated rows as they were."""
    same = null_safe_join("__r", "__c", keys.names)
    now = f"IF(__c.{_OLD} = 0, 'insert', 'update') AS {_OP} FROM {request.table.quoted} __r"
    was = f"IF(__c.{_NEW} = 0, 'delete', 'before') AS {_OP} FROM (SELECT * FROM {then}) __r"
    return " UNION ALL ".join(
        f"SELECT {columns.sql('__r')}, {side} JOIN {touched.quoted} __c ON {same}" for side in (now, was)
    )


def _changed_columns(
    request: WriteRequest, columns: TableColumns, keys: TableColumns, rows: TableName
) -> Sequence[str]:
    others = columns.without(keys.names)
    differ = ", ".join(f"bool_or({column.differs('__n', '__o')}) AS c{at}" for at, column in enumerate(others))
    row = request.session.sql(
        f"SELECT {differ} FROM (SELECT * FROM {rows.quoted} WHERE {_OP} = 'update') __n"
        f" JOIN (SELECT * FROM {rows.quoted} WHERE {_OP} = 'before') __o ON {null_safe_join('__o', '__n', keys.names)}"
    ).collect()[0]
    return [column.name for at, column in enumerate(others) if row[f"c{at}"] or not column.is_compared_exactly]


def _merge(
    request: WriteRequest, columns: TableColumns, keys: TableColumns, rows: TableName, inserted: int, matched: int
) -> None:
    """A MERGE that also inserts would have to shuffle the whole table; the rows to insert are known to be new."""
    others = columns.without(keys.names)
    clauses = [f"WHEN MATCHED AND __s.{_OP} = 'delete' THEN DELETE"]
    if len(others):
        assignments = ", ".join(f"__t.{column.quoted} = __s.{column.quoted}" for column in others)
        clauses.append(f"WHEN MATCHED THEN UPDATE SET {assignments}")
    source = f"(SELECT * FROM {rows.quoted} WHERE {_OP} IN ('update', 'delete'))"
    if matched:
        with partly_written(request.session, if_any=inserted > 0):
            request.session.sql(
                f"MERGE INTO {request.table.quoted} __t USING {source} __s"
                f" ON {null_safe_join('__t', '__s', keys.names)} {' '.join(clauses)}"
            )
    if inserted:
        request.session.sql(
            f"INSERT INTO {request.table.quoted} ({columns.sql()})"
            f" SELECT {columns.sql()} FROM {rows.quoted} WHERE {_OP} = 'insert'"
        )
