"""Whole chunks gathered into batches, by row counts from the footers of their files: no row is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tidegate.chunks.processing_metadata import ChunkProcessingMetadata
from tidegate.failures import first_line
from tidegate.storage import Storage

__all__ = ["ChunkDamage", "LoadBatch", "ReadyChunk", "gather", "inspect_chunk"]


@dataclass(frozen=True, slots=True)
class ReadyChunk:
    metadata: ChunkProcessingMetadata
    rows: int
    """Of its processed file; 0 where it has none, as every row was rejected."""

    columns: str = ""
    """With their types; chunks that were processed by changed rules have others."""


@dataclass(frozen=True, slots=True)
class ChunkDamage:
    path: str
    """Of the metadata."""

    reason: str


@dataclass(frozen=True, slots=True)
class LoadBatch:
    chunks: tuple[ReadyChunk, ...]

    @property
    def rows(self) -> int:
        return sum(chunk.rows for chunk in self.chunks)

    @property
    def metadata_paths(self) -> list[str]:
        return [chunk.metadata.metadata_s3_path for chunk in self.chunks]

    @property
    def processed_paths(self) -> list[str]:
        """Files with rows."""
        return [chunk.metadata.output_processed_s3_path for chunk in self.chunks if chunk.rows]


def gather(chunks: Iterable[ReadyChunk], least_rows: int) -> Iterator[LoadBatch]:
    """In their order. A batch has so many rows or more, and fewer without its last chunk; it has fewer where it is the
    last, or where the next chunk has other columns."""
    waiting: list[ReadyChunk] = []
    rows = 0
    for chunk in chunks:
        if chunk.rows and any(other.rows and other.columns != chunk.columns for other in waiting):
            yield LoadBatch(tuple(waiting))
            waiting, rows = [], 0
        waiting.append(chunk)
        rows += chunk.rows
        if rows >= least_rows:
            yield LoadBatch(tuple(waiting))
            waiting, rows = [], 0
    if waiting:
        yield LoadBatch(tuple(waiting))


def inspect_chunk(storage: Storage, chunk: ChunkProcessingMetadata) -> ReadyChunk | ChunkDamage:
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    path = chunk.output_processed_s3_path
    try:
        with storage.open(path) as file, ParquetFile(file) as parquet:
            return ReadyChunk(
                chunk, parquet.metadata.num_rows, parquet.schema_arrow.to_string(show_schema_metadata=False)
            )
    except FileNotFoundError:
        if chunk.metrics.success == 0:
            return ReadyChunk(chunk, 0)
        return ChunkDamage(chunk.metadata_s3_path, f"{path} is missing, which its metadata describes")
    except (ArrowException, OSError) as error:
        return ChunkDamage(chunk.metadata_s3_path, f"{path} cannot be read: {first_line(error)}")
