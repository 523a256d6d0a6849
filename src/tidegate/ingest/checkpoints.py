"""Where the next logical run of a contract starts, as its bronze table records it: moved in the publish of the rows."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from tidegate.ingest.batch_manifest import read_manifests
from tidegate.lake.consumed import read_consumed
from tidegate.lake.metadata import TableMetadata

__all__ = ["CHECKPOINT_PROPERTY", "BronzeState", "bronze_state", "checkpoint_after", "checkpoint_text"]

CHECKPOINT_PROPERTY = "tidegate.checkpoint"
"""Of a bronze table: JSON with `checkpoint_value`, and `source_specific_state_json`, which is null outside a run."""


@dataclass(frozen=True, slots=True)
class BronzeState:
    """What a bronze table has of its source."""

    checkpoint: str | None = None
    """`checkpoint_value`; None before the first run, and where the source has no boundary."""

    consumed: frozenset[str] = frozenset()
    """Files of the landing zone whose rows it holds, relative to the zone."""


def bronze_state(metadata: TableMetadata | None, zone: str) -> BronzeState:
    if metadata is None or metadata.progress is None:
        return BronzeState()
    text = metadata.properties.get(CHECKPOINT_PROPERTY)
    zone_input = metadata.progress.zones.get(zone)
    files = read_consumed(metadata.table_location, zone_input).files if zone_input else ()
    return BronzeState(json.loads(text)["checkpoint_value"] if text else None, frozenset(file.path for file in files))


def checkpoint_after(zone: Path, contract_id: str, consumed: Collection[str], before: str | None) -> str | None:
    """The bound of the newest complete logical run whose files are all in bronze; without one as it was `before`."""
    known_files = frozenset(consumed)
    own = (each for each in read_manifests(zone) if each.contract_id == contract_id and each.complete)
    bounds = [each.next for each in own if each.next is not None and known_files.issuperset(each.files)]
    return bounds[-1] if bounds else before


def checkpoint_text(value: str | None) -> str:
    """The JSON of the property."""
    return json.dumps({"checkpoint_value": value, "source_specific_state_json": None}, sort_keys=True)
