"""What identifies a row of a source's table: as tidegate.toml says, else its contract."""

from __future__ import annotations

from tidegate.chunks.table_batch import TableKey
from tidegate.config import ChunkSource, Settings

__all__ = ["table_key"]


def table_key(settings: Settings, source: ChunkSource) -> TableKey:
    if source.primary_key or source.contract is None:
        return TableKey(source.primary_key, source.partition_key)
    return TableKey((), source.partition_key)
