"""How far each raw file has come, from what is on the storage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tidegate.chunks.chunk_project import ChunkProject, chunk_project
from tidegate.chunks.layout import (
    ARCHIVED,
    CHUNK_METADATA,
    CHUNKED,
    PROCESSED,
    RAW,
    RunFolder,
    chunk_path,
    run_of,
)
from tidegate.chunks.processing_metadata import (
    BronzeToSilverProcessingMetadata,
    ChunkProcessingMetadata,
    ProcessingMetrics,
)
from tidegate.chunks.source_files import RawFile, UnclaimedFile, raw_files
from tidegate.errors import StorageError
from tidegate.operations.workspace import Workspace

__all__ = ["ChunkStatus", "FileStatus", "chunk_status"]


@dataclass(slots=True)
class FileStatus:
    parent: BronzeToSilverProcessingMetadata
    to_process: int = 0
    to_load: int = 0
    waiting: ProcessingMetrics = field(default_factory=ProcessingMetrics)
    """Of chunks that are processed and not loaded."""

    @property
    def state(self) -> str:
        """complete, chunking, processing or loading: what is done next with the file, or by a process now."""
        if self.parent.end_timestamp is not None:
            return "complete"
        if not self.parent.is_chunked:
            return "chunking"
        return "processing" if self.to_process else "loading"

    @property
    def metrics(self) -> ProcessingMetrics:
        return self.parent.metrics + self.waiting

    def document(self) -> dict[str, Any]:
        return {
            **self.parent.model_dump(mode="json"),
            "parent_metadata_s3_path": self.parent.metadata_s3_path,
            "state": self.state,
            "chunks_to_process": self.to_process,
            "chunks_to_load": self.to_load,
            "metrics_to_load": self.waiting.model_dump(),
        }


@dataclass(slots=True)
class ChunkStatus:
    waiting: list[RawFile] = field(default_factory=list)
    """Raw files that are not chunked."""

    unclaimed: list[UnclaimedFile] = field(default_factory=list)
    files: list[FileStatus] = field(default_factory=list)
    """Newest first."""

    complete: int = 0
    """All complete files, whether in `files` or not."""

    problems: list[str] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        return {
            "waiting": [
                {"raw_file": file.path, "data_source": file.source.name, "size": file.size} for file in self.waiting
            ],
            "unclaimed": [{"raw_file": file.path, "reason": file.reason} for file in self.unclaimed],
            "files": [file.document() for file in self.files],
            "complete": self.complete,
            "problems": list(self.problems),
        }


def chunk_status(workspace: Workspace, source: str | None = None, limit: int = 20) -> ChunkStatus:
    """`limit`: of complete files. Raises SelectionError."""
    project = chunk_project(workspace.settings)
    sources = project.sources(source)
    status = ChunkStatus()
    for file in raw_files(project.storage, project.settings.chunks.sources):
        if isinstance(file, RawFile) and file.source.name in sources:
            status.waiting.append(file)
        elif isinstance(file, UnclaimedFile) and source is None:
            status.unclaimed.append(file)
    found = list(_files(project, source, status.problems))
    found.sort(key=lambda file: file.parent.start_timestamp, reverse=True)
    complete = [file for file in found if file.state == "complete"]
    status.complete = len(complete)
    shown = {id(file) for file in complete[:limit]}
    status.files = [file for file in found if file.state != "complete" or id(file) in shown]
    return status


def _files(project: ChunkProject, source: str | None, problems: list[str]) -> Iterator[FileStatus]:
    storage = project.storage
    pending = _pending(project, source, problems)
    for file in storage.list(ARCHIVED if source is None else f"{ARCHIVED}/{source}"):
        folder = run_of(file.path)
        if folder is None or file.path != folder.metadata:
            continue
        try:
            parent = BronzeToSilverProcessingMetadata.load(storage, file.path)
        except FileNotFoundError:
            continue
        except StorageError as error:
            problems.append(f"{error}; {error.remedy}")
            pending.pop(folder, None)
            continue
        counts = pending.pop(folder, None)
        yield FileStatus(parent) if counts is None else FileStatus(parent, *counts)
    for folder in pending:
        problems.append(f"{folder.pending} has chunks of a raw file that is not recorded: it is being chunked, or was")


def _pending(
    project: ChunkProject, source: str | None, problems: list[str]
) -> dict[RunFolder, tuple[int, int, ProcessingMetrics]]:
    """Of each file: chunks to process, chunks to load, and the rows of these."""
    storage = project.storage
    kinds: dict[RunFolder, dict[int, set[str]]] = {}
    for file in storage.list(CHUNKED if source is None else f"{CHUNKED}/{source}"):
        place = chunk_path(file.path)
        if place is not None:
            kinds.setdefault(place.folder, {}).setdefault(place.number, set()).add(place.kind)
    found = {}
    for folder, chunks in kinds.items():
        metrics, to_process, to_load = ProcessingMetrics(), 0, 0
        for number, there in chunks.items():
            if CHUNK_METADATA not in there:
                to_process += RAW in there
                if PROCESSED in there and RAW not in there:
                    problems.append(f"{folder.processed(number)} has no metadata: it is not loaded")
                continue
            to_load += 1
            try:
                metrics += ChunkProcessingMetadata.load(storage, folder.chunk_metadata(number)).metrics
            except FileNotFoundError:
                continue
            except StorageError as error:
                problems.append(f"{error}; {error.remedy}")
        found[folder] = (to_process, to_load, metrics)
    return found
