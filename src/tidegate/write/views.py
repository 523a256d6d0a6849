"""Models that are views."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tidegate.lake.branch_catalog import PointerKind
from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.write.sql import literal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["write_view"]


def write_view(
    session: SparkSession, lake: BranchView, table: TableName, sql: str, properties: Mapping[str, str]
) -> None:
    """CREATE OR REPLACE VIEW on the branch; a table of that name goes first. `sql` must not name a catalog.

    When the view cannot be made, what stood there before is put back.
    """
    before = lake.pointer(table)
    pairs = ", ".join(f"{literal(key)} = {literal(value)}" for key, value in properties.items())
    try:
        if before is None:
            lake.create_namespace(table)
        elif before.kind is PointerKind.TABLE:
            session.sql(f"DROP TABLE {table.quoted}")
        session.sql(f"CREATE OR REPLACE VIEW {table.quoted}{f' TBLPROPERTIES ({pairs})' if pairs else ''} AS {sql}")
    except BaseException:
        if lake.pointer(table) != before:
            lake.restore(table, before)
        raise
