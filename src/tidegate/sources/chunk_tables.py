"""The Delta tables that chunked loads fill: `silver/NAME/records.delta` below `[chunks] root` is `silver.NAME`."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

from tidegate.config import S3Section, Settings
from tidegate.config.chunk_settings import delta_table
from tidegate.datatypes import NOTHING_KNOWN, Relation
from tidegate.errors import TableMissingError, TidegateError
from tidegate.lake.changes import TableChange, Untraceable
from tidegate.lake.delta_log import DeltaState, delta_change, read_delta_state
from tidegate.lake.progress import DeltaInput
from tidegate.names import TableName
from tidegate.sources.discoverer import SourceTable
from tidegate.storage import Storage, open_storage

__all__ = ["CHUNK_LAYER", "ChunkTable", "as_source_tables", "chunk_tables"]

CHUNK_LAYER = "silver"


class ChunkTable:
    """Nothing is read before it is needed, and then once: everyone who has this value sees one version of the table."""

    def __init__(self, table: TableName, root: str | Path, s3: S3Section) -> None:
        self.table = table
        self.path = delta_table(table.name)
        """Relative to the root of the storage."""
        self._root = root
        self._s3 = s3
        self._lock = threading.Lock()
        self._read: DeltaState | TidegateError | None = None
        self._is_read = False

    @property
    def relation(self) -> Relation:
        """Its columns. What cannot be read is reported by those who read its rows."""
        state = self._state()
        return state.relation if isinstance(state, DeltaState) else NOTHING_KNOWN

    @property
    def problem(self) -> str | None:
        try:
            self.require()
        except TidegateError as error:
            return error.message
        return None

    def require(self) -> DeltaState:
        """Raises TableMissingError where nothing has been loaded, LakeError and StorageError."""
        state = self._state()
        if isinstance(state, TidegateError):
            raise state
        if state is None:
            raise TableMissingError(
                f"nothing has been loaded into {self.table.layer}.{self.table.name} yet",
                where=self.where,
                remedy="run `tidegate chunks chunk`, `process` and `load`",
            )
        return state

    def change_since(self, last_read: DeltaInput) -> TableChange | Untraceable | None:
        return delta_change(self._storage(), self.path, self.require(), last_read)

    @property
    def spark_path(self) -> str:
        return self._storage().spark_path(self.path)

    @property
    def where(self) -> str:
        return f"{str(self._root).rstrip('/')}/{self.path}"

    def _storage(self) -> Storage:
        return open_storage(self._root, self._s3)

    def _state(self) -> DeltaState | TidegateError | None:
        with self._lock:
            if not self._is_read:
                try:
                    self._read = read_delta_state(self._storage(), self.path)
                except TidegateError as error:
                    self._read = error
                self._is_read = True
            return self._read


def chunk_tables(settings: Settings) -> Mapping[TableName, ChunkTable]:
    """Those of all sources, whether or not anything has been loaded. Reads nothing."""
    chunks = settings.chunks
    if not chunks.has_delta_tables:
        return {}
    tables = (TableName(settings.project.namespace, CHUNK_LAYER, name) for name in sorted(chunks.sources))
    return {table: ChunkTable(table, chunks.root, settings.s3) for table in tables}


def as_source_tables(settings: Settings) -> tuple[SourceTable, ...]:
    """With their columns, for people."""
    tables = chunk_tables(settings).values()
    return tuple(SourceTable(each.table, each.relation, "chunks", "delta", each.problem) for each in tables)
