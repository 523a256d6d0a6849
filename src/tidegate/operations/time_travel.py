"""VERSION AS OF and TIMESTAMP AS OF, held to states that a run meant."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tidegate.compiler.as_of import AsOf
from tidegate.errors import QueryError
from tidegate.lake.metadata import TableMetadata
from tidegate.lake.partial import RUN_ID, intermediate_snapshots, snapshot_at, state_before
from tidegate.lake.view import BranchView
from tidegate.names import TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["settled_state"]


def settled_state(lake: BranchView, session: SparkSession) -> Callable[[TableName, AsOf], int | None]:
    """For a table and its clause: the snapshot to read instead; None where the clause may stay as it is.

    A time in the middle of a write means the state before it; a snapshot that is asked for by its id is refused there.
    """

    def settled(table: TableName, clause: AsOf) -> int | None:
        metadata = lake.table(table)
        middle = intermediate_snapshots(metadata) if metadata is not None else frozenset()
        if metadata is None or not middle:
            return None
        if clause.kind == "VERSION":
            wanted = clause.value.strip("'\" ")
            if wanted.isdigit() and int(wanted) in middle:
                raise _no_state(table, metadata, int(wanted))
            return None
        found = snapshot_at(metadata, _milliseconds(session, clause.value))
        if found is None or found not in middle:
            return None
        before = state_before(metadata, found)
        if before is None:
            raise _no_state(table, metadata, found)
        return before

    return settled


def _milliseconds(session: SparkSession, value: str) -> int:
    """As Iceberg takes a time, in whole milliseconds."""
    row = session.sql(f"SELECT unix_millis(CAST({value} AS timestamp)) AS ms").collect()[0]
    if row["ms"] is None:
        raise QueryError(
            f"TIMESTAMP AS OF {value} is no time",
            where="the query",
            remedy="Write it as TIMESTAMP AS OF '2026-01-31 12:00:00'; times are in UTC.",
        )
    return int(row["ms"])


def _no_state(table: TableName, metadata: TableMetadata, snapshot_id: int) -> QueryError:
    snapshot, before = metadata.snapshots[snapshot_id], state_before(metadata, snapshot_id)
    middle = intermediate_snapshots(metadata)
    later = [s for s in metadata.snapshots.values() if s.sequence_number > snapshot.sequence_number]
    after = min((s for s in later if s.id not in middle), key=lambda s: s.sequence_number)
    earlier = "the one before it has expired" if before is None else f"VERSION AS OF {before} the one before it"
    return QueryError(
        f"snapshot {snapshot_id} of {table} is in the middle of a write of {snapshot.summary.get(RUN_ID)}, which took"
        " more than one commit: no run meant that state",
        where="the query",
        remedy=f"VERSION AS OF {after.id} is the state that the write left, {earlier}.",
    )
