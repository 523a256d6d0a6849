"""How far a bronze table has come: where the next logical run starts, and the landing files that are in it."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from tidegate.ingest.batch_manifest import read_manifests
from tidegate.lake.consumed import read_consumed
from tidegate.lake.metadata import TableMetadata, ViewMetadata

__all__ = ["CHECKPOINT_PROPERTY", "BronzePosition", "bronze_position", "checkpoint_after", "checkpoint_text"]

CHECKPOINT_PROPERTY = "tidegate.checkpoint"
"""JSON with `checkpoint_value`, set in the publish that holds the rows up to it, and `source_specific_state_json`,
which is null outside a logical run."""


@dataclass(frozen=True, slots=True)
class BronzePosition:
    checkpoint: str | None = None
    """`checkpoint_value`; None before the first publish, and where the source has no boundary."""

    consumed: frozenset[str] = frozenset()
    """Files of the zone, relative to it."""


def bronze_position(metadata: TableMetadata | ViewMetadata | None, zone: str) -> BronzePosition:
    """`metadata`: of the bronze table; None before its first publish."""
    if not isinstance(metadata, TableMetadata):
        return BronzePosition()
    progress, text = metadata.progress, metadata.properties.get(CHECKPOINT_PROPERTY)
    zone_input = progress.zones.get(zone) if progress else None
    consumed = read_consumed(metadata.table_location, zone_input).files if zone_input else ()
    checkpoint = json.loads(text)["checkpoint_value"] if text else None
    return BronzePosition(checkpoint, frozenset(file.path for file in consumed))


def checkpoint_after(zone: Path, contract_id: str, consumed: Collection[str], before: str | None) -> str | None:
    """The bound of the newest complete logical run whose files are all in bronze; without one as it was `before`."""
    known_files = frozenset(consumed)
    own = (each for each in read_manifests(zone) if each.contract_id == contract_id and each.complete)
    bounds = [each.next for each in own if each.next is not None and known_files.issuperset(each.files)]
    return bounds[-1] if bounds else before


def checkpoint_text(value: str | None) -> str:
    """The property."""
    return json.dumps({"checkpoint_value": value, "source_specific_state_json": None}, sort_keys=True)
