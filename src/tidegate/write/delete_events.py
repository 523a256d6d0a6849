"""The rows of a contract's batch as events of their keys, with the deletes that its rows do not say themselves.

A complete snapshot deletes the keys that it lacks and that were there before, when it was taken. A delete signal of an
earlier batch (a tombstone) is an event again where a row of its key comes: the row may be older than the delete. So
whichever way and in whichever order the events of a key come, the newest decides.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidegate.compiler.table_columns import IS_CURRENT
from tidegate.contracts.ingestion import COMMIT_TIME, SEQUENCE
from tidegate.errors import MassDeleteError
from tidegate.write.commits import existing_columns
from tidegate.write.drift import aligned
from tidegate.write.request import DELETED, IS_DELETED, DeleteRequest, WriteRequest
from tidegate.write.snapshot_deletes import GONE_AT, GONE_SEQUENCE, gone_for_good_sql, gone_sql, key_in_silver
from tidegate.write.spark_sql import quote
from tidegate.write.write_columns import TableColumn, TableColumns

__all__ = [
    "ORIGIN",
    "events_sql",
    "is_later",
    "is_newer",
    "is_older",
    "newest_first",
    "refuse_deletes_of_rebuild",
    "refuse_empty_snapshot",
    "refuse_inferred_deletes",
]

ORIGIN = "__tidegate_origin"
"""Of an event: `batch`, `inferred` or `tombstone`."""

_INFERRED = f"{ORIGIN} = 'inferred'"


def events_sql(
    request: WriteRequest,
    table: TableColumns,
    batch: TableColumns,
    keys: TableColumns,
    source: str,
    live: str | None,
) -> str:
    """A SELECT of the rows of `source` and of the other deletes, in the columns of the table, with DELETED and ORIGIN.

    `batch`: the columns of `source`, but for DELETED.
    `live`: a query for the keys of the table that are not deleted; None: there is no table yet.
    """
    says_deleted = DELETED in request.result.columns
    deleted = f"coalesce({quote(DELETED)}, false)" if says_deleted else "false"
    parts = [f"SELECT {aligned(table, batch)}, {deleted} AS {DELETED}, 'batch' AS {ORIGIN} FROM {source}"]
    deletion = request.deletion
    if deletion is not None and deletion.present is not None and any(one.whole for one in deletion.snapshots):
        parts.append(_inferred(deletion, table, keys, live))
    if deletion is not None and deletion.tombstones is not None:
        event = _delete(table, keys, "__x", f"__x.{quote(COMMIT_TIME)}", f"__x.{quote(SEQUENCE)}", "tombstone")
        comes = f"EXISTS (SELECT 1 FROM {source} __b WHERE {_same_key(keys, '__x', '__b')})"
        parts.append(f"SELECT {event} FROM {deletion.tombstones} __x WHERE {comes}")
    return " UNION ALL ".join(parts)


def _inferred(deletion: DeleteRequest, table: TableColumns, keys: TableColumns, live: str | None) -> str:
    event = _delete(table, keys, "__g", f"__g.{GONE_AT}", f"__g.{GONE_SEQUENCE}", "inferred")
    return f"SELECT {event} FROM ({gone_sql(deletion, keys, live)}) __g"


def _delete(table: TableColumns, keys: TableColumns, relation: str, time: str, sequence: str, origin: str) -> str:
    known = {COMMIT_TIME: time, SEQUENCE: sequence, **{key.name.lower(): key_in_silver(key, relation) for key in keys}}
    values = (f"CAST({known.get(c.name.lower(), 'NULL')} AS {c.type_sql}) AS {c.quoted}" for c in table)
    return f"{', '.join(values)}, true AS {DELETED}, '{origin}' AS {ORIGIN}"


def _same_key(keys: TableColumns, bronze: str, silver: str) -> str:
    return " AND ".join(f"{key_in_silver(key, bronze)} = {silver}.{key.quoted}" for key in keys)


def newest_first(identity: Iterable[TableColumn], frame: str = "") -> str:
    """A window over the events of one identity. `frame`: its ROWS clause, if it has one.

    At one time and sequence a snapshot is newer than the row: it lacks the key that an earlier one had.
    """
    partition = ", ".join(column.quoted for column in identity)
    newest = f"{quote(COMMIT_TIME)} DESC, coalesce({quote(SEQUENCE)}, '') DESC, {_INFERRED} DESC"
    return f"(PARTITION BY {partition} ORDER BY {newest}, {ORIGIN} {frame})"


def is_later(event: str, sequence: str) -> str:
    """Whether an event comes after a row of the same time, which has this sequence."""
    return f"({event}{_INFERRED} OR coalesce({event}{quote(SEQUENCE)}, '') > coalesce({sequence}, ''))"


def is_newer(event: str, row: str) -> str:
    """Whether an event is newer than a row of the table; a row without a time is older than all events."""
    return _is_after(event, row, is_later(f"{event}.", f"{row}.{quote(SEQUENCE)}"))


def is_older(event: str, row: str) -> str:
    later = f"coalesce({row}.{quote(SEQUENCE)}, '') > coalesce({event}.{quote(SEQUENCE)}, '')"
    return _is_after(row, event, later)


def _is_after(one: str, other: str, later: str) -> str:
    time = quote(COMMIT_TIME)
    return (
        f"({other}.{time} IS NULL OR coalesce({one}.{time} > {other}.{time}, false)"
        f" OR coalesce({one}.{time} = {other}.{time}, false) AND {later})"
    )


def refuse_empty_snapshot(request: WriteRequest, live: str | None) -> None:
    """A snapshot without any key is a failed read until a person says otherwise. `live` as for `events_sql`."""
    if request.deletion is None or request.deletion.present is None or live is None:
        return
    if request.session.sql(f"SELECT 1 FROM {request.deletion.present} LIMIT 1").collect():
        return
    if keys := _count(request, live):
        raise MassDeleteError(
            f"the snapshot is empty, which would delete all {keys} live key{'s' if keys != 1 else ''} of the table",
            where=str(request.table),
            remedy=(
                "Find out why the source delivered nothing, and ingest it again: an empty snapshot never deletes, "
                "not even with --allow-deletes. If the source has no rows any more, drop the table."
            ),
        )


def refuse_deletes_of_rebuild(request: WriteRequest, keys: TableColumns) -> None:
    """The same protection for a table that is rebuilt, by the keys that live in it now: a snapshot that a run refused
    is in bronze, and a changed contract must not bring it in."""
    deletion, table = request.deletion, request.table.quoted
    if deletion is None or deletion.present is None or request.allow_deletes or not request.lake.table(request.table):
        return
    columns = existing_columns(request)
    if any(key.name not in columns for key in keys):
        return
    is_live = quote(IS_CURRENT) if IS_CURRENT in columns else "true"
    if IS_DELETED in columns:
        is_live = f"NOT coalesce({quote(IS_DELETED)}, false)"
    live = f"SELECT {keys.sql()} FROM {table} WHERE {is_live}"
    same = " AND ".join(f"{key_in_silver(key, '__l')} = __g.{key.quoted}" for key in keys)
    gone = f"SELECT 1 FROM ({live}) __l LEFT SEMI JOIN ({gone_for_good_sql(deletion, keys)}) __g ON {same}"
    refuse_inferred_deletes(request, _count(request, gone), live)


def refuse_inferred_deletes(request: WriteRequest, gone: int, live: str) -> None:
    """Protects a table from a snapshot that lacks more keys than the contract expects."""
    if request.deletion is None or not gone or request.allow_deletes:
        return
    keys, most = _count(request, live), request.deletion.rules.max_ratio
    if gone > most * keys:
        raise MassDeleteError(
            f"the snapshot lacks {gone} of {keys} live keys, and deletion_max_ratio lets one run delete "
            f"{most:.0%} of them at most",
            where=str(request.table),
            remedy=(
                "Check that the source delivered everything; if the deletes are right, run again with --allow-deletes, "
                "or raise deletion_max_ratio in the contract."
            ),
        )


def _count(request: WriteRequest, query: str) -> int:
    count: int = request.session.sql(f"SELECT count(*) AS n FROM ({query})").collect()[0]["n"]
    return count
