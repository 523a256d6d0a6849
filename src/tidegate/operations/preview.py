"""The first rows of a published table: read from its files where that can be done, else by Spark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from tidegate.compiler.hidden_columns import hidden_in_table
from tidegate.errors import LakeError, TidegateError
from tidegate.lake.first_rows import first_rows
from tidegate.lake.iceberg_types import spark_type
from tidegate.lake.metadata import TableMetadata
from tidegate.names import TableName
from tidegate.operations.quarantine.redacted_rows import redact_quarantined
from tidegate.operations.query_result import QueryResult
from tidegate.operations.workspace import Workspace
from tidegate.quality import plain

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["preview"]


def preview(
    workspace: Workspace,
    name: str,
    limit: int,
    notify: Callable[[str], None] = lambda line: None,
    root: SparkSession | None = None,
) -> QueryResult:
    """Without the values of hidden columns."""
    table = workspace.queryable(name)
    result = _from_files(workspace, table, limit)
    if result is None:
        from tidegate.operations.query import query  # only here: most tables are read without Spark

        result = query(workspace.settings, f"SELECT * FROM {table.quoted}", limit, root, notify)
    try:
        compiled = workspace.compile()
    except TidegateError:
        compiled = None
    hidden = hidden_in_table(compiled, table, [name for name, _type in result.columns])
    return replace(result, rows=tuple(redact_quarantined(row, hidden) for row in result.rows))


def _from_files(workspace: Workspace, table: TableName, limit: int) -> QueryResult | None:
    try:
        metadata = workspace.metadata(table)
    except LakeError:
        return None  # Spark fails with the same, and its error names what is missing
    if not isinstance(metadata, TableMetadata):
        return None
    types = [spark_type(field.type) for field in metadata.fields]
    rows = first_rows(metadata, limit + 1) if all(kind.known for kind in types) else None
    if rows is None:
        return None
    names = metadata.column_names
    records = tuple(dict(zip(names, plain(row), strict=True)) for row in rows[:limit])
    columns = tuple((name, kind.text) for name, kind in zip(names, types, strict=True))
    return QueryResult(columns, records, len(rows) > limit)
