"""What identifies a row of a source's table: as tidegate.toml says, else its contract."""

from __future__ import annotations

from tidegate.chunks.rules.source_rules import source_rules
from tidegate.chunks.table_batch import TableKey
from tidegate.config import ChunkSource, Settings

__all__ = ["table_key"]


def table_key(settings: Settings, source: ChunkSource) -> TableKey:
    """Raises ConfigError and ContractValidationError."""
    rules = source_rules(settings.root, source)
    return TableKey(rules.key, rules.partition_key)
