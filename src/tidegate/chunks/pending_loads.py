"""What can be loaded: processed chunks, by the raw file that they come from, one file of each table at a time.

Only what is below `chunked_bronze` is listed, so that nothing is looked at that was loaded long ago.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from tidegate.chunks.layout import CHUNK_METADATA, CHUNKED, PROCESSED, RAW, RunFolder, chunk_path
from tidegate.chunks.processing_metadata import BronzeToSilverProcessingMetadata, ChunkProcessingMetadata
from tidegate.errors import StorageError
from tidegate.storage import Storage

__all__ = ["PendingLoad", "PendingLoads", "pending_loads", "remove_chunk"]


@dataclass(frozen=True, slots=True)
class PendingLoad:
    """The chunks of one raw file that are processed and not loaded, in the order of the file."""

    parent_path: str
    chunk_paths: tuple[str, ...]
    """Of their metadata."""

    table: str


@dataclass(slots=True)
class PendingLoads:
    loads: list[PendingLoad] = field(default_factory=list)
    """One of each table: two loads never write one table at once."""

    warnings: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Pending:
    """What is there of one raw file, by the number of the chunk."""

    folder: RunFolder
    raw: set[int] = field(default_factory=set)
    processed: set[int] = field(default_factory=set)
    described: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Candidate:
    parent: BronzeToSilverProcessingMetadata
    load: PendingLoad

    @property
    def order(self) -> tuple[bool, str, str]:
        """An unfinished batch first, then the oldest file: the rows of a later one replace its rows."""
        return self.parent.batch is None, self.parent.start_timestamp.isoformat(), self.load.parent_path


def pending_loads(storage: Storage, source: str | None = None, passed_over: Collection[str] = ()) -> PendingLoads:
    """Leftovers of complete loads are removed on the way. `passed_over`: parents that no table waits for."""
    result = PendingLoads()
    candidates = [
        candidate
        for candidate in _candidates(storage, _listed(storage, source), result)
        if candidate.load.parent_path not in passed_over
    ]
    tables: set[str] = set()
    for candidate in sorted(candidates, key=lambda each: each.order):
        if candidate.load.table not in tables:
            result.loads.append(candidate.load)
            tables.add(candidate.load.table)
    return result


def remove_chunk(storage: Storage, chunk: str) -> None:
    """The files of a raw chunk that the table has; its metadata last, by which it would be found again."""
    place = chunk_path(chunk)
    if place is None:
        return
    folder, number = place.folder, place.number
    for path in (folder.processed(number), folder.chunk(number), folder.chunk_metadata(number)):
        storage.delete(path)


def _listed(storage: Storage, source: str | None) -> Iterable[_Pending]:
    files: dict[RunFolder, _Pending] = {}
    for file in storage.list(CHUNKED if source is None else f"{CHUNKED}/{source}"):
        place = chunk_path(file.path)
        if place is not None:
            pending = files.setdefault(place.folder, _Pending(place.folder))
            kinds = {RAW: pending.raw, PROCESSED: pending.processed, CHUNK_METADATA: pending.described}
            kinds[place.kind].add(place.number)
    return files.values()


def _candidates(storage: Storage, files: Iterable[_Pending], result: PendingLoads) -> Iterator[_Candidate]:
    for pending in files:
        if not pending.described:
            continue  # nothing of it is processed
        for parent_path, numbers in _by_parent(storage, pending, result.warnings).items():
            parent = _parent(storage, parent_path, result.warnings)
            if parent is None:
                continue
            if parent.end_timestamp is not None:
                _clean(storage, parent, pending, numbers, result)
                continue
            ready = tuple(_ready(storage, pending, parent, numbers, result.warnings))
            if ready or parent.batch is not None:
                yield _Candidate(parent, PendingLoad(parent_path, ready, parent.output_delta_table))


def _by_parent(storage: Storage, pending: _Pending, warnings: list[str]) -> dict[str, list[int]]:
    """The numbers of the chunks, by the parent that their metadata names."""
    groups: dict[str, list[int]] = {}
    for number in sorted(pending.described):
        try:
            chunk = ChunkProcessingMetadata.load(storage, pending.folder.chunk_metadata(number))
        except FileNotFoundError:  # another process has loaded it meanwhile
            continue
        except StorageError as error:
            warnings.append(_text(error))
            continue
        groups.setdefault(chunk.parent_metadata_s3_path, []).append(number)
    return groups


def _parent(storage: Storage, path: str, warnings: list[str]) -> BronzeToSilverProcessingMetadata | None:
    try:
        return BronzeToSilverProcessingMetadata.load(storage, path)
    except FileNotFoundError:
        warnings.append(f"{path} is missing, which the metadata of its chunks names: nothing of it is loaded")
    except StorageError as error:
        warnings.append(_text(error))
    return None


def _ready(
    storage: Storage,
    pending: _Pending,
    parent: BronzeToSilverProcessingMetadata,
    numbers: list[int],
    warnings: list[str],
) -> Iterator[str]:
    folder, loaded = pending.folder, set(parent.processed_chunks)
    for number in numbers:
        path = folder.chunk_metadata(number)
        processed = folder.processed(number)
        if number in pending.processed or processed in loaded or _has_no_row(storage, path):
            yield path
        else:
            warnings.append(
                f"{processed} is missing, which {path} describes: the chunk is not loaded. "
                f"Restore the file, or send {parent.archived_raw_file} round again with `tidegate chunks requeue`"
            )
    for number in sorted(pending.raw - pending.described - pending.processed):
        warnings.append(f"{folder.chunk(number)} is not processed yet: it has neither metadata nor a result")


def _has_no_row(storage: Storage, path: str) -> bool:
    try:
        return ChunkProcessingMetadata.load(storage, path).metrics.success == 0
    except (FileNotFoundError, StorageError):
        return False


def _clean(
    storage: Storage,
    parent: BronzeToSilverProcessingMetadata,
    pending: _Pending,
    numbers: list[int],
    result: PendingLoads,
) -> None:
    """What a load that was stopped at its very end left. A chunk that the parent does not count is no leftover."""
    loaded = set(parent.processed_chunks)
    for number in numbers:
        folder = pending.folder
        if folder.processed(number) in loaded:
            remove_chunk(storage, folder.chunk(number))
        else:
            result.warnings.append(
                f"{folder.chunk_metadata(number)} belongs to {parent.metadata_s3_path}, which is complete without it: "
                "it is left alone"
            )


def _text(error: StorageError) -> str:
    return f"{error.message}; {error.remedy}" if error.remedy else error.message
