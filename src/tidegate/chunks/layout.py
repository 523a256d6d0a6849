"""Where everything of a chunked load is, as paths relative to the root of its storage.

    bronze/<file>, bronze/<source>/…/<file>                      raw files, as delivered
    chunked_bronze/<source>/<run>/chunk_<n>.parquet              pending: a piece of a raw file
    chunked_bronze/<source>/<run>/chunk_<n>_processed.parquet    its valid rows, typed
    chunked_bronze/<source>/<run>/chunk_<n>_metadata.json        how it was processed
    archived_bronze/<source>/<run>/<file>                        the raw file, for good
    archived_bronze/<source>/<run>/metadata.json                 how far the file has come
    archived_bronze/<source>/<run>/errors/chunk_<n>.parquet      rejected rows of a chunk
    archived_bronze/<source>/<run>/errors/records.parquet        records of the file that cannot be read
    silver/<source>/records.delta                                the table
    silver/<source>/.load/<holder>.json                          while a process loads it: which one

What is below `chunked_bronze` is pending work, and goes when it is done.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tidegate.config.chunk_settings import delta_table

__all__ = [
    "ARCHIVED",
    "BRONZE",
    "CHUNKED",
    "CHUNK_METADATA",
    "METADATA",
    "PROCESSED",
    "RAW",
    "SILVER",
    "ChunkPath",
    "RunFolder",
    "chunk_path",
    "delta_table",
    "lease_folder",
    "metadata_path",
    "processed_path",
    "run_of",
    "run_of_pending",
]

BRONZE, CHUNKED, ARCHIVED, SILVER = "bronze", "chunked_bronze", "archived_bronze", "silver"
METADATA = "metadata.json"

_PENDING = re.compile(rf"{CHUNKED}/(?P<source>[^/]+)/(?P<run>[^/]+)/chunk_(?P<number>\d+)(?P<kind>[^/]*)")
_ARCHIVED = re.compile(rf"{ARCHIVED}/(?P<source>[^/]+)/(?P<run>[^/]+)/.+")
RAW, PROCESSED, CHUNK_METADATA = ".parquet", "_processed.parquet", "_metadata.json"


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The places of one raw file. `run` is made from the path and the content of the file."""

    source: str
    run: str

    @property
    def pending(self) -> str:
        return f"{CHUNKED}/{self.source}/{self.run}"

    @property
    def archive(self) -> str:
        return f"{ARCHIVED}/{self.source}/{self.run}"

    @property
    def metadata(self) -> str:
        return f"{self.archive}/{METADATA}"

    @property
    def unreadable(self) -> str:
        return f"{self.archive}/errors/records.parquet"

    @property
    def chunking(self) -> str:
        """Who chunks the file now."""
        return f"{self.pending}/_chunking"

    @property
    def processing(self) -> str:
        """Who processes its chunks now, and what is not in its place yet."""
        return f"{self.pending}/_processing"

    def raw_file(self, name: str) -> str:
        """A raw file may be called as the metadata beside it, whose place it must not take."""
        return f"{self.archive}/{f'raw_{name}' if name.lower() == METADATA else name}"

    def chunk(self, number: int) -> str:
        return f"{self.pending}/chunk_{number}{RAW}"

    def processed(self, number: int) -> str:
        return f"{self.pending}/chunk_{number}{PROCESSED}"

    def chunk_metadata(self, number: int) -> str:
        return f"{self.pending}/chunk_{number}{CHUNK_METADATA}"

    def errors(self, number: int) -> str:
        return f"{self.archive}/errors/chunk_{number}.parquet"


@dataclass(frozen=True, slots=True)
class ChunkPath:
    folder: RunFolder
    number: int
    kind: str
    """RAW, PROCESSED or CHUNK_METADATA."""


def chunk_path(path: str) -> ChunkPath | None:
    """What a path below `chunked_bronze` is; None for anything else."""
    match = _PENDING.fullmatch(path)
    if match is None or match["kind"] not in (RAW, PROCESSED, CHUNK_METADATA):
        return None
    return ChunkPath(RunFolder(match["source"], match["run"]), int(match["number"]), match["kind"])


def run_of(path: str) -> RunFolder | None:
    """The run that a path below `chunked_bronze` or `archived_bronze` belongs to."""
    chunk = chunk_path(path)
    if chunk is not None:
        return chunk.folder
    match = _ARCHIVED.fullmatch(path)
    return None if match is None else RunFolder(match["source"], match["run"])


def run_of_pending(path: str) -> RunFolder | None:
    """The run that any path below `chunked_bronze` belongs to, temporary files too."""
    parts = path.split("/")
    return RunFolder(parts[1], parts[2]) if len(parts) > 3 and parts[0] == CHUNKED else None


def lease_folder(source: str) -> str:
    """Beside the table."""
    return f"{delta_table(source).rpartition('/')[0]}/.load"


def processed_path(chunk: str) -> str:
    """Of a raw chunk."""
    return f"{chunk.removesuffix(RAW)}{PROCESSED}"


def metadata_path(chunk: str) -> str:
    """Of a raw chunk."""
    return f"{chunk.removesuffix(RAW)}{CHUNK_METADATA}"
