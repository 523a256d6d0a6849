"""Small relations of one write, kept by Spark: a table of their own would cost a commit."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tidegate.write.request import WriteRequest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["kept", "pinned", "sending_small_sides"]

_SENT = "spark.sql.autoBroadcastJoinThreshold"
_MOST_SENT = 64 * 2**20


@contextlib.contextmanager
def kept(session: SparkSession, query: str, view: str) -> Iterator[str]:
    """The rows of a query as a view, computed once. What Spark had to drop it computes again: see `pinned`."""
    frame = session.sql(query).persist()
    frame.createOrReplaceTempView(view)
    try:
        yield view
    finally:
        with contextlib.suppress(Exception):  # the session may be gone, and what it kept with it
            session.catalog.dropTempView(view)
            frame.unpersist()


@contextlib.contextmanager
def sending_small_sides(session: SparkSession) -> Iterator[None]:
    """Joins send up to so many bytes to every task, unless the project says how many: the table is not shuffled."""
    own = session.conf.get(_SENT, None)
    if own is not None:
        yield
        return
    session.conf.set(_SENT, str(_MOST_SENT))
    try:
        yield
    finally:
        with contextlib.suppress(Exception):  # the session may be gone, and its settings with it
            session.conf.unset(_SENT)


def pinned(request: WriteRequest) -> str:
    """The table as it is now, also for a query that is computed again after the table was written to.

    A snapshot has the columns that it was written with, so it stands for the table only while those are the same.
    """
    metadata = request.lake.table(request.table)
    current = metadata.current if metadata else None
    if metadata is None or current is None or current.schema_id != metadata.schema_id:
        return request.table.quoted
    return f"{request.table.quoted} VERSION AS OF {current.id}"
