"""The third job: processed chunks → the table of their source. `get_tasks` lists the work, `process_task` does a part.

Importing this, and listing, starts no Spark.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate.chunks.bronze_loader import BronzeLoader, LoadProgress, LoadResult
from tidegate.chunks.layout import lease_folder
from tidegate.chunks.metadata import BronzeToSilverProcessingMetadata
from tidegate.chunks.pending_loads import PendingLoads, pending_loads
from tidegate.chunks.table_key import table_key
from tidegate.chunks.table_lease import leased
from tidegate.chunks.write_retries import write_retries
from tidegate.config import Settings, find_project, load_settings
from tidegate.errors import ConfigError, SelectionError
from tidegate.names import nearest
from tidegate.storage import open_storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["LoadListeners", "find_loads", "get_tasks", "load", "process_task"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LoadListeners:
    notify: Callable[[str], None] = lambda line: None
    """Receives that Spark starts, and each retry."""

    progress: Callable[[LoadProgress], None] = lambda progress: None
    """Receives each batch that is loaded."""


def get_tasks(project: str | Path = ".", source: str | None = None) -> list[dict[str, Any]]:
    """One for each raw file that has processed chunks, at most one of each table; plain values for any scheduler."""
    found = find_loads(load_settings(find_project(Path(project))), source)
    for warning in found.warnings:
        _log.warning(warning)
    return [each.task for each in found.loads]


def process_task(
    task: Mapping[str, Any], project: str | Path = ".", spark: SparkSession | None = None
) -> dict[str, Any]:
    """Load the chunks of one task of `get_tasks`. Repeating it does no harm. Without `spark`, one is started."""
    result = load(load_settings(find_project(Path(project))), task, spark)
    for warning in result.warnings:
        _log.warning(warning)
    return result.document()


def find_loads(settings: Settings, source: str | None = None) -> PendingLoads:
    """What there is to load, and what stands in the way. Leftovers of complete loads are removed."""
    if source is not None and source not in settings.chunks.sources:
        close = nearest(source, settings.chunks.sources)
        meant = f"Did you mean {' or '.join(close)}? " if close else ""
        raise SelectionError(
            f"There is no source '{source}' in [chunks.sources]",
            remedy=f"{meant}It has {', '.join(settings.chunks.sources) or 'none'}.",
        )
    return pending_loads(open_storage(settings.chunks.root), source)


def load(
    settings: Settings,
    task: Mapping[str, Any],
    spark: SparkSession | None = None,
    listeners: LoadListeners = LoadListeners(),  # noqa: B008
) -> LoadResult:
    """`spark`: with Delta; None: the one of this process, started where there is none, which is left running."""
    storage = open_storage(settings.chunks.root)
    parent_path = task["parent_metadata_s3_path"]
    parent = BronzeToSilverProcessingMetadata.load(storage, parent_path)
    source = settings.chunks.sources.get(parent.data_source)
    if source is None:
        raise ConfigError(
            f"{parent_path} is of the source '{parent.data_source}', which tidegate.toml does not have",
            where="[chunks.sources]",
            remedy=f"Add [chunks.sources.{parent.data_source}] again, or remove the chunks of this file.",
        )
    key = table_key(settings, source)
    with leased(storage, lease_folder(parent.data_source)) as lease:
        if lease is None:
            warning = f"another process loads {parent.output_delta_table} now; this file is loaded by a later load"
            return LoadResult(parent_path, parent.output_delta_table, "busy", warnings=[warning])
        from tidegate.chunks.delta_table import DeltaTable, delta_session

        session = delta_session(settings, spark, listeners.notify)
        loader = BronzeLoader(
            storage=storage,
            table=DeltaTable(session, storage, parent.output_delta_table),
            key=key,
            batch_size=settings.chunks.delta_client_batch_size,
            retries=write_retries(settings.chunks),
            require_lease=lease.require,
            notify=listeners.notify,
            progress=listeners.progress,
        )
        return loader.run(parent_path, task["chunk_metadata_s3_paths"])
