"""Invented pointers on a lake whose server reads metadata files: each stands for a file that is written for it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection
from pathlib import Path
from typing import Any

from tidegate.lake.branch_catalog import MAIN, BranchCatalog, Change, Heads, Pointer, PointerKind
from tidegate.lake.metadata import load_json
from tidegate.names import TableName

_PLACE = "file:/w/"
_VERSION = "test.version"
_FIELDS = [{"id": 1, "name": "id", "required": False, "type": "long"}]
_SCHEMA = {"type": "struct", "schema-id": 0, "fields": _FIELDS}
_MOMENT = 1_700_000_000_000


class Invented:
    """The catalog as tests see it that only move pointers, such as `file:/w/o1.metadata.json`."""

    def __init__(self, real: BranchCatalog, folder: Path) -> None:
        self._real = real
        self._folder = folder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def head(self, branch: str = MAIN) -> Heads:
        return {table: _named(pointer) for table, pointer in self._real.head(branch).items()}

    def pointer(self, branch: str, table: TableName) -> Pointer | None:
        return _shown(self._real.pointer(branch, table))

    def all_pointers(self) -> frozenset[Pointer]:
        return frozenset(map(_named, self._real.all_pointers()))

    def changed_tables(self, branch: str) -> tuple[Change, ...]:
        return tuple(map(_changed, self._real.changed_tables(branch)))

    def publish(
        self,
        branch: str,
        tables: Collection[TableName],
        accept: Heads | None = None,
        unmoved: Heads | None = None,
    ) -> tuple[Change, ...]:
        moved = self._real.publish(branch, tables, self._on_main(accept), self._on_main(unmoved))
        return tuple(map(_changed, moved))

    def restore(self, branch: str, table: TableName, pointer: Pointer | None) -> None:
        if pointer is not None and pointer.location.startswith(_PLACE):
            pointer = self._written(branch, table, pointer)
        self._real.restore(branch, table, pointer)

    def _on_main(self, heads: Heads | None) -> Heads:
        main = {table: self._real.pointer(MAIN, table) for table in heads or {}}
        return {
            table: here if (here := main[table]) is not None and _named(here) == pointer else pointer
            for table, pointer in (heads or {}).items()
        }

    def _written(self, branch: str, table: TableName, pointer: Pointer) -> Pointer:
        """The file that has the name already, or a new one: a commit upon what the branch has."""
        changes = [change for change in self._real.changed_tables(branch) if change.table == table]
        now = self._real.pointer(branch, table)
        known = [now, self._real.pointer(MAIN, table), *(change.before for change in changes)]
        for found in known:
            if found is not None and _named(found) == pointer:
                return found
        upon = now.location if now is not None and now.kind is pointer.kind else None
        version = pointer.location.removeprefix(_PLACE)
        identity = uuid.uuid5(uuid.NAMESPACE_URL, f"{table} {pointer.kind} {version} {upon}")
        place = self._folder / "warehouse" / str(table)
        make = _view if pointer.kind is PointerKind.VIEW else _table
        path = place / "metadata" / f"{identity.hex}.metadata.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(make(load_json(upon) if upon else None, place, version, identity)))
        return Pointer(pointer.kind, f"file:{path}")


def _table(before: Any, place: Path, version: str, identity: uuid.UUID) -> dict[str, Any]:
    if before is None:
        before = {
            "format-version": 3,
            "table-uuid": str(identity),
            "location": f"file:{place}",
            "last-sequence-number": 0,
            "last-column-id": 1,
            "current-schema-id": 0,
            "schemas": [_SCHEMA],
            "default-spec-id": 0,
            "partition-specs": [{"spec-id": 0, "fields": []}],
            "last-partition-id": 999,
            "default-sort-order-id": 0,
            "sort-orders": [{"order-id": 0, "fields": []}],
            "properties": {},
            "next-row-id": 0,
            "snapshots": [],
        }
    number, parent = identity.int >> 65, before.get("current-snapshot-id", -1)
    snapshot = {
        "snapshot-id": number,
        **({} if parent == -1 else {"parent-snapshot-id": parent}),
        "sequence-number": before["last-sequence-number"] + 1,
        "timestamp-ms": _MOMENT + before["last-sequence-number"],
        "manifest-list": f"file:{place}/metadata/snap-{number}.avro",
        "schema-id": 0,
        "first-row-id": before["next-row-id"],
        "added-rows": 10,
        "summary": {"operation": "append"},
    }
    return {
        **before,
        "last-updated-ms": snapshot["timestamp-ms"],
        "last-sequence-number": snapshot["sequence-number"],
        "properties": {**before["properties"], _VERSION: version},
        "next-row-id": before["next-row-id"] + 10,
        "current-snapshot-id": number,
        "snapshots": [*before["snapshots"], snapshot],
        "refs": {"main": {"snapshot-id": number, "type": "branch"}},
        "snapshot-log": [*before.get("snapshot-log", ()), {"timestamp-ms": _MOMENT, "snapshot-id": number}],
        "metadata-log": [],
    }


def _view(before: Any, place: Path, version: str, identity: uuid.UUID) -> dict[str, Any]:
    if before is not None:
        return {**before, "properties": {**before.get("properties", {}), _VERSION: version}}
    text = {"type": "sql", "sql": "SELECT 1L AS id", "dialect": "spark"}
    first = {"version-id": 1, "timestamp-ms": _MOMENT, "schema-id": 0, "summary": {}, "representations": [text]}
    return {
        "view-uuid": str(identity),
        "format-version": 1,
        "location": f"file:{place}",
        "current-version-id": 1,
        "versions": [{**first, "default-namespace": ["shop", "gold"]}],
        "version-log": [{"timestamp-ms": _MOMENT, "version-id": 1}],
        "schemas": [_SCHEMA],
        "properties": {_VERSION: version},
    }


def _named(pointer: Pointer) -> Pointer:
    """A real one, which Spark has written, is its own name."""
    version = load_json(pointer.location).get("properties", {}).get(_VERSION)
    return Pointer(pointer.kind, _PLACE + version) if version else pointer


def _shown(pointer: Pointer | None) -> Pointer | None:
    return pointer and _named(pointer)


def _changed(change: Change) -> Change:
    return Change(change.table, _shown(change.before), _shown(change.after))
