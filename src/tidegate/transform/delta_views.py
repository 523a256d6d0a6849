"""The Delta tables that a query reads, each at the version that was planned, and what changed in them until then."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from tidegate.compiler.compiled import TableRead
from tidegate.errors import QueryError
from tidegate.lake.changes import TableChange
from tidegate.names import TableName, literal, quote
from tidegate.planner.deltas.delta_query import CHANGE_TYPES, DeltaQuery, Image
from tidegate.sources.chunk_tables import ChunkTable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["delta_image", "delta_views", "with_delta_views"]

ChunkTables = Mapping[TableName, ChunkTable]


def delta_views(session: SparkSession, reads: Iterable[TableRead], tables: ChunkTables) -> Mapping[int, str]:
    """By the start of each read of a Delta table: the temporary view of `session` that stands for it, quoted.

    Raises TableMissingError where nothing has been loaded.
    """
    places = {read.start: read.table for read in reads if read.table is not None and read.table in tables}
    views = {table: _view(session, tables[table]) for table in set(places.values())}
    return {start: views[table] for start, table in places.items()}


def with_delta_views(session: SparkSession, delta: DeltaQuery, tables: ChunkTables) -> DeltaQuery:
    """The same query over the views of Delta tables, which it names in full."""
    if not tables:
        return delta
    return delta.with_texts(lambda sql: _over_views(session, sql, tables))


def delta_image(session: SparkSession, table: ChunkTable, image: Image, change: TableChange) -> DataFrame:
    """The change feed has each version of a row since it was read, see CHANGE_TYPES."""
    if image is Image.THEN:
        return _version(session, table, change.then_id)
    reader = session.read.format("delta").option("readChangeFeed", "true")
    reader = reader.option("startingVersion", str(change.then_id + 1)).option("endingVersion", str(change.now_id))
    kinds = ", ".join(map(literal, CHANGE_TYPES[image]))
    columns = [quote(column.name) for column in table.relation.columns]
    return reader.load(table.spark_path).where(f"_change_type IN ({kinds})").selectExpr(*columns)


def _over_views(session: SparkSession, sql: str, tables: ChunkTables) -> str:
    # Only here: a run that reads all rows needs no parser for it.
    from tidegate.compiler.sql.queries import ParsedQuery, parse_query
    from tidegate.compiler.sql.sql_text import Edit, apply_edits

    query = parse_query(sql)
    if not isinstance(query, ParsedQuery):
        raise QueryError(query.message)
    edits = []
    for reference in query.references:
        table = TableName(*reference.parts) if len(reference.parts) == 3 else None
        if table is not None and table in tables:
            alias = "" if reference.alias else f" AS {quote(table.name)}"
            edits.append(Edit(reference.start, reference.end, _view(session, tables[table]) + alias))
    return apply_edits(query.text, edits, query.start, query.end)[0]


def _view(session: SparkSession, table: ChunkTable) -> str:
    name = f"__delta_{table.table.name}"
    _version(session, table, table.require().version).createOrReplaceTempView(name)
    return quote(name)


def _version(session: SparkSession, table: ChunkTable, version: int) -> DataFrame:
    return session.read.format("delta").option("versionAsOf", str(version)).load(table.spark_path)
