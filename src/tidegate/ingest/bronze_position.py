"""How far a bronze table has come: where the next logical run starts, and the landing files that are in it."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tidegate.ingest.batch_manifest import read_manifests
from tidegate.ingest.bound_origin import BoundOrigin
from tidegate.lake.consumed import read_consumed
from tidegate.lake.metadata import TableMetadata, ViewMetadata

__all__ = ["CHECKPOINT_PROPERTY", "BronzePosition", "bronze_position", "checkpoint_text", "position_after"]

CHECKPOINT_PROPERTY = "tidegate.checkpoint"
"""JSON with `checkpoint_value`, set in the publish that holds the rows up to it, and `source_specific_state_json`,
which is null outside a logical run."""


@dataclass(frozen=True, slots=True)
class BronzePosition:
    checkpoint: str | None = None
    """`checkpoint_value`; None before the first publish, and where the source has no boundary."""

    checkpoint_of: BoundOrigin | None = None
    """What it is a value of; None where it was not recorded."""

    consumed: frozenset[str] = frozenset()
    """Files of the zone, relative to it."""


def bronze_position(metadata: TableMetadata | ViewMetadata | None, zone: str) -> BronzePosition:
    """`metadata`: of the bronze table; None before its first publish."""
    if not isinstance(metadata, TableMetadata):
        return BronzePosition()
    progress, text = metadata.progress, metadata.properties.get(CHECKPOINT_PROPERTY)
    zone_input = progress.zones.get(zone) if progress else None
    consumed = read_consumed(metadata.table_location, zone_input).files if zone_input else ()
    recorded = json.loads(text) if text else {"checkpoint_value": None}
    known_origin = recorded.get("checkpoint_of")
    origin = None if known_origin is None else BoundOrigin(**known_origin)
    return BronzePosition(recorded["checkpoint_value"], origin, frozenset(file.path for file in consumed))


def position_after(zone: Path, read: Collection[str], before: BronzePosition) -> BronzePosition:
    """Once the files of `read` are in bronze too: the bound of the newest complete logical run that is there with all
    its files; without one as it was `before`."""
    consumed = before.consumed.union(read)
    for manifest in reversed(read_manifests(zone)):
        if manifest.complete and manifest.next is not None and consumed.issuperset(manifest.files):
            return BronzePosition(manifest.next, manifest.bound_of, consumed)
    return replace(before, consumed=consumed)


def checkpoint_text(position: BronzePosition) -> str:
    """The property."""
    origin = None if position.checkpoint_of is None else asdict(position.checkpoint_of)
    recorded = {"checkpoint_value": position.checkpoint, "checkpoint_of": origin, "source_specific_state_json": None}
    return json.dumps(recorded, sort_keys=True)
