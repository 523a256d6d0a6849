"""The processed chunks of one raw file → its table, batch by batch, and the parent's metadata, which counts them.

A batch is recorded in the parent before it is written, and its number is the transaction of the commit. Whatever
process comes next finishes it first: the table takes a transaction once, and the parent counts its chunks in the same
write that ends the batch. Files of chunks are removed after that, so a crash at any point loses and doubles nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from tidegate.chunks.folders import remove_empty_folders
from tidegate.chunks.layout import chunk_path
from tidegate.chunks.load_batches import ChunkDamage, LoadBatch, ReadyChunk, gather, inspect_chunk
from tidegate.chunks.pending_loads import remove_chunk
from tidegate.chunks.processing_metadata import (
    BronzeToSilverProcessingMetadata,
    ChunkProcessingMetadata,
    PendingBatch,
    ProcessingMetrics,
)
from tidegate.chunks.table_batch import BatchOutcome, LoadTable, TableBatch, TableKey, Transaction
from tidegate.chunks.write_retries import WriteRetries
from tidegate.errors import StorageError, TidegateError
from tidegate.faults import fault
from tidegate.storage import Storage

__all__ = ["BronzeLoader", "LoadProgress", "LoadResult"]


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """After a batch."""

    parent_path: str
    batch: int
    rows: int
    """Of the batch."""

    chunks_loaded: int
    chunks: int
    """Of the file."""


@dataclass(slots=True)
class LoadResult:
    parent_path: str
    table: str
    status: str = "partial"
    """complete; partial: chunks of the file are not processed, or cannot be loaded; busy: another process loads."""

    batches: int = 0
    rows: int = 0
    inserted: int = 0
    updated: int = 0
    unchanged: int = 0
    repeated: int = 0
    metrics: ProcessingMetrics = field(default_factory=ProcessingMetrics)
    """Of the whole file so far."""

    drift: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        return {
            "parent_metadata_s3_path": self.parent_path,
            "output_delta_table": self.table,
            "status": self.status,
            "batches": self.batches,
            "rows": self.rows,
            "inserted": self.inserted,
            "updated": self.updated,
            "unchanged": self.unchanged,
            "repeated": self.repeated,
            "metrics": self.metrics.model_dump(),
            "drift": list(self.drift),
            "warnings": list(self.warnings),
        }

    def add(self, batch: LoadBatch, outcome: BatchOutcome) -> None:
        self.batches += 1
        self.rows += batch.rows
        self.inserted += outcome.inserted
        self.updated += outcome.updated
        self.unchanged += outcome.unchanged
        self.repeated += outcome.repeated
        self.drift += outcome.drift


@dataclass(slots=True)
class BronzeLoader:
    """`require_lease` raises where this process may write the table no more."""

    storage: Storage
    table: LoadTable
    key: TableKey
    batch_size: int
    retries: WriteRetries
    require_lease: Callable[[], None] = lambda: None
    notify: Callable[[str], None] = lambda line: None
    progress: Callable[[LoadProgress], None] = lambda progress: None
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def run(self, parent_path: str, chunk_paths: Sequence[str]) -> LoadResult:
        parent = BronzeToSilverProcessingMetadata.load(self.storage, parent_path)
        result = LoadResult(parent_path, parent.output_delta_table)
        if parent.end_timestamp is None:
            parent = self._finish_pending(parent, result)
            for batch in gather(self._ready(parent, chunk_paths, result), self.batch_size):
                parent = self._load(self._recorded(parent, batch), batch, result)
            parent = self._finalize(parent)
        result.metrics = parent.metrics
        result.status = "partial" if parent.end_timestamp is None else "complete"
        return result

    def _finish_pending(
        self, parent: BronzeToSilverProcessingMetadata, result: LoadResult
    ) -> BronzeToSilverProcessingMetadata:
        """The batch that an earlier process recorded, with the same chunks and the same number."""
        if parent.batch is None:
            return parent
        paths = parent.batch.chunk_metadata_s3_paths
        chunks = tuple(self._read(paths, result))
        batch = LoadBatch(chunks)
        if len(chunks) == len(paths):
            return self._load(parent, batch, result)
        transaction = self._transaction(parent, parent.batch)
        if self.table.has(transaction):
            result.warnings.append(
                f"batch {parent.batch.number} of {parent.metadata_s3_path} is in the table, but chunks of it are "
                "missing or damaged: their rows are not in the metrics"
            )
            return self._counted(parent, batch, result, BatchOutcome(applied=False))
        # Not written, and never will be as it was: its sound chunks go into another batch.
        return self._saved(parent, batch=None)

    def _ready(
        self, parent: BronzeToSilverProcessingMetadata, chunk_paths: Sequence[str], result: LoadResult
    ) -> Iterable[ReadyChunk]:
        loaded = set(parent.processed_chunks)
        for chunk in self._read(chunk_paths, result):
            if chunk.metadata.output_processed_s3_path in loaded:
                remove_chunk(self.storage, chunk.metadata.input_chunk_s3_path)
            else:
                yield chunk

    def _read(self, chunk_paths: Sequence[str], result: LoadResult) -> Iterable[ReadyChunk]:
        for path in sorted(chunk_paths, key=lambda path: _place(path) or (path, 0)):
            try:
                chunk = inspect_chunk(self.storage, ChunkProcessingMetadata.load(self.storage, path))
            except FileNotFoundError:  # it is loaded: metadata goes last
                continue
            except StorageError as error:
                chunk = ChunkDamage(path, error.message)
            if isinstance(chunk, ReadyChunk):
                yield chunk
            else:
                result.warnings.append(f"{chunk.reason}: the chunk is not loaded")

    def _recorded(self, parent: BronzeToSilverProcessingMetadata, batch: LoadBatch) -> BronzeToSilverProcessingMetadata:
        fault("before_load_batch")
        pending = PendingBatch(number=parent.batches_done + 1, chunk_metadata_s3_paths=batch.metadata_paths)
        parent = self._saved(parent, batch=pending)
        fault("after_load_batch")
        return parent

    def _load(
        self, parent: BronzeToSilverProcessingMetadata, batch: LoadBatch, result: LoadResult
    ) -> BronzeToSilverProcessingMetadata:
        outcome = BatchOutcome()
        while batch.rows and parent.batch is not None:
            transaction = self._transaction(parent, parent.batch)
            outcome = self._write(batch, transaction)
            if outcome.applied or self.table.has(transaction):
                break
            # The table has another batch of this number: a process that was taken for dead wrote it.
            pending = parent.batch.model_copy(update={"number": parent.batch.number + 1})
            parent = self._saved(parent, batch=pending)
        fault("after_load_commit")
        return self._counted(parent, batch, result, outcome)

    def _write(self, batch: LoadBatch, transaction: Transaction) -> BatchOutcome:
        self.require_lease()
        paths = tuple(self.storage.spark_path(path) for path in batch.processed_paths)
        write = TableBatch(paths, batch.rows, self.key, transaction)
        try:
            return self.retries.call(lambda: self.table.write(write), self.notify)
        except TidegateError:
            raise
        except Exception as error:
            # Spark's own exceptions; imported here, as listing the work needs no Spark.
            from tidegate.spark.spark_errors import read_failure

            failure = read_failure(error)
            raise StorageError(
                f"batch {transaction.version} cannot be written: {failure.message}",
                where=f"{self.storage.location}/{batch.chunks[0].metadata.parent_metadata_s3_path}",
                remedy=failure.remedy or "Nothing is lost: the next load begins with this batch.",
                kind=failure.kind,
            ) from error

    def _counted(
        self, parent: BronzeToSilverProcessingMetadata, batch: LoadBatch, result: LoadResult, outcome: BatchOutcome
    ) -> BronzeToSilverProcessingMetadata:
        """One write of the parent ends the batch, counts its chunks and, where they are the last, completes it."""
        assert parent.batch is not None
        chunks = [chunk.metadata for chunk in batch.chunks]
        errors = [chunk.errors_s3_path for chunk in chunks if chunk.errors_s3_path is not None]
        metrics = sum((chunk.metrics for chunk in chunks), parent.metrics)
        counted = parent.model_copy(
            update={
                "batch": None,
                "batches_done": parent.batch.number,
                "processed_chunks": [*parent.processed_chunks, *(chunk.output_processed_s3_path for chunk in chunks)],
                "errors_s3_path": [*parent.errors_s3_path, *(e for e in errors if e not in parent.errors_s3_path)],
                "metrics": metrics,
            }
        )
        done = self._saved(counted, end_timestamp=self.now() if self._is_complete(counted) else None)
        fault("after_load_counted")
        if done.end_timestamp is not None:
            self._remove_what_killed_processes_left(done)
        for chunk in chunks:
            remove_chunk(self.storage, chunk.input_chunk_s3_path)
            fault("inside_load_cleanup")
        if done.end_timestamp is not None:
            remove_empty_folders(self.storage, done.folder.pending)
        fault("after_load_cleanup")
        result.add(batch, outcome)
        loaded, of = len(done.processed_chunks), done.n_chunks
        self.progress(LoadProgress(done.metadata_s3_path, parent.batch.number, batch.rows, loaded, of))
        return done

    def _remove_what_killed_processes_left(self, parent: BronzeToSilverProcessingMetadata) -> None:
        """Beside the chunks, of which at least one is still there: else nothing would lead here again."""
        for file in list(self.storage.list(parent.folder.pending)):
            if chunk_path(file.path) is None:
                self.storage.delete(file.path)
        self.storage.remove_unfinished(parent.folder.pending)

    def _finalize(self, parent: BronzeToSilverProcessingMetadata) -> BronzeToSilverProcessingMetadata:
        """A file whose last chunks were removed by a process that then was killed; else it is complete already."""
        if parent.end_timestamp is None and parent.batch is None and self._is_complete(parent):
            return self._saved(parent, end_timestamp=self.now())
        return parent

    def _is_complete(self, parent: BronzeToSilverProcessingMetadata) -> bool:
        """No chunk remains, raw or processed, and none is missing."""
        if not parent.is_chunked:
            return False
        loaded = {_place(path) for path in parent.processed_chunks}
        there = {_place(file.path) for file in self.storage.list(parent.folder.pending)} - {None}
        return {_place(path) for path in parent.raw_chunks} | there <= loaded

    def _saved(self, parent: BronzeToSilverProcessingMetadata, **changes: Any) -> BronzeToSilverProcessingMetadata:
        self.require_lease()
        changed = parent.model_copy(update=changes)
        changed.save(self.storage, changed.metadata_s3_path)
        return changed

    def _transaction(self, parent: BronzeToSilverProcessingMetadata, batch: PendingBatch) -> Transaction:
        """A file that is sent round again has the same folder, and is another load."""
        application = f"{parent.metadata_s3_path}@{parent.start_timestamp.isoformat()}"
        return Transaction(application, batch.number, _content(batch.chunk_metadata_s3_paths))


def _place(path: str) -> tuple[str, int] | None:
    place = chunk_path(path)
    return (place.folder.pending, place.number) if place is not None else None


def _content(paths: Sequence[str]) -> str:
    return sha256("\n".join(paths).encode()).hexdigest()[:16]
