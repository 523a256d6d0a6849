"""Upkeep of a Delta table: small files become few, and files that no version in reach refers to are deleted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate.names import quote
from tidegate.spark.session import temporary_conf

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

__all__ = ["UpkeepRules", "compact", "vacuum"]

_MEGABYTE = 2**20
_LISTING = {"spark.sql.sources.parallelPartitionDiscovery.parallelism": "64"}
"""So many tasks list the folders of a table. By default ten thousand do, which takes a minute however few there are."""


@dataclass(frozen=True, slots=True)
class UpkeepRules:
    min_small_files: int
    small_file_mb: int
    """A table of fewer files than that, or with a larger mean size, is not compacted."""

    target_file_mb: int
    z_order: Sequence[str] = ()
    """Columns by which rows are put together, so that queries that filter by them read fewer files."""

    retention_hours: int = 168
    """How long a file stays that the newest version does not need."""


def compact(session: SparkSession, relation: str, rules: UpkeepRules, dry_run: bool = False) -> tuple[int, int] | None:
    """The number of files before and after; None where nothing is to be done. A dry run gives an estimate."""
    before = _detail(session, relation)
    files, size = before["numFiles"], before["sizeInBytes"]
    if files < max(2, rules.min_small_files) or size / files >= rules.small_file_mb * _MEGABYTE:
        return None
    target = rules.target_file_mb * _MEGABYTE
    if dry_run:
        return files, max(1, -(-size // target))
    columns = [name for name in rules.z_order if name not in before["partitionColumns"]]
    order = f" ZORDER BY ({', '.join(map(quote, columns))})" if columns else ""
    sizes = {f"spark.databricks.delta.optimize.{side}FileSize": str(target) for side in ("min", "max")}
    with temporary_conf(session, sizes):
        session.sql(f"OPTIMIZE {relation}{order}").collect()
    return files, _detail(session, relation)["numFiles"]


def vacuum(session: SparkSession, relation: str, rules: UpkeepRules, dry_run: bool = False) -> int:
    """How many files and folders were deleted, at most 1000 in a dry run. Delta refuses a retention that is shorter
    than the table's own."""
    command = f"VACUUM {relation} RETAIN {rules.retention_hours} HOURS"
    with temporary_conf(session, _LISTING):
        dead: int = session.sql(f"{command} DRY RUN").count()
        if dead and not dry_run:
            session.sql(command).collect()
    return dead


def _detail(session: SparkSession, relation: str) -> Row:
    row: Row = session.sql(f"DESCRIBE DETAIL {relation}").collect()[0]
    return row
