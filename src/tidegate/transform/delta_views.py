"""The Delta tables that a query reads, each at the version that was planned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from tidegate.compiler.compiled import TableRead
from tidegate.names import TableName, quote
from tidegate.sources.chunk_tables import ChunkTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["delta_views"]


def delta_views(
    session: SparkSession, reads: Iterable[TableRead], tables: Mapping[TableName, ChunkTable]
) -> Mapping[int, str]:
    """By the start of each read of a Delta table: the temporary view of `session` that stands for it, quoted.

    Raises TableMissingError where nothing has been loaded.
    """
    views: dict[TableName, str] = {}
    by_start: dict[int, str] = {}
    for read in reads:
        if read.table is None or read.table not in tables:
            continue
        if read.table not in views:
            views[read.table] = quote(_view(session, tables[read.table]))
        by_start[read.start] = views[read.table]
    return by_start


def _view(session: SparkSession, table: ChunkTable) -> str:
    name, version = f"__delta_{table.table.name}", table.require().version
    frame = session.read.format("delta").option("versionAsOf", str(version)).load(table.spark_path)
    frame.createOrReplaceTempView(name)
    return name
