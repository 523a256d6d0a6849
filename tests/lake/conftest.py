"""Every catalog that stands behind the port is tried by the same tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.lake.places import Place
from tidegate.lake.branch_catalog import BranchCatalog, Pointer, PointerKind

if TYPE_CHECKING:
    pass

Made = tuple[int, int | None, str, dict[str, str]]


@pytest.fixture
def lake(place: Place) -> BranchCatalog:
    return place.open()


@pytest.fixture
def write_table(tmp_path: Path) -> Callable[..., Pointer]:
    """Writes a table's metadata file from a few words: snapshots are (id, parent, operation, extra summary)."""

    def write(*snapshots: Made, name: str = "00007-a", at: Path = tmp_path / "t", **extra: Any) -> Pointer:
        folder = at / "metadata"
        folder.mkdir(parents=True, exist_ok=True)
        last = snapshots[-1][0] if snapshots else -1
        data = {
            "format-version": 3,
            "table-uuid": "u-1",
            "location": f"file:{at}",
            "last-updated-ms": 100_000 + 1000 * len(snapshots),
            "last-sequence-number": len(snapshots),
            "current-schema-id": 0,
            "schemas": [{"schema-id": 0, "fields": [{"id": 1, "name": "id", "required": False, "type": "long"}]}],
            "default-spec-id": 0,
            "partition-specs": [{"spec-id": 0, "fields": []}],
            "default-sort-order-id": 0,
            "sort-orders": [{"order-id": 0, "fields": []}],
            "properties": {},
            "current-snapshot-id": last,
            "next-row-id": 10 * len(snapshots),
            "refs": {"main": {"snapshot-id": last, "type": "branch"}} if snapshots else {},
            "snapshots": [
                {
                    "snapshot-id": id,
                    **({} if parent is None else {"parent-snapshot-id": parent}),
                    "sequence-number": n,
                    "timestamp-ms": 100_000 + 1000 * n,
                    "manifest-list": f"file:{folder}/snap-{id}.avro",
                    "schema-id": 0,
                    "first-row-id": 10 * (n - 1),
                    "added-rows": 10,
                    "summary": {"operation": operation, "total-records": "10", **summary},
                }
                for n, (id, parent, operation, summary) in enumerate(snapshots, 1)
            ],
            "snapshot-log": [{"timestamp-ms": 1, "snapshot-id": id} for id, *_ in snapshots],
            "metadata-log": [],
            **extra,
        }
        path = folder / f"{name}.metadata.json"
        path.write_text(json.dumps(data))
        return Pointer(PointerKind.TABLE, f"file:{path}")

    return write
