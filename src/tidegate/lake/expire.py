"""Expire old snapshots by writing a new metadata file. Data files are left to the sweep.

Iceberg's own expiry deletes files immediately, and is disabled on purpose (`gc.enabled=false`): it sees one table on
one branch and would delete files that another branch still reads.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tidegate.lake.branch_catalog import Pointer
from tidegate.lake.metadata import TableMetadata, load_json, read_metadata
from tidegate.lake.next_metadata import write_next

__all__ = ["Expired", "expire_snapshots", "expired_snapshots"]


@dataclass(frozen=True, slots=True)
class Expired:
    """`pointer` is the new metadata file, which nothing refers to until it is published."""

    pointer: Pointer
    removed: tuple[int, ...]


def expired_snapshots(
    table: TableMetadata, *, keep_newest: int, newer_than: datetime, keep: Collection[int] = ()
) -> tuple[int, ...]:
    """Snapshots that no reader needs, oldest first.

    The current line stays unbroken down to the last snapshot that is among its newest, young, named in `keep`, or the
    last that changed rows: readers recognise the table's state by that one, and may read the changes since a snapshot
    only if they can see that it is an ancestor. What a ref names stays too.
    """
    limit = int(newer_than.timestamp() * 1000)
    needed_ids = set(keep) | {s.id for s in table.snapshots.values() if s.timestamp_ms >= limit}
    if table.last_change is not None:
        needed_ids.add(table.last_change.id)
    line = [s.id for s in table.ancestors()]
    depth = max((n for n, id in enumerate(line, 1) if n <= max(1, keep_newest) or id in needed_ids), default=0)
    stay = needed_ids | set(table.refs.values()) | set(line[:depth])
    old = sorted(table.snapshots.values(), key=lambda s: (s.sequence_number, s.id))
    return tuple(s.id for s in old if s.id not in stay)


def expire_snapshots(
    pointer: Pointer, *, keep_newest: int, newer_than: datetime, keep: Collection[int] = ()
) -> Expired | None:
    """Write the table's next metadata file without its expired snapshots; None: there are none."""
    table = read_metadata(pointer)
    if not isinstance(table, TableMetadata):
        return None
    removed = expired_snapshots(table, keep_newest=keep_newest, newer_than=newer_than, keep=keep)
    if not removed:
        return None
    data = _without(load_json(pointer.location), frozenset(removed))
    return Expired(write_next(pointer, data), removed)


def _without(data: dict[str, Any], removed: frozenset[int]) -> dict[str, Any]:
    """As Iceberg does: the log starts after the last removed entry, or time travel would hit the gap."""
    log: list[Mapping[str, Any]] = []
    for entry in data.get("snapshot-log", ()):
        log = [] if entry["snapshot-id"] in removed else [*log, entry]
    changed: dict[str, Any] = {"snapshot-log": log}
    for key in ("snapshots", "statistics", "partition-statistics"):
        if key in data:
            changed[key] = [item for item in data[key] if item["snapshot-id"] not in removed]
    return data | changed
