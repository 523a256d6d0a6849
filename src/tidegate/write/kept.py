"""Relations of one write, kept by Spark: a table of their own would cost a commit."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tidegate.spark.session import settings_for_now
from tidegate.write.request import WriteRequest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["FEW_ROWS", "for_few_rows", "into_one_file", "kept", "pinned"]

_SENT = "spark.sql.autoBroadcastJoinThreshold"
_ADAPTIVE = "spark.sql.adaptive.enabled"
_PARTS = "spark.sql.shuffle.partitions"
FEW_ROWS = 50_000
"""Up to so many, one task writes one file."""


@contextlib.contextmanager
def kept(session: SparkSession, query: str | DataFrame, view: str, *, on_disk: bool = False) -> Iterator[str]:
    """The rows of a query as a view, computed once. What Spark had to drop it computes again: see `pinned`.

    `on_disk`: they may be many, and take no memory.
    """
    from pyspark import StorageLevel

    rows = session.sql(query) if isinstance(query, str) else query
    frame = rows.persist(StorageLevel.DISK_ONLY) if on_disk else rows.persist()
    frame.createOrReplaceTempView(view)
    try:
        yield view
    finally:
        with contextlib.suppress(Exception):  # the session may be gone, and what it kept with it
            session.catalog.dropTempView(view)
            frame.unpersist()


@contextlib.contextmanager
def for_few_rows(session: SparkSession) -> Iterator[None]:
    """Settings under which few rows meet large tables in as few jobs as can be; what the project itself says stays.

    Joins send up to so many bytes to every task, so that the large side is not shuffled. On one machine a query is
    planned once: each of the stages that Spark would plan anew costs more than it can save.
    """
    wanted = {_SENT: str(64 * 2**20)}
    if _is_local(session):
        wanted[_ADAPTIVE] = "false"
    with settings_for_now(
        session, {name: value for name, value in wanted.items() if session.conf.get(name, None) is None}
    ):
        yield


@contextlib.contextmanager
def into_one_file(session: SparkSession, rows: int) -> Iterator[None]:
    """Under `for_few_rows`: what is shuffled on the way to the table, so few rows, goes through one task."""
    sent = session.conf.get(_SENT, "0").removesuffix("b")
    fits = rows <= FEW_ROWS and sent.isdecimal() and int(sent) >= 10 * 2**20
    with settings_for_now(session, {_PARTS: "1"} if fits and _is_local(session) else {}):
        yield


def _is_local(session: SparkSession) -> bool:
    return str(session.conf.get("spark.master", "")).startswith("local")


def pinned(request: WriteRequest) -> str:
    """The table as it is now, also for a query that is computed again after the table was written to.

    A snapshot has the columns that it was written with, so it stands for the table only while those are the same.
    """
    metadata = request.lake.table(request.table)
    current = metadata.current if metadata else None
    if metadata is None or current is None or current.schema_id != metadata.schema_id:
        return request.table.quoted
    return f"{request.table.quoted} VERSION AS OF {current.id}"
