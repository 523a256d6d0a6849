"""The job *chunk*: raw files of bronze → Parquet chunks. It needs no JVM."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tidegate.chunks.chunk_file import (
    ChunkedFile,
    ChunkProgress,
    chunk_file,
    finish_run,
    release_replaced,
    unfinished_runs,
)
from tidegate.chunks.chunk_project import ChunkProject, open_chunk_project
from tidegate.chunks.processing_metadata import BronzeToSilverProcessingMetadata
from tidegate.chunks.source_files import RawFile, UnclaimedFile, raw_files

__all__ = ["chunk_tasks", "do_chunk_task", "get_tasks", "process_task", "result_of"]

_log = logging.getLogger(__name__)


def get_tasks(project: str | Path = ".", source: str | None = None) -> list[dict[str, Any]]:
    """One for each raw file that waits in bronze, the oldest first. Raises ConfigError and SelectionError."""
    tasks, unclaimed = chunk_tasks(open_chunk_project(project), source)
    for file in unclaimed:
        _log.warning("%s is left alone: %s; %s", file.path, file.reason, file.remedy)
    return tasks


def process_task(task: Mapping[str, Any]) -> dict[str, Any] | None:
    """None where the file is gone: another process has chunked it. Raises RawFileError for a file that cannot be
    read."""
    done = do_chunk_task(open_chunk_project(task["project"]), task)
    return None if done is None else result_of(done)


def chunk_tasks(project: ChunkProject, source: str | None) -> tuple[list[dict[str, Any]], list[UnclaimedFile]]:
    """With the files that no source claims."""
    sources = project.sources(source)
    storage = project.storage
    unfinished: dict[str, list[str]] = {}
    for name in sources:
        for parent in unfinished_runs(storage, name):
            unfinished.setdefault(parent.input_raw_file, []).append(parent.metadata_s3_path)
    claimed: list[RawFile] = []
    unclaimed = []
    # Every source, because a file that two of them claim belongs to none.
    for file in raw_files(storage, project.settings.chunks.sources):
        if isinstance(file, UnclaimedFile):
            unclaimed.append(file)
        elif file.source.name in sources:
            claimed.append(file)
    # The rows of a later file replace those of an earlier one.
    claimed.sort(key=lambda file: (file.modified, file.path))
    tasks = [_task(project, file, unfinished.pop(file.path, [])) for file in claimed]
    for path, parents in unfinished.items():
        name = BronzeToSilverProcessingMetadata.load(storage, parents[0]).data_source
        tasks.append(project.task(data_source=name, raw_file_s3_path=path, unfinished=parents))
    return tasks, unclaimed


def _task(project: ChunkProject, file: RawFile, unfinished: list[str]) -> dict[str, Any]:
    return project.task(data_source=file.source.name, raw_file_s3_path=file.path, unfinished=unfinished)


def do_chunk_task(
    project: ChunkProject,
    task: Mapping[str, Any],
    report: Callable[[ChunkProgress], None] = lambda progress: None,
) -> ChunkedFile | None:
    """Chunk the file, then finish what killed processes have left of earlier files in its place."""
    storage, path = project.storage, task["raw_file_s3_path"]
    done = chunk_file(storage, project.settings.chunks, project.source(task["data_source"]), path, report)
    for metadata in task["unfinished"]:
        parent = BronzeToSilverProcessingMetadata.load(storage, metadata)
        if parent.is_chunked:
            continue
        if storage.exists(path) or done is not None:
            release_replaced(storage, parent)
        else:
            done = ChunkedFile(path, finish_run(storage, parent))
    return done


def result_of(done: ChunkedFile) -> dict[str, Any]:
    parent = done.parent
    return {
        "raw_file": done.raw_file,
        "data_source": parent.data_source,
        "parent_metadata_s3_path": parent.metadata_s3_path,
        "n_chunks": parent.n_chunks,
        "rows": done.rows,
        "unreadable": parent.metrics.failed,
        "seconds": round(done.seconds, 3),
    }
