"""The job *load*: processed chunks → the table of their source. Listing the work starts no JVM."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate.chunks.bronze_loader import BronzeLoader, LoadProgress, LoadResult
from tidegate.chunks.chunk_project import ChunkProject, open_chunk_project
from tidegate.chunks.layout import lease_folder
from tidegate.chunks.pending_loads import PendingLoads, pending_loads
from tidegate.chunks.processing_metadata import BronzeToSilverProcessingMetadata
from tidegate.chunks.rules.source_rules import source_rules
from tidegate.chunks.table_batch import LoadTable, TableKey
from tidegate.chunks.table_lease import leased
from tidegate.chunks.write_retries import write_retries
from tidegate.errors import FailureKind, StorageError
from tidegate.names import TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SILENT", "LoadListeners", "do_load_task", "get_tasks", "load_tasks", "process_task"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LoadListeners:
    notify: Callable[[str], None] = lambda line: None
    """Receives that Spark starts, and each retry."""

    progress: Callable[[LoadProgress], None] = lambda progress: None
    """Receives each batch that is loaded."""


SILENT = LoadListeners()


def get_tasks(project: str | Path = ".", source: str | None = None) -> list[dict[str, Any]]:
    """One for each raw file that has processed chunks, at most one of each table. Raises ConfigError and
    SelectionError."""
    tasks, found = load_tasks(open_chunk_project(project), source)
    for warning in found.warnings:
        _log.warning(warning)
    return tasks


def process_task(task: Mapping[str, Any]) -> dict[str, Any]:
    """Load the chunks of one raw file. Repeating it does no harm."""
    result = do_load_task(open_chunk_project(task["project"]), task)
    for warning in result.warnings:
        _log.warning(warning)
    return result.document()


def load_tasks(
    project: ChunkProject, source: str | None, passed_over: Collection[str] = ()
) -> tuple[list[dict[str, Any]], PendingLoads]:
    """With what stands in the way of others. Leftovers of complete loads are removed. `passed_over`: parents that no
    table waits for."""
    project.sources(source)
    found = pending_loads(project.storage, source, passed_over)
    tasks = [
        project.task(
            parent_metadata_s3_path=each.parent_path,
            chunk_metadata_s3_paths=list(each.chunk_paths),
        )
        for each in found.loads
    ]
    return tasks, found


def do_load_task(
    project: ChunkProject,
    task: Mapping[str, Any],
    spark: SparkSession | None = None,
    listeners: LoadListeners = SILENT,
) -> LoadResult:
    """`spark`: with the tables' format; None: the one of this process, started where there is none, left running."""
    storage, chunks = project.storage, project.settings.chunks
    path = task["parent_metadata_s3_path"]
    try:
        parent = BronzeToSilverProcessingMetadata.load(storage, path)
    except FileNotFoundError:
        raise StorageError(
            f"there is no {path}, which the task names",
            where=storage.location,
            remedy="list the tasks again, in the project that they are of",
            kind=FailureKind.NOT_FOUND,
        ) from None
    rules = source_rules(project.settings.root, project.source(parent.data_source))
    with leased(storage, lease_folder(parent.data_source)) as lease:
        if lease is None:
            warning = f"another process loads {parent.output_delta_table} now; {path} is loaded by a later load"
            return LoadResult(path, parent.output_delta_table, "busy", warnings=[warning])
        loader = BronzeLoader(
            storage=storage,
            table=_open_table(project, parent, spark, listeners.notify),
            key=TableKey(rules.key, rules.partition_key),
            batch_size=chunks.delta_client_batch_size,
            retries=write_retries(chunks),
            require_lease=lease.require,
            notify=listeners.notify,
            progress=listeners.progress,
        )
        return loader.run(path, task["chunk_metadata_s3_paths"])


def _open_table(
    project: ChunkProject,
    parent: BronzeToSilverProcessingMetadata,
    spark: SparkSession | None,
    notify: Callable[[str], None],
) -> LoadTable:
    settings = project.settings
    if settings.chunks.format == "delta":
        from tidegate.chunks.delta_table import DeltaTable, delta_session

        return DeltaTable(delta_session(settings, spark, notify), project.storage, parent.output_delta_table)
    from tidegate.chunks.iceberg_table import IcebergTable
    from tidegate.lake import open_catalog
    from tidegate.spark.session import open_spark

    table = TableName(settings.project.namespace, "silver", parent.data_source)
    return IcebergTable(open_catalog(settings), open_spark(settings, notify, spark), table)
