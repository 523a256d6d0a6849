"""Tables of the branch that live for one write: what is checked there is what is written."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager

from tidegate.errors import StrategyError
from tidegate.lake.unfinished_writes import STAGED
from tidegate.names import TableName
from tidegate.write.columns import Columns
from tidegate.write.learning import batch_scope, learn, watch
from tidegate.write.request import WriteRequest

__all__ = ["RESULT", "held", "in_written_order", "result_view"]

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


@contextmanager
def held(
    request: WriteRequest, query: str, suffix: str = "staging", learns: Columns | None = None
) -> Iterator[TableName]:
    """The rows of a query in a table beside the target, which is dropped at the end whatever happens.

    `learns`: the query's columns, where it gives the rows that are brought to the target.
    """
    table = TableName(request.table.namespace, request.table.layer, f"{request.table.name}__{suffix}")
    _refuse_foreign(request, table, suffix)
    request.lake.create_namespace(table)
    watched = watch(request, learns) if learns is not None else None
    rows = watched.sql(query) if watched else query
    try:
        request.session.sql(
            f"CREATE OR REPLACE TABLE {table.quoted} USING iceberg TBLPROPERTIES ('{STAGED}' = 'true') AS {rows}"
        )
        if watched is not None and learns is not None:
            staged = request.lake.table(table)
            count = staged.total_records if staged else 0
            learn(request, watched, count, batch_scope(request), learns, table.quoted)
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
    found = request.lake.metadata(table)
    if found is not None and found.properties.get(STAGED) != "true":
        raise StrategyError(
            f"the table {table} stands where the result of {request.table} must be staged",
            where=str(table),
            remedy=f"Rename {table.name}: names that end in __{suffix} are for tables in the making.",
        )
