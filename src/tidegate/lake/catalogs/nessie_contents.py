"""Tables and views as Nessie holds them, the operations of a commit, and what a branch records about itself.

Nessie has nothing beside a reference's name and hash. A branch therefore has two namespaces of its own for its record
and its heartbeat, which are never published and are dropped with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tidegate.lake.branch_catalog import BranchInfo, Pointer, PointerKind
from tidegate.lake.catalogs.nessie_api import Content, Key, Tree
from tidegate.names import TableName

__all__ = [
    "BRANCH_RECORD",
    "HEARTBEAT",
    "BranchRecord",
    "Operation",
    "branch_info",
    "content_of",
    "heads",
    "key_of",
    "namespaces_for",
    "place",
    "pointer_of",
    "put_properties",
    "read_branch_record",
    "split_replacements",
    "unchanged",
]

Operation = Mapping[str, Any]

_TYPES = {PointerKind.TABLE: "ICEBERG_TABLE", PointerKind.VIEW: "ICEBERG_VIEW"}
_KINDS = {name: kind for kind, name in _TYPES.items()}


def key_of(table: TableName) -> Key:
    return table.namespace, table.layer, table.name


def pointer_of(content: Content | None) -> Pointer | None:
    kind = _KINDS.get(content["type"]) if content else None
    return Pointer(kind, content["metadataLocation"]) if content and kind else None


def heads(tree: Tree) -> dict[TableName, Pointer]:
    """Without tables of fewer or more levels, which belong to other programs."""
    pointers = ((key, pointer_of(content)) for key, content in tree.contents.items() if len(key) == 3)
    return {TableName(*key): pointer for key, pointer in pointers if pointer}


def content_of(pointer: Pointer, load: Callable[[str], Any]) -> Content:
    """What Nessie's client needs to know beside the metadata file, taken from that file."""
    data = load(pointer.location)
    common = {"type": _TYPES[pointer.kind], "metadataLocation": pointer.location}
    if pointer.kind is PointerKind.VIEW:
        current = data["current-version-id"]
        schema = next(v["schema-id"] for v in data["versions"] if v["version-id"] == current)
        return {**common, "versionId": current, "schemaId": schema, "sqlText": "-", "dialect": "-"}
    snapshot = data.get("current-snapshot-id")
    return {
        **common,
        "snapshotId": -1 if snapshot is None else snapshot,
        "schemaId": data["current-schema-id"],
        "specId": data["default-spec-id"],
        "sortOrderId": data["default-sort-order-id"],
    }


def place(tree: Tree, key: Key, content: Content | None) -> list[Operation]:
    """The operations that set `key` of the tree to `content` (None: delete it); none where it is that already."""
    current = tree.contents.get(key)
    name = {"elements": list(key)}
    delete = [{"type": "DELETE", "key": name}] if current is not None else []
    if content is None:
        return [*delete]
    if current is not None and pointer_of(current) == pointer_of(content):
        return []
    new = {field: value for field, value in content.items() if field != "id"}
    if current is not None and current["type"] == content["type"]:
        return [{"type": "PUT", "key": name, "content": {**new, "id": current["id"]}}]
    return [*delete, {"type": "PUT", "key": name, "content": new}]


def unchanged(key: Key) -> Operation:
    """Lets the commit fail if the key is no longer what it was at the commit's expected hash."""
    return {"type": "UNCHANGED", "key": {"elements": list(key)}}


def split_replacements(operations: Iterable[Operation]) -> tuple[list[Operation], list[Operation]]:
    """What must be committed before the rest: Nessie lets no view take the place of a table in one commit."""
    steps = list(operations)
    put = {tuple(step["key"]["elements"]) for step in steps if step["type"] == "PUT"}
    first = [step for step in steps if step["type"] == "DELETE" and tuple(step["key"]["elements"]) in put]
    return first, [step for step in steps if step not in first]


def namespaces_for(tree: Tree, keys: Iterable[Key], source: Tree | None = None) -> list[Operation]:
    """What the tree lacks to hold these keys; properties are as `source` has them."""
    namespaces = sorted({key[:depth] for key in keys for depth in range(1, len(key))})
    return [operation for key in namespaces if key not in tree.contents for operation in _namespace(key, source)]


def put_properties(tree: Tree, key: Key, properties: Mapping[str, str]) -> Operation:
    """Stores a few properties in a namespace that holds no tables."""
    current = tree.contents.get(key)
    identity = {"id": current["id"]} if current else {}
    content = {"type": "NAMESPACE", "elements": list(key), "properties": dict(properties), **identity}
    return {"type": "PUT", "key": {"elements": list(key)}, "content": content}


def _namespace(key: Key, source: Tree | None) -> list[Operation]:
    content = source.contents.get(key) if source else None
    properties = content.get("properties", {}) if content and content["type"] == "NAMESPACE" else {}
    namespace = {"type": "NAMESPACE", "elements": list(key), "properties": properties}
    return [{"type": "PUT", "key": {"elements": list(key)}, "content": namespace}]


BRANCH_RECORD: Key = ("_tidegate_branch",)
HEARTBEAT: Key = ("_tidegate_heartbeat",)
"""Separate from the record, so that a heartbeat is a small commit that conflicts with nothing."""

_OUR_NAMES = re.compile(r"(?:run|read|maintain)-(\d{8}-\d{6})\b.*")


@dataclass(frozen=True, slots=True)
class BranchRecord:
    """What a branch of Tidegate records about itself."""

    main: str
    """The branch that it was created from."""
    created_at: datetime
    base: str
    """The commit that it was created from."""
    moved: Mapping[TableName, Pointer | None] = field(default_factory=dict)
    """Tables whose base differs from that commit, because they were published since."""
    kept: bool = False

    def properties(self) -> dict[str, str]:
        moved = [[*table, *((p.kind.value, p.location) if p else ())] for table, p in sorted(self.moved.items())]
        return {
            "main": self.main,
            "created_at": self.created_at.isoformat(),
            "base": self.base,
            "moved": json.dumps(moved, separators=(",", ":")),
            "kept": str(self.kept).lower(),
        }


def read_branch_record(tree: Tree) -> BranchRecord | None:
    """None: the branch is not one of Tidegate."""
    content = tree.contents.get(BRANCH_RECORD)
    if content is None:
        return None
    properties = content["properties"]
    moved = {
        TableName(*row[:3]): Pointer(PointerKind(row[3]), row[4]) if len(row) > 3 else None
        for row in json.loads(properties["moved"])
    }
    created = datetime.fromisoformat(properties["created_at"])
    return BranchRecord(properties["main"], created, properties["base"], moved, properties["kept"] == "true")


def branch_info(name: str, main: str, tree: Tree) -> BranchInfo | None:
    """None: the branch belongs to another program, or to another main. Where a run could not write the record, the name
    of the branch has its age."""
    mark = read_branch_record(tree)
    if mark is not None:
        beat = tree.contents.get(HEARTBEAT)
        alive = datetime.fromisoformat(beat["properties"]["at"]) if beat else mark.created_at
        return BranchInfo(name, mark.created_at, alive, mark.kept) if mark.main == main else None
    if match := _OUR_NAMES.fullmatch(name):
        created = datetime.strptime(match[1], "%Y%m%d-%H%M%S").replace(tzinfo=UTC)
        return BranchInfo(name, created, created, kept=False)
    return None
