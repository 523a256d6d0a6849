"""The rows of bronze behind chosen rows of a contract's quarantine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.compiler.table_columns import ROW_IDENTITY, SOURCE_FILE
from tidegate.lake.metadata import TableMetadata
from tidegate.names import TableName, literal
from tidegate.planner.replay import QuarantineFilter
from tidegate.write.spark_sql import null_safe_join

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["replayed_rows"]

_MOST_FILES = 200


def replayed_rows(
    session: SparkSession, bronze: TableName, quarantine: TableName, metadata: TableMetadata, rows: QuarantineFilter
) -> DataFrame:
    """`metadata`: of the quarantine. Its rows are read as they are in this snapshot, also while they are marked."""
    condition = rows.condition([column.name for column in metadata.fields])
    chosen = (
        f"SELECT {', '.join(ROW_IDENTITY)} FROM {quarantine.quoted} VERSION AS OF {metadata.current_snapshot_id}"
        f" WHERE {condition}"
    )
    files = session.sql(f"SELECT DISTINCT {SOURCE_FILE} FROM ({chosen}) LIMIT {_MOST_FILES + 1}").collect()
    # Every run adds files of its own to bronze, so their names leave out most of it before it is read.
    names = ", ".join(literal(row[SOURCE_FILE]) for row in files)
    among = f" WHERE {SOURCE_FILE} IN ({names})" if 0 < len(files) <= _MOST_FILES else ""
    return session.sql(
        f"SELECT * FROM (SELECT * FROM {bronze.quoted}{among}) __b LEFT SEMI JOIN ({chosen}) __q"
        f" ON {null_safe_join('__b', '__q', ROW_IDENTITY)}"
    )
