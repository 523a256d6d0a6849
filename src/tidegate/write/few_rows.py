"""Spark settings for statements over a few rows: fewer jobs, each of which takes longer to plan than to run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.spark.session import temporary_conf
from tidegate.write.request import WriteRequest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["FEW_ROWS", "for_few_rows", "for_few_rows_read", "for_small_tables", "into_one_file"]

_SENT = "spark.sql.autoBroadcastJoinThreshold"
_ADAPTIVE = "spark.sql.adaptive.enabled"
_PARTS = "spark.sql.shuffle.partitions"
FEW_ROWS = 50_000
"""Up to so many, one task writes one file."""


@contextlib.contextmanager
def for_few_rows(session: SparkSession) -> Iterator[None]:
    """Spark settings that join a few rows with large tables in as few jobs as possible; settings of the project win.

    Joins broadcast up to this many bytes, so that the large side is not shuffled. On one machine a query is planned
    once: each of the stages that Spark would plan again costs more than it can save.
    """
    settings = {_SENT: str(64 * 2**20)}
    if _is_local(session):
        settings[_ADAPTIVE] = "false"
    with temporary_conf(
        session, {name: value for name, value in settings.items() if session.conf.get(name, None) is None}
    ):
        yield


@contextlib.contextmanager
def into_one_file(session: SparkSession, rows: int) -> Iterator[None]:
    """Under `for_few_rows`: what is shuffled on the way to the table, so few rows, goes through one task."""
    sent = session.conf.get(_SENT, "0").removesuffix("b")
    fits = rows <= FEW_ROWS and sent.isdecimal() and int(sent) >= 10 * 2**20
    with temporary_conf(session, {_PARTS: "1"} if fits and _is_local(session) else {}):
        yield


@contextlib.contextmanager
def for_few_rows_read(request: WriteRequest) -> Iterator[None]:
    """For the statement that computes the result, where it reads few rows and no others are in the table."""
    table = request.lake.table(request.table)
    if not request.reads_few or (table is not None and table.total_records > FEW_ROWS):
        yield
        return
    with for_few_rows(request.session), into_one_file(request.session, request.expected_rows):
        yield


@contextlib.contextmanager
def for_small_tables(session: SparkSession, lake: BranchView, *tables: TableName) -> Iterator[None]:
    """For statements over these tables: `for_few_rows` where all of them are small, and one task after a shuffle."""
    found = [metadata for table in tables if (metadata := lake.table(table)) is not None]
    rows = max((metadata.total_records for metadata in found), default=0)
    if rows > FEW_ROWS:
        yield
        return
    with for_few_rows(session), into_one_file(session, rows):
        yield


def _is_local(session: SparkSession) -> bool:
    return str(session.conf.get("spark.master", "")).startswith("local")
