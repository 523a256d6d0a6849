"""What the rows of a write look like, learnt from the very statement that writes them."""

from __future__ import annotations

from tidegate.quality.profile import Counted, Scope
from tidegate.write.added import added_rows
from tidegate.write.columns import Columns
from tidegate.write.commits import Standing
from tidegate.write.content import WatchedQuery, survey_of
from tidegate.write.request import WriteRequest

__all__ = ["batch_scope", "learn", "learn_added", "watch", "watch_added"]

_ADDED = "__tidegate_added"
_MANY = 200_000
"""From so many expected rows on, asking Iceberg what it knows is cheaper than to look at each row."""


def watch(request: WriteRequest, columns: Columns, hashed: bool = False) -> WatchedQuery:
    """For a statement that brings rows of these columns to a table that has no others."""
    looked_at = columns if request.profiled else Columns(())
    return WatchedQuery(request.session, columns, looked_at, hashed, request.hidden, many=_are_many(request))


def watch_added(request: WriteRequest, columns: Columns) -> WatchedQuery | None:
    """For a statement that adds rows to the table. None: Spark would compute them twice, to learn how to sort them; or
    there may be many, and of some files among others Iceberg tells nothing."""
    table = request.lake.table(request.table)
    if not request.profiled or (table is not None and table.sort_fields) or request.expected_rows > _MANY:
        return None
    return WatchedQuery(request.session, columns, columns, hashed=False, hidden=request.hidden)


def _are_many(request: WriteRequest) -> bool:
    table = request.lake.table(request.table)
    return max(request.expected_rows, table.total_records if table else 0) > _MANY


def batch_scope(request: WriteRequest) -> Scope:
    """What a staged result is of: where it is complete, the table becomes just that; scd2 keeps versions of it."""
    whole = request.complete and request.touched is None and not request.settings.traits.keeps_versions
    return "table" if whole else "written"


def learn(
    request: WriteRequest, watched: WatchedQuery, rows: int, scope: Scope, columns: Columns, relation: str
) -> None:
    """`rows` are what the statement wrote; `relation` has them now, and is asked only where some were counted twice."""
    if not request.profiled:
        return
    found = watched.counted(rows, scope, relation)
    if found is None:
        found = Counted(rows, (), scope) if _are_many(request) else _asked(request, relation, columns, scope)
    request.learnt.counted = found


def learn_added(
    request: WriteRequest, watched: WatchedQuery | None, rows: int, columns: Columns, before: Standing
) -> None:
    """The same for rows that were added to what the table had `before`."""
    if not request.profiled:
        return
    found = watched.counted(rows, "written", request.table.quoted) if watched else None
    if found is None and request.expected_rows > _MANY:
        found = Counted(rows, (), "written")
    elif found is None:
        metadata = request.lake.table(request.table)
        former = metadata.snapshots.get(before.snapshot_id) if metadata and before.snapshot_id is not None else None
        since = former.sequence_number if former else 0
        added = added_rows(request.session, request.table, metadata, since) if metadata else None
        if added is not None:
            added.createOrReplaceTempView(_ADDED)
            found = _asked(request, _ADDED, columns, "written")
            request.session.catalog.dropTempView(_ADDED)
    request.learnt.counted = found


def _asked(request: WriteRequest, relation: str, columns: Columns, scope: Scope) -> Counted:
    survey = survey_of(columns, request.hidden)
    return survey.read(request.session.sql(survey.over(relation)).collect()[0]["told"], scope)
