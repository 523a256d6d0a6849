"""The steps of a delta as views, and its guards: what has to be known of the rows before a delta can be trusted."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tidegate.lake.metadata import TableMetadata
from tidegate.names import TableName
from tidegate.planner.deltas.delta_query import OWN, DeltaQuery
from tidegate.write.staging import persisted_view

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["delta_steps"]


@contextlib.contextmanager
def delta_steps(
    session: SparkSession, delta: DeltaQuery, table: TableName, own: TableMetadata | None
) -> Iterator[str | None]:
    """Make each step a view until the end; the images must be bound. Gives why all rows must be read instead, if so.

    `own`: the model's own table, before anything is written.
    """
    with contextlib.ExitStack() as views:
        if delta.reads_own:
            session.sql(f"SELECT * FROM {_pinned(table, own)}").createOrReplaceTempView(OWN)
            views.callback(_drop, session, OWN)
        for step in delta.steps:
            views.enter_context(persisted_view(session, step.sql, step.name))
        yield next((guard.why for guard in delta.guards if session.sql(guard.sql).head(1)), None)


def _pinned(table: TableName, own: TableMetadata | None) -> str:
    """Rows that Spark evicted are computed again, also after the table was written to."""
    current = own.current if own else None
    if own is None or current is None or current.schema_id != own.schema_id:
        return table.quoted
    return f"{table.quoted} VERSION AS OF {current.id}"


def _drop(session: SparkSession, view: str) -> None:
    with contextlib.suppress(Exception):  # the session may be gone, and its views with it
        session.catalog.dropTempView(view)
