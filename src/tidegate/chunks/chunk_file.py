"""One raw file → its chunks, its metadata and its place in the archive, in steps that a crash may part anywhere.

1. the run of the file is named after its path and its content
2. chunks and unreadable records are written; writing them again replaces them
3. the parent metadata is created, with every chunk
4. the raw file is moved to the archive
5. the parent says `is_chunked`: only now the chunks are processed

A run whose parent is there is not chunked again: what remains of steps 4 and 5 is done. So the file is always in bronze
or in the archive, and its chunks are there once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from blake3 import blake3

from tidegate.chunks.chunk_writer import ChunkWriter
from tidegate.chunks.folders import remove_empty_folders, remove_folder
from tidegate.chunks.layout import CHUNKED, RAW, RunFolder, chunk_path, run_of_pending
from tidegate.chunks.processing_metadata import BronzeToSilverProcessingMetadata, ProcessingMetrics
from tidegate.chunks.reading.raw_file import read_pieces, require_format
from tidegate.chunks.table_lease import leased
from tidegate.config import ChunkSource, ChunksSection
from tidegate.errors import FailureKind, RawFileError, StorageError
from tidegate.faults import fault
from tidegate.storage import Storage

__all__ = [
    "ChunkProgress",
    "ChunkedFile",
    "chunk_file",
    "finish_run",
    "has_lost_parent",
    "release_replaced",
    "unfinished_runs",
]

_BLOCK = 1 << 20
_LONGEST_STEM = 60


@dataclass(frozen=True, slots=True)
class ChunkProgress:
    file: str
    rows: int
    bytes_read: int
    bytes: int


@dataclass(frozen=True, slots=True)
class ChunkedFile:
    raw_file: str
    parent: BronzeToSilverProcessingMetadata
    rows: int | None = None
    """None where a killed process had split it."""

    seconds: float = 0.0


def chunk_file(
    storage: Storage,
    chunks: ChunksSection,
    source: ChunkSource,
    path: str,
    report: Callable[[ChunkProgress], None] = lambda progress: None,
) -> ChunkedFile | None:
    """None where there is no such file (any more). Raises RawFileError for one that cannot be read, which stays where
    it is."""
    require_format(path)
    began = datetime.now(UTC)
    try:
        size = storage.size(path)
        folder, parent = _run(storage, source.name, path, _identity(storage, path))
    except FileNotFoundError:
        return None
    rows = None
    try:
        with leased(storage, folder.chunking) as lease:
            if lease is None:  # another process chunks it now
                return None
            if parent is None:
                parent, rows = _split(storage, chunks, source, folder, path, size or 0, began, report)
            parent = finish_run(storage, parent)
    except FileNotFoundError:
        return None
    finally:
        remove_empty_folders(storage, folder.pending)
    return ChunkedFile(path, parent, rows, (datetime.now(UTC) - began).total_seconds())


def unfinished_runs(storage: Storage, source: str) -> Iterator[BronzeToSilverProcessingMetadata]:
    """Runs of which a killed process has left steps 4 and 5."""
    folders = {run_of_pending(file.path) for file in storage.list(f"{CHUNKED}/{source}")} - {None}
    for folder in sorted(folders, key=lambda folder: folder.run if folder else ""):
        if folder is None:
            continue
        try:
            parent = BronzeToSilverProcessingMetadata.load(storage, folder.metadata)
        except FileNotFoundError:
            _remove_abandoned(storage, folder)
            continue
        except StorageError:  # process, load and status report it
            continue
        if parent.is_chunked:
            remove_folder(storage, folder.chunking)
        else:
            yield parent


def _remove_abandoned(storage: Storage, folder: RunFolder) -> None:
    """Chunks of a process that was killed before it recorded them. The file they are of is in bronze still, or its
    sender has replaced it."""
    if has_lost_parent(storage, folder):
        return
    with leased(storage, folder.chunking) as lease:
        if lease is None:
            return
        if not storage.exists(folder.metadata):
            _clear(storage, folder)
    for place in (folder.pending, folder.archive):
        remove_empty_folders(storage, place)


def has_lost_parent(storage: Storage, folder: RunFolder) -> bool:
    """Whether there was metadata of a run: its raw file is archived, or its chunks were processed."""
    if storage.exists(folder.metadata):
        return False
    archived = any(not file.path.startswith(f"{folder.archive}/errors/") for file in storage.list(folder.archive))
    places = (chunk_path(file.path) for file in storage.list(folder.pending))
    is_processed = any(place.kind != RAW for place in places if place is not None)
    # Looked at again, as a process that chunks the file records it before it archives it.
    return (archived or is_processed) and not storage.exists(folder.metadata)


def finish_run(storage: Storage, parent: BronzeToSilverProcessingMetadata) -> BronzeToSilverProcessingMetadata:
    """Steps 4 and 5."""
    fault("after_parent")
    archived = parent.archived_raw_file
    if archived is not None:
        try:
            storage.move(parent.input_raw_file, archived)
        except FileNotFoundError:  # its sender removed it
            archived = None
    fault("after_raw_archive")
    done = parent.model_copy(update={"is_chunked": True, "archived_raw_file": archived})
    done.save(storage, done.metadata_s3_path)
    fault("after_chunked")
    return done


def _identity(storage: Storage, path: str) -> str:
    """Of the path and the content."""
    digest = blake3(path.encode() + b"\0")
    with storage.open(path) as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return str(digest.hexdigest(length=8))


def _run(
    storage: Storage, source: str, path: str, identity: str
) -> tuple[RunFolder, BronzeToSilverProcessingMetadata | None]:
    """The run of this delivery; with its parent where its chunks are there. The same content may come again later."""
    name = path.rpartition("/")[2]
    stem = re.sub(r"[^\w.-]+", "_", name.partition(".")[0], flags=re.ASCII)[:_LONGEST_STEM] or "file"
    number = 1
    while True:
        folder = RunFolder(source, f"{stem}-{identity}" if number == 1 else f"{stem}-{identity}-{number}")
        parent: BronzeToSilverProcessingMetadata | None
        try:
            parent = BronzeToSilverProcessingMetadata.load(storage, folder.metadata)
        except FileNotFoundError:
            return folder, None
        except StorageError as error:
            if error.kind is not FailureKind.QUERY_REJECTED:
                raise
            parent = None  # damaged, and not the file's: it is another delivery
        if parent is not None and not parent.is_chunked:
            return folder, parent
        number += 1


def _split(
    storage: Storage,
    chunks: ChunksSection,
    source: ChunkSource,
    folder: RunFolder,
    path: str,
    size: int,
    began: datetime,
    report: Callable[[ChunkProgress], None],
) -> tuple[BronzeToSilverProcessingMetadata, int]:
    """Steps 2 and 3, and how many rows the chunks have."""
    fault("before_chunks")
    read = 0

    def note(position: int) -> None:
        nonlocal read
        read = position

    try:
        with ChunkWriter(storage, folder, path, chunks.default_chunk_size) as writer:
            for piece in read_pieces(storage, path, source.delimiter, chunks.default_chunk_size, note):
                writer.add(piece)
                report(ChunkProgress(path, writer.rows, read, size))
            writer.finish()
        _require_unchanged(storage, path, size, folder)
    except (RawFileError, FileNotFoundError):
        # Recorded by another process, which has archived the file meanwhile: then the chunks are its own.
        if not storage.exists(folder.metadata):
            _clear(storage, folder)
        raise
    _clear(storage, folder, keep=writer)
    fault("after_chunks")
    parent = _parent_of(storage, chunks, folder, path, writer, began)
    if not storage.create(folder.metadata, parent.as_json()):  # another process was quicker with the same file
        parent = BronzeToSilverProcessingMetadata.load(storage, folder.metadata)
    return parent, writer.rows


def _parent_of(
    storage: Storage, chunks: ChunksSection, folder: RunFolder, path: str, writer: ChunkWriter, began: datetime
) -> BronzeToSilverProcessingMetadata:
    """Complete at once where the file has no row."""
    return BronzeToSilverProcessingMetadata(
        input_raw_file=path,
        data_source=folder.source,
        chunks_size=chunks.default_chunk_size,
        bucket_name=_bucket(storage.location),
        archived_raw_file=folder.raw_file(path.rpartition("/")[2]),
        raw_chunks=writer.chunks,
        errors_s3_path=[folder.unreadable] if writer.unreadable else [],
        metrics=ProcessingMetrics(failed=writer.unreadable),
        run_id=folder.run,
        start_timestamp=began,
        end_timestamp=None if writer.chunks else datetime.now(UTC),
    )


def _require_unchanged(storage: Storage, path: str, size: int, folder: RunFolder) -> None:
    """Its content still has the identity that the run is named after."""
    changed = storage.size(path) != size
    if changed or f"-{_identity(storage, path)}" not in folder.run:
        raise RawFileError(
            f"{path} changed while it was read",
            where=path,
            remedy="run this again when it is complete; give a file that is being written a name that ends in .tmp",
        )


def _clear(storage: Storage, folder: RunFolder, keep: ChunkWriter | None = None) -> None:
    """What a process that was killed has written of a run without a parent, perhaps with chunks of another size."""
    for place in (folder.pending, folder.archive):
        storage.remove_unfinished(place)
    kept = set() if keep is None else set(keep.chunks)
    for file in list(storage.list(folder.pending)):
        if file.path not in kept and chunk_path(file.path) is not None:
            storage.delete(file.path)
    if keep is None or not keep.unreadable:
        storage.delete(folder.unreadable)


def release_replaced(storage: Storage, parent: BronzeToSilverProcessingMetadata) -> None:
    """Of a file that its sender replaced after it was chunked and before it was archived: the chunks have its rows."""
    archived = parent.archived_raw_file
    update = {"is_chunked": True, "archived_raw_file": archived if archived and storage.exists(archived) else None}
    parent.model_copy(update=update).save(storage, parent.metadata_s3_path)


def _bucket(location: str) -> str:
    match = re.match(r"s3a?://([^/]+)", location)
    return match[1] if match else location
