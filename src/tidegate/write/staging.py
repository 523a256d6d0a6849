"""Relations that live for one write: tables of the branch, so that what is checked is what is written, and views that
Spark persists, where a table would cost a commit."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING

from tidegate.errors import StrategyError
from tidegate.lake.unfinished_writes import STAGED
from tidegate.names import TableName
from tidegate.write.observed_rows import batch_scope, observe, record_profile
from tidegate.write.request import WriteOutcome, WriteRequest
from tidegate.write.write_columns import TableColumns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "RESULT",
    "in_written_order",
    "persisted_view",
    "pinned_table",
    "result_view",
    "staged_table",
    "with_result_view",
]


Writer = Callable[[WriteRequest, TableColumns], WriteOutcome]

RESULT = "__tidegate_result"
"""The model's result, as a temporary view of its own session."""


@contextmanager
def result_view(request: WriteRequest) -> Iterator[None]:
    request.result.createOrReplaceTempView(RESULT)
    try:
        yield
    finally:
        with contextlib.suppress(Exception):  # the session may be gone; the view goes with it
            request.session.catalog.dropTempView(RESULT)


def with_result_view(write: Writer) -> Writer:
    """For a strategy whose queries name RESULT."""

    @wraps(write)
    def written(request: WriteRequest, columns: TableColumns) -> WriteOutcome:
        with result_view(request):
            return write(request, columns)

    return written


@contextmanager
def staged_table(
    request: WriteRequest, query: str | DataFrame, suffix: str = "staging", profiled: TableColumns | None = None
) -> Iterator[TableName]:
    """The rows of a query in a table beside the target, which is dropped at the end whatever happens.

    `profiled`: the query's columns, where its rows are those written to the target.
    """
    table = TableName(request.table.namespace, request.table.layer, f"{request.table.name}__{suffix}")
    _refuse_foreign(request, table, suffix)
    request.lake.create_namespace(table)
    observed = observe(request, profiled) if profiled is not None else None
    rows = request.session.sql(query) if isinstance(query, str) else query
    try:
        written = (observed.of(rows) if observed else rows).writeTo(table.quoted)
        written.using("iceberg").tableProperty(STAGED, "true").createOrReplace()
        if observed is not None and profiled is not None:
            staged = request.lake.table(table)
            count = staged.total_records if staged else 0
            record_profile(request, observed, count, batch_scope(request), profiled, table)
        request.stamp()
        yield table
    finally:
        # Through the catalog, not Spark: it works in an interrupted session too, and never touches a file.
        request.lake.restore(table, None)


def in_written_order(staging: TableName) -> str:
    """A relation of the rows in the order in which they were staged.

    A data file's name begins with the number of the task that wrote it and ends with its own among the task's files.
    """
    return f"(SELECT * FROM {staging.quoted} ORDER BY element_at(split(_file, '/'), -1), _pos)"


def _refuse_foreign(request: WriteRequest, table: TableName, suffix: str) -> None:
    """A process that was killed may have left its own staging behind; anything else of that name is a user's."""
    metadata = request.lake.metadata(table)
    if metadata is not None and metadata.properties.get(STAGED) != "true":
        raise StrategyError(
            f"the table {table} stands where the result of {request.table} must be staged",
            where=str(table),
            remedy=f"Rename {table.name}: names that end in __{suffix} are for tables in the making.",
        )


@contextlib.contextmanager
def persisted_view(session: SparkSession, query: str | DataFrame, view: str, *, on_disk: bool = False) -> Iterator[str]:
    """The rows of a query as a view, computed once. Spark recomputes rows that it evicted: see `pinned_table`.

    `on_disk`: there may be many rows, so they are persisted on disk only.
    """
    from pyspark import StorageLevel

    rows = session.sql(query) if isinstance(query, str) else query
    frame = rows.persist(StorageLevel.DISK_ONLY) if on_disk else rows.persist()
    frame.createOrReplaceTempView(view)
    try:
        yield view
    finally:
        with contextlib.suppress(Exception):  # the session may be gone, and what it persisted with it
            session.catalog.dropTempView(view)
            frame.unpersist()


def pinned_table(request: WriteRequest) -> str:
    """The table as it is now, also for a query that is computed again after the table was written to.

    A snapshot has the columns that it was written with, so it stands for the table only while those are the same.
    """
    metadata = request.lake.table(request.table)
    current = metadata.current if metadata else None
    if metadata is None or current is None or current.schema_id != metadata.schema_id:
        return request.table.quoted
    return f"{request.table.quoted} VERSION AS OF {current.id}"
