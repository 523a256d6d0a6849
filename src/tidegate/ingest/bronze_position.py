"""How far a bronze table has come: its checkpoint, and the landing files that are in it."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.lake.consumed import read_consumed
from tidegate.lake.metadata import TableMetadata, ViewMetadata

__all__ = ["CHECKPOINT_PROPERTY", "BronzePosition", "bronze_position"]

CHECKPOINT_PROPERTY = "tidegate.checkpoint"
"""`checkpoint_value`, set in the publish that holds the rows up to it."""


@dataclass(frozen=True, slots=True)
class BronzePosition:
    checkpoint: str | None = None
    consumed: frozenset[str] = frozenset()
    """Files of the zone, relative to it."""


def bronze_position(metadata: TableMetadata | ViewMetadata | None, zone: str) -> BronzePosition:
    """`metadata`: of the bronze table; None before its first publish."""
    if not isinstance(metadata, TableMetadata):
        return BronzePosition()
    progress = metadata.progress
    zone_input = progress.zones.get(zone) if progress else None
    consumed = read_consumed(metadata.table_location, zone_input).files if zone_input else ()
    return BronzePosition(metadata.properties.get(CHECKPOINT_PROPERTY), frozenset(file.path for file in consumed))
