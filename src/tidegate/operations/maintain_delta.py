"""Maintenance of the Delta tables of chunked loads. A load that writes a table at the same time goes first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tidegate.chunks.layout import delta_table, lease_folder
from tidegate.config import ChunkSource, Settings
from tidegate.lake.delta_log import has_delta_log
from tidegate.operations.reap import best_effort
from tidegate.storage import Storage, open_storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["DeltaMaintenance", "maintain_delta"]


@dataclass(slots=True)
class DeltaMaintenance:
    compacted: dict[str, tuple[int, int]] = field(default_factory=dict)
    """By table: its files before and after."""

    vacuumed: dict[str, int] = field(default_factory=dict)
    """By table: how many unused files were deleted."""

    gave_way: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def maintain_delta(settings: Settings, session: Callable[[], SparkSession], dry_run: bool = False) -> DeltaMaintenance:
    """`session`: called where there is a table."""
    report = DeltaMaintenance()
    if not settings.chunks.has_delta_tables:
        return report
    with best_effort("Delta tables", report.errors):
        storage = open_storage(settings.chunks.root, settings.s3)
        for source in settings.chunks.sources.values():
            with best_effort(f"silver.{source.name}", report.errors):
                _maintain(settings, storage, source, session, report, dry_run)
    return report


def _maintain(
    settings: Settings,
    storage: Storage,
    source: ChunkSource,
    session: Callable[[], SparkSession],
    report: DeltaMaintenance,
    dry_run: bool,
) -> None:
    # Those that work with Spark.
    from tidegate.chunks.delta_table import DeltaTable
    from tidegate.chunks.delta_upkeep import UpkeepRules, compact, vacuum
    from tidegate.chunks.table_lease import leased

    section, chunks, name = settings.maintenance, settings.chunks, f"silver.{source.name}"
    if not has_delta_log(storage, delta_table(source.name)):
        return
    spark = session()
    relation = DeltaTable(spark, storage, delta_table(source.name)).relation
    rules = UpkeepRules(
        min_small_files=section.min_small_files,
        small_file_mb=section.small_file_mb,
        target_file_mb=chunks.delta_target_file_mb,
        z_order=source.z_order,
        retention_hours=chunks.delta_vacuum_retention_hours,
    )
    with leased(storage, lease_folder(source.name)) as lease:
        if lease is None:
            report.gave_way.append(name)
            return
        files = compact(spark, relation, rules, dry_run) if section.compact else None
        if files is not None:
            report.compacted[name] = files
        dead = vacuum(spark, relation, rules, dry_run) if section.sweep else 0
        if dead:
            report.vacuumed[name] = dead
