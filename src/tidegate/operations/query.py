"""Reading main: every table of a query as of one moment."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING
from uuid import uuid4

from tidegate.compiler import bind_adhoc
from tidegate.compiler.adhoc import AsOf, refused
from tidegate.compiler.sql.queries import SqlFault
from tidegate.config import Settings
from tidegate.datatypes import NOTHING_KNOWN, Relation
from tidegate.errors import FailureKind, LakeError, QueryError, TidegateError
from tidegate.lake import Heads, open_catalog, read_metadata
from tidegate.lake.branch_catalog import BranchCatalog
from tidegate.lake.iceberg_types import relation_of
from tidegate.lake.metadata import TableMetadata
from tidegate.lake.unfinished_writes import RUN_ID, intermediate_snapshots, snapshot_at, state_before
from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.operations.query_result import QueryResult
from tidegate.planner.plan_size import work_on_tables
from tidegate.quality import plain
from tidegate.runs.damage import missing_file_behind
from tidegate.sources.chunk_tables import ChunkTable, chunk_tables
from tidegate.spark.session import child_session, open_spark
from tidegate.spark.spark_errors import read_failure
from tidegate.transform.delta_views import delta_views

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "NO_COUNTS_FROM_STATISTICS",
    "pinned_heads",
    "query",
    "query_arrow",
    "whole_snapshot",
]

NO_COUNTS_FROM_STATISTICS = ("spark.sql.iceberg.aggregate-push-down.enabled", "false")
"""Iceberg answers counts from files' statistics, which lack the hidden metadata columns, and fails."""


@contextlib.contextmanager
def pinned_heads(catalog: BranchCatalog) -> Iterator[str]:
    """A copy of main's pointers, taken in one read, that nothing else moves; gone afterwards."""
    name = f"read-{datetime.now(UTC):%Y%m%d-%H%M%S}-{uuid4().hex[:8]}"
    catalog.create_branch(name)
    try:
        yield name
    finally:
        catalog.drop_branch(name)


def query(
    settings: Settings,
    sql: str,
    limit: int | None = 1000,
    root: SparkSession | None = None,
    notify: Callable[[str], None] = lambda line: None,
) -> QueryResult:
    """Run one SELECT on main as it is now. Anything that is not a query is refused before Spark starts."""
    with _pinned_frame(settings, sql, root, notify) as frame:
        names = _distinct(frame.columns)
        types = [field.dataType.simpleString() for field in frame.schema.fields]
        rows = (frame if limit is None else frame.limit(limit + 1)).collect()
    more = limit is not None and len(rows) > limit
    limited = rows[:limit] if more else rows
    records = tuple(dict(zip(names, plain(list(row)), strict=True)) for row in limited)
    return QueryResult(tuple(zip(names, types, strict=True)), records, more)


def query_arrow(
    settings: Settings, sql: str, root: SparkSession | None = None, notify: Callable[[str], None] = lambda line: None
) -> pyarrow.Table:
    """All rows of one SELECT on main as it is now, as an Arrow table with Spark's types."""
    with _pinned_frame(settings, sql, root, notify) as frame:
        return frame.toDF(*_distinct(frame.columns)).toArrow()


@contextlib.contextmanager
def _pinned_frame(
    settings: Settings, sql: str, root: SparkSession | None, notify: Callable[[str], None]
) -> Iterator[DataFrame]:
    catalog = open_catalog(settings)
    heads = catalog.head()
    delta = chunk_tables(settings)
    typed = bind_adhoc(sql, settings, {*heads, *delta}, columns_of=partial(_columns_of, heads, delta))
    for table in delta.keys() & {read.table for read in typed.reads}:
        delta[table].require()  # Spark need not start for a table that is not there
    work = work_on_tables(heads, (read.table for read in typed.reads))
    session = open_spark(settings, notify, root, work)
    with pinned_heads(catalog) as branch:
        child = child_session(session, catalog.spark_conf(branch), catalog.spark_catalog(branch))
        child.conf.set(*NO_COUNTS_FROM_STATISTICS)
        lake = BranchView(catalog, branch)
        try:
            bound = bind_adhoc(sql, settings, {*lake.heads(), *delta}, whole_snapshot(lake, child, delta))
            views = delta_views(child, bound.reads, delta)
            yield child.sql(bound.substitute(lambda read: views.get(read.start)))
        except TidegateError:
            raise
        except Exception as error:
            explained = _explained(error, sql)
            if explained.kind is FailureKind.NOT_FOUND:
                read = [read.table for read in typed.reads if read.table is not None]
                raise missing_file_behind(heads, read, settings.project.namespace) or explained from error
            raise explained from error


def _columns_of(heads: Heads, delta: Mapping[TableName, ChunkTable], table: TableName) -> Relation:
    if table in delta:
        return delta[table].relation
    try:
        return relation_of(read_metadata(heads[table]).fields)
    except LakeError:
        return NOTHING_KNOWN  # Spark will fail with the same, and report more of it


def _explained(error: Exception, sql: str) -> QueryError:
    """With the place in the query, where Spark names the part at fault and that part occurs once."""
    failure = read_failure(error)
    if failure.fragment and sql.count(failure.fragment) == 1:
        fault = SqlFault(str(failure.kind), failure.message, sql.index(failure.fragment), failure.remedy)
        explained: QueryError = refused(sql, [fault])
    else:
        explained = QueryError(failure.message, where="the query", remedy=failure.remedy)
    explained.kind = failure.kind
    return explained


def _distinct(names: list[str]) -> list[str]:
    """A join may give a name twice; the second `id` is shown as `id_2`, so that neither is lost."""
    distinct: list[str] = []
    for name in names:
        number, unique = 2, name
        while unique in distinct:
            unique, number = f"{name}_{number}", number + 1
        distinct.append(unique)
    return distinct


def whole_snapshot(
    lake: BranchView, session: SparkSession, delta: Collection[TableName] = ()
) -> Callable[[TableName, AsOf], int | None]:
    """For a table and its clause: the snapshot to read instead; None where the clause may stay.

    A time in the middle of a write means the state before it; a snapshot that is named by its id is refused there.
    """

    def whole_state(table: TableName, clause: AsOf) -> int | None:
        if table in delta:
            raise QueryError(
                f"{table.layer}.{table.name} is a Delta table, which is read at its last version",
                where="the query",
                remedy=f"Leave {clause.kind} AS OF out.",
            )
        metadata = lake.table(table)
        middle = intermediate_snapshots(metadata) if metadata is not None else frozenset()
        if metadata is None or not middle:
            return None
        if clause.kind == "VERSION":
            version = clause.value.strip("'\" ")
            if version.isdigit() and int(version) in middle:
                raise _no_state(table, metadata, int(version))
            return None
        snapshot = snapshot_at(metadata, _milliseconds(session, clause.value))
        if snapshot is None or snapshot not in middle:
            return None
        before = state_before(metadata, snapshot)
        if before is None:
            raise _no_state(table, metadata, snapshot)
        return before

    return whole_state


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
        " more than one commit: no run left the table in that state",
        where="the query",
        remedy=f"VERSION AS OF {after.id} is the state that the write left, {earlier}.",
    )
