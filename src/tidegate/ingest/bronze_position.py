"""How far a bronze table has come: where the next logical run starts, and the landing files that are in it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tidegate.contracts.connectors import Connector
from tidegate.ingest.batch_manifest import read_manifests
from tidegate.ingest.bound_origin import BoundOrigin
from tidegate.lake.consumed import ConsumedFile, read_consumed
from tidegate.lake.metadata import TableMetadata, ViewMetadata

__all__ = [
    "CHECKPOINT_PROPERTY",
    "PARTIAL_PROPERTY",
    "BronzePosition",
    "bronze_position",
    "checkpoint_text",
    "files_in_bronze",
    "partial_snapshots",
    "position_after",
    "snapshot_of",
]

CHECKPOINT_PROPERTY = "tidegate.checkpoint"
"""JSON with `checkpoint_value`, set in the publish that holds the rows up to it, and `source_specific_state_json`,
which is null outside a logical run."""

PARTIAL_PROPERTY = "tidegate.partial-snapshots"
"""JSON: the names of snapshots of which the table has not all files, because some were gone when it was built again."""


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
    text = metadata.properties.get(CHECKPOINT_PROPERTY)
    recorded = json.loads(text) if text else {"checkpoint_value": None}
    known_origin = recorded.get("checkpoint_of")
    origin = None if known_origin is None else BoundOrigin(**known_origin)
    consumed = frozenset(file.path for file in files_in_bronze(metadata, zone))
    return BronzePosition(recorded["checkpoint_value"], origin, consumed)


def files_in_bronze(metadata: TableMetadata, zone: str) -> tuple[ConsumedFile, ...]:
    """Files of the zone that the bronze table has consumed."""
    zone_input = metadata.progress.zones.get(zone) if metadata.progress else None
    return read_consumed(metadata.table_location, zone_input).files if zone_input else ()


def snapshot_of(file: ConsumedFile, connector: Connector) -> str:
    """The name of the complete snapshot that the file is part of: a connector names the folder of its files after its
    run; files that others deliver are a snapshot together with all that one run took."""
    return file.path.split("/")[-2] if connector.reads_source else file.run_id


def partial_snapshots(files: Collection[ConsumedFile], there: Collection[str], connector: Connector) -> tuple[str, ...]:
    """Snapshots of which some files are gone, or replaced by others, where bronze is built again from those that are
    `there`, which are paths."""
    partial = {snapshot_of(file, connector) for file in files if file.path not in there}
    if not connector.reads_source:
        left = Counter(file.run_id for file in files if file.path in there)
        partial |= {file.run_id for file in files if file.together and left[file.run_id] < file.together}
    return tuple(sorted(partial))


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
