"""Pieces of a raw file → Parquet chunks of equally many rows, and the file of its unreadable records.

Names depend on nothing but the file, so writing again replaces what a killed process has written.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from types import TracebackType
from typing import Self

import pyarrow as pa
from pyarrow import parquet

from tidegate.chunks.error_rows import ERROR_SCHEMA, unreadable_rows
from tidegate.chunks.layout import RunFolder
from tidegate.chunks.reading.pieces import ROW, SOURCE_FILE, FilePiece
from tidegate.faults import fault
from tidegate.storage import Storage

__all__ = ["ChunkWriter"]


class ChunkWriter:
    """A context: what is still being written is waited for at its end. One chunk is written while the next is read."""

    def __init__(self, storage: Storage, folder: RunFolder, source_file: str, size: int) -> None:
        self.chunks: list[str] = []
        self.rows = 0
        self.unreadable = 0
        self._storage, self._folder, self._source_file, self._size = storage, folder, source_file, size
        self._held: list[pa.Table] = []
        self._held_rows = 0
        self._stack = ExitStack()
        self._errors: parquet.ParquetWriter | None = None
        self._thread = ThreadPoolExecutor(1, "chunk-writer")
        self._writing: Future[None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self._thread:
            # With the exception, so that an errors file that is not complete does not appear.
            self._stack.__exit__(kind, error, traceback)

    def add(self, piece: FilePiece) -> None:
        if piece.unreadable:
            self._add_unreadable(piece)
        table = self._table(piece)
        while table.num_rows:
            taken = table.slice(0, self._size - self._held_rows)
            table = table.slice(taken.num_rows)
            self._held.append(taken)
            self._held_rows += taken.num_rows
            if self._held_rows == self._size:
                self._flush()

    def finish(self) -> None:
        """Everything that was added is on the storage."""
        if self._held_rows:
            self._flush()
        self._wait()
        self._stack.close()

    def _table(self, piece: FilePiece) -> pa.Table:
        count = len(piece.numbers)
        self.rows += count
        source = pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int8()), pa.array([self._source_file]))
        return pa.table({**piece.columns, SOURCE_FILE: source.cast(pa.string()), ROW: piece.numbers})

    def _flush(self) -> None:
        table = pa.concat_tables(self._held, promote_options="default")
        self._held, self._held_rows = [], 0
        path = self._folder.chunk(len(self.chunks))
        self._wait()
        self._writing = self._thread.submit(self._write, table, path)
        self.chunks.append(path)

    def _wait(self) -> None:
        if self._writing is not None:
            self._writing.result()
            self._writing = None

    def _write(self, table: pa.Table, path: str) -> None:
        """One row group, so that one task of Spark reads it and its rows keep their order."""
        with self._storage.writer(path) as file:
            parquet.write_table(table, file, row_group_size=table.num_rows, compression="snappy", use_dictionary=False)
        fault("after_chunk")

    def _add_unreadable(self, piece: FilePiece) -> None:
        if self._errors is None:
            file = self._stack.enter_context(self._storage.writer(self._folder.unreadable))
            self._errors = self._stack.enter_context(parquet.ParquetWriter(file, ERROR_SCHEMA))
        self._errors.write_table(unreadable_rows(self._source_file, piece.unreadable))
        self.unreadable += len(piece.unreadable)
