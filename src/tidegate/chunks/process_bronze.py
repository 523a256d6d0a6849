"""The job *process*: raw chunks → valid rows, typed, and rejected rows with their reasons."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tidegate.chunks.chunk_file import has_lost_parent
from tidegate.chunks.chunk_project import ChunkProject, open_chunk_project
from tidegate.chunks.chunk_rows import RawChunk, read_chunk
from tidegate.chunks.folders import remove_empty_folders, remove_folder
from tidegate.chunks.layout import (
    CHUNKED,
    RAW,
    RunFolder,
    chunk_path,
    metadata_path,
    processed_path,
    run_of,
    run_of_pending,
)
from tidegate.chunks.processing_metadata import (
    BronzeToSilverProcessingMetadata,
    ChunkProcessingMetadata,
    ProcessingMetrics,
)
from tidegate.chunks.rules.source_rules import ChunkRules, source_rules
from tidegate.chunks.table_lease import leased
from tidegate.chunks.task_progress import watched_tasks
from tidegate.errors import RawFileError, StorageError
from tidegate.failures import first_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "ProcessProgress",
    "ProcessedRun",
    "get_tasks",
    "pending_tasks",
    "process_task",
    "process_tasks",
    "settled_chunks",
]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ProcessProgress:
    source: str
    chunks: int
    all_chunks: int
    rows: int
    all_rows: int


@dataclass(slots=True)
class ProcessedRun:
    """What became of the chunks of one raw file."""

    parent_metadata_s3_path: str
    data_source: str
    chunks: int = 0
    metrics: ProcessingMetrics = field(default_factory=ProcessingMetrics)

    def document(self) -> dict[str, Any]:
        return {
            "parent_metadata_s3_path": self.parent_metadata_s3_path,
            "data_source": self.data_source,
            "chunks": self.chunks,
            "metrics": self.metrics.model_dump(),
        }


def get_tasks(project: str | Path = ".", source: str | None = None) -> list[dict[str, Any]]:
    """One for each raw file with chunks that wait. Raises ConfigError and SelectionError."""
    problems: list[str] = []
    tasks = pending_tasks(open_chunk_project(project), source, problems)
    for problem in problems:
        _log.warning(problem)
    return tasks


def process_task(task: Mapping[str, Any]) -> dict[str, Any] | None:
    """None where nothing was left to do. Raises RawFileError where a chunk cannot be read, after the others."""
    done, broken = process_tasks(open_chunk_project(task["project"]), [task])
    if broken is not None:
        raise broken
    return done[0].document() if done else None


def pending_tasks(project: ChunkProject, source: str | None, problems: list[str] | None = None) -> list[dict[str, Any]]:
    """What killed processes left of chunks that are all processed is removed. `problems` gets what cannot be read."""
    tasks = []
    for name in project.sources(source):
        by_run: dict[RunFolder, list[str]] = {}
        for file in project.storage.list(f"{CHUNKED}/{name}"):
            folder, place = run_of_pending(file.path), chunk_path(file.path)
            if folder is not None:
                own = by_run.setdefault(folder, [])
                own += [file.path] if place is not None and place.kind == RAW else []
        for folder, paths in by_run.items():
            if not paths:
                remove_folder(project.storage, folder.processing)
                continue
            try:
                parent = _parent(project, folder)
            except StorageError as error:
                if problems is not None:
                    problems.append(f"{error}; {error.remedy}")
                continue
            if parent is None and problems is not None and has_lost_parent(project.storage, folder):
                problems.append(
                    f"{folder.metadata} is missing: the chunks in {folder.pending} are left alone; restore the file, "
                    "or deliver the raw file again and delete the chunks"
                )
            if parent is not None and parent.is_chunked:
                paths.sort(key=_number)
                metadata = folder.metadata
                tasks.append(project.task(data_source=name, parent_metadata_s3_path=metadata, chunk_s3_paths=paths))
    return tasks


def process_tasks(
    project: ChunkProject,
    tasks: Sequence[Mapping[str, Any]],
    session: Callable[[], SparkSession] | None = None,
    report: Callable[[ProcessProgress], None] = lambda progress: None,
) -> tuple[list[ProcessedRun], RawFileError | None]:
    """Of any sources; the chunks of one source share jobs of Spark. `session`: opens Spark, which is not started where
    nothing is to be done. The error is about chunks that cannot be read; all others are processed."""
    by_source: dict[str, list[Mapping[str, Any]]] = {}
    for task in tasks:
        by_source.setdefault(task["data_source"], []).append(task)
    done, broken = list[ProcessedRun](), list[str]()
    for source, own in by_source.items():
        chunks = []
        for task in own:
            for path in settled_chunks(project, task["parent_metadata_s3_path"], task["chunk_s3_paths"]):
                try:
                    chunks.append(read_chunk(project.storage, path))
                except FileNotFoundError:  # another process has done it
                    continue
                except (pa.ArrowException, OSError) as error:
                    broken.append(f"{path} ({first_line(error).rstrip('.')})")
        if chunks:
            done += _process(project, source, chunks, session, report)
    return done, _broken(project, broken) if broken else None


def _broken(project: ChunkProject, chunks: Sequence[str]) -> RawFileError:
    """`chunks`: path and reason of each."""
    run = run_of(chunks[0].partition(" ")[0])
    count = f"{len(chunks)} chunks" if len(chunks) > 1 else "a chunk"
    return RawFileError(
        f"{count} cannot be read: {'; '.join(chunks[:3])}",
        where=project.storage.location,
        remedy="delete what is broken and send the raw file round again: `tidegate chunks requeue "
        f"{run.archive if run else 'FILE'}`",
    )


def settled_chunks(project: ChunkProject, parent_path: str, paths: Sequence[str]) -> Iterator[str]:
    """Those that are to be processed. Raw chunks whose result is there, or in the table, are deleted: a killed process
    left them."""
    storage = project.storage
    described = {path for path in paths if _has_result(project, path)}
    # A load counts a chunk before it removes the result, so the parent is read after the results were looked for.
    parent = BronzeToSilverProcessingMetadata.load(storage, parent_path)
    loaded = set(parent.processed_chunks)
    is_stale = False
    for path in paths:
        if path in described or processed_path(path) in loaded:
            storage.delete(path)
            is_stale = True
        else:
            yield path
    if is_stale and parent.end_timestamp is None and loaded == set(map(processed_path, parent.raw_chunks)):
        remove_empty_folders(storage, parent.folder.pending)
        parent.completed().save(storage, parent_path)


def _has_result(project: ChunkProject, chunk: str) -> bool:
    if not project.storage.exists(processed_path(chunk)):
        return False
    try:
        ChunkProcessingMetadata.load(project.storage, metadata_path(chunk))
    except (FileNotFoundError, StorageError):
        return False
    return True


def _process(
    project: ChunkProject,
    source: str,
    chunks: Sequence[RawChunk],
    session: Callable[[], SparkSession] | None,
    report: Callable[[ProcessProgress], None],
) -> list[ProcessedRun]:
    from tidegate.chunks.process_chunks import jobs_of, process_chunks

    rules: ChunkRules = source_rules(project.settings.root, project.source(source))
    spark = _open(project) if session is None else session()
    all_rows = sum(chunk.rows for chunk in chunks)
    runs: dict[str, ProcessedRun] = {}
    done = rows = 0
    report(ProcessProgress(source, 0, len(chunks), 0, all_rows))
    for some in jobs_of(chunks):
        of_job = sum(chunk.rows for chunk in some)

        def note(share: float, done: int = done, rows: int = rows, of_job: int = of_job) -> None:
            report(ProcessProgress(source, done, len(chunks), rows + int(share * of_job), all_rows))

        with _of_this_process(project, some) as own, watched_tasks(spark, note):
            for metadata in process_chunks(spark, project.storage, source, rules, own) if own else ():
                parent = metadata.parent_metadata_s3_path
                run = runs.setdefault(parent, ProcessedRun(parent, source))
                run.chunks += 1
                run.metrics += metadata.metrics
        done, rows = done + len(some), rows + of_job
        report(ProcessProgress(source, done, len(chunks), rows, all_rows))
    return list(runs.values())


@contextmanager
def _of_this_process(project: ChunkProject, chunks: Sequence[RawChunk]) -> Iterator[list[RawChunk]]:
    """Those of files whose chunks no other process works on now."""
    by_run: dict[RunFolder, list[RawChunk]] = {}
    for chunk in chunks:
        place = chunk_path(chunk.path)
        if place is not None:
            by_run.setdefault(place.folder, []).append(chunk)
    free: list[RawChunk] = []
    try:
        with ExitStack() as stack:
            for folder, own in by_run.items():
                lease = stack.enter_context(leased(project.storage, f"{folder.processing}/lease"))
                if lease is not None:
                    # One that another process has processed meanwhile is gone.
                    free += [chunk for chunk in own if project.storage.exists(chunk.path)]
            yield free
    finally:
        for folder in by_run:
            remove_empty_folders(project.storage, folder.processing)


def _open(project: ChunkProject) -> SparkSession:
    from tidegate.spark.session import open_spark

    return open_spark(project.settings)


def _parent(project: ChunkProject, folder: RunFolder) -> BronzeToSilverProcessingMetadata | None:
    """None where a process still chunks the file, or was killed while it did."""
    try:
        return BronzeToSilverProcessingMetadata.load(project.storage, folder.metadata)
    except FileNotFoundError:
        return None


def _number(path: str) -> int:
    place = chunk_path(path)
    return place.number if place is not None else 0
