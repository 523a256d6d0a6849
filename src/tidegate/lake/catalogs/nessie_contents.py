"""Tables and views as Nessie keeps them, and the operations of a commit that puts them somewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tidegate.lake.catalogs.nessie_api import Content, Key, Tree
from tidegate.lake.port import Pointer, PointerKind
from tidegate.names import TableName

__all__ = [
    "Operation",
    "content_of",
    "heads",
    "in_two_steps",
    "key_of",
    "namespaces_for",
    "place",
    "pointer_of",
    "put_properties",
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
    """Tables of fewer or more levels were made by others: they have no name here and are left alone."""
    found = ((key, pointer_of(content)) for key, content in tree.contents.items() if len(key) == 3)
    return {TableName(*key): pointer for key, pointer in found if pointer}


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


def place(tree: Tree, key: Key, wanted: Content | None) -> list[Operation]:
    """What makes `key` of the tree be `wanted` (None: not there): nothing where it is that already."""
    there = tree.contents.get(key)
    name = {"elements": list(key)}
    delete = [{"type": "DELETE", "key": name}] if there is not None else []
    if wanted is None:
        return [*delete]
    if there is not None and pointer_of(there) == pointer_of(wanted):
        return []
    new = {field: value for field, value in wanted.items() if field != "id"}
    if there is not None and there["type"] == wanted["type"]:
        return [{"type": "PUT", "key": name, "content": {**new, "id": there["id"]}}]
    return [*delete, {"type": "PUT", "key": name, "content": new}]


def unchanged(key: Key) -> Operation:
    """Lets the commit fail if the key is no longer what it was at the commit's expected hash."""
    return {"type": "UNCHANGED", "key": {"elements": list(key)}}


def in_two_steps(operations: Iterable[Operation]) -> tuple[list[Operation], list[Operation]]:
    """What must be committed before the rest: Nessie lets no view take the place of a table in one commit."""
    steps = list(operations)
    put = {tuple(step["key"]["elements"]) for step in steps if step["type"] == "PUT"}
    first = [step for step in steps if step["type"] == "DELETE" and tuple(step["key"]["elements"]) in put]
    return first, [step for step in steps if step not in first]


def namespaces_for(tree: Tree, keys: Iterable[Key], source: Tree | None = None) -> list[Operation]:
    """What the tree lacks to hold these keys; properties are as `source` has them."""
    wanted = sorted({key[:depth] for key in keys for depth in range(1, len(key))})
    return [operation for key in wanted if key not in tree.contents for operation in _namespace(key, source)]


def put_properties(tree: Tree, key: Key, properties: Mapping[str, str]) -> Operation:
    """A namespace that nobody uses as one holds a few properties."""
    there = tree.contents.get(key)
    known = {"id": there["id"]} if there else {}
    content = {"type": "NAMESPACE", "elements": list(key), "properties": dict(properties), **known}
    return {"type": "PUT", "key": {"elements": list(key)}, "content": content}


def _namespace(key: Key, source: Tree | None) -> list[Operation]:
    found = source.contents.get(key) if source else None
    properties = found.get("properties", {}) if found and found["type"] == "NAMESPACE" else {}
    content = {"type": "NAMESPACE", "elements": list(key), "properties": properties}
    return [{"type": "PUT", "key": {"elements": list(key)}, "content": content}]
