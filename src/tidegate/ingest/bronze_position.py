"""How far a bronze table has come: where the next logical run starts, and the landing files that are in it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from tidegate.contracts.connectors import Connector
from tidegate.ingest.batch_manifest import read_manifests
from tidegate.lake.consumed import ConsumedFile, read_consumed
from tidegate.lake.metadata import TableMetadata, ViewMetadata

__all__ = [
    "CHECKPOINT_PROPERTY",
    "PARTIAL_PROPERTY",
    "BronzePosition",
    "bronze_position",
    "checkpoint_after",
    "checkpoint_text",
    "files_in_bronze",
    "partial_snapshots",
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

    consumed: frozenset[str] = frozenset()
    """Files of the zone, relative to it."""


def bronze_position(metadata: TableMetadata | ViewMetadata | None, zone: str) -> BronzePosition:
    """`metadata`: of the bronze table; None before its first publish."""
    if not isinstance(metadata, TableMetadata):
        return BronzePosition()
    text = metadata.properties.get(CHECKPOINT_PROPERTY)
    checkpoint = json.loads(text)["checkpoint_value"] if text else None
    return BronzePosition(checkpoint, frozenset(file.path for file in files_in_bronze(metadata, zone)))


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


def checkpoint_after(zone: Path, contract_id: str, consumed: Collection[str], before: str | None) -> str | None:
    """The bound of the newest complete logical run whose files are all in bronze; without one as it was `before`."""
    known_files = frozenset(consumed)
    own = (each for each in read_manifests(zone) if each.contract_id == contract_id and each.complete)
    bounds = [each.next for each in own if each.next is not None and known_files.issuperset(each.files)]
    return bounds[-1] if bounds else before


def checkpoint_text(value: str | None) -> str:
    """The property."""
    return json.dumps({"checkpoint_value": value, "source_specific_state_json": None}, sort_keys=True)
