"""How one state of a table or view becomes another, in the words of the Iceberg REST protocol. Values in, values out.

`now`: what the server has; `target`: what it should have. Both are metadata files as JSON, of the same table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

__all__ = [
    "can_follow",
    "is_same_state",
    "new_view",
    "table_requirements",
    "table_updates",
    "view_requirements",
    "view_updates",
]

Metadata = Mapping[str, Any]
Update = Mapping[str, Any]

_LAST_ADDED = -1


def table_requirements(now: Metadata) -> list[Mapping[str, Any]]:
    """That rows, columns and layout are unchanged. The protocol cannot require properties."""
    return [
        {"type": "assert-table-uuid", "uuid": now["table-uuid"]},
        {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": _head(now)},
        {"type": "assert-current-schema-id", "current-schema-id": now["current-schema-id"]},
        {"type": "assert-last-assigned-field-id", "last-assigned-field-id": now["last-column-id"]},
        {"type": "assert-default-spec-id", "default-spec-id": now["default-spec-id"]},
        {"type": "assert-default-sort-order-id", "default-sort-order-id": now["default-sort-order-id"]},
    ]


def can_follow(now: Metadata, target: Metadata) -> bool:
    """Whether the new snapshots can follow the server's: their sequence numbers and row ids are given already."""
    new = _new_snapshots(now, target)
    follows = all(snapshot.get("sequence-number", 0) > now.get("last-sequence-number", 0) for snapshot in new)
    rows = [snapshot["first-row-id"] for snapshot in new if snapshot.get("first-row-id") is not None]
    return follows and (not rows or min(rows) >= now.get("next-row-id", 0))


def table_updates(now: Metadata, target: Metadata) -> list[Update]:
    """In an order in which each refers only to what exists by then. History is added to, never rewritten."""
    return [
        *_format(now, target),
        *_location(now, target),
        *_schemas(now, target),
        *_specs(now, target),
        *_orders(now, target),
        *({"action": "add-snapshot", "snapshot": snapshot} for snapshot in _new_snapshots(now, target)),
        *_refs(now, target),
        *_gone_snapshots(now, target),
        *_properties(now, target),
    ]


def is_same_state(now: Metadata, target: Metadata) -> bool:
    """Whether the server has the target state; it may have added properties of its own."""
    if "view-uuid" in target:
        updates = view_updates(now, target)
    elif now["table-uuid"] == target["table-uuid"]:
        updates = table_updates(now, target)
    else:
        return False
    return all(update["action"] == "remove-properties" for update in updates)


def view_requirements(now: Metadata) -> list[Mapping[str, Any]]:
    return [{"type": "assert-view-uuid", "uuid": now["view-uuid"]}]


def view_updates(now: Metadata, target: Metadata) -> list[Update]:
    version = _current_version(target)
    updates = [*_location(now, target), *_properties(now, target)]
    if _meaning(now) != _meaning(target):
        schema = _by_id(target["schemas"], "schema-id")[version["schema-id"]]
        number = max(each["version-id"] for each in now["versions"]) + 1
        updates += [
            {"action": "add-schema", "schema": schema},
            {"action": "add-view-version", "view-version": {**version, "version-id": number, "schema-id": _LAST_ADDED}},
            {"action": "set-current-view-version", "view-version-id": _LAST_ADDED},
        ]
    return updates


def new_view(metadata: Metadata) -> dict[str, Any]:
    """For a server that cannot register one by its metadata file."""
    version = _current_version(metadata)
    return {
        "location": metadata["location"],
        "schema": _by_id(metadata["schemas"], "schema-id")[version["schema-id"]],
        "view-version": version,
        "properties": dict(metadata.get("properties", {})),
    }


def _head(metadata: Metadata) -> int | None:
    ref = metadata.get("refs", {}).get("main")
    return ref["snapshot-id"] if ref else None


def _format(now: Metadata, target: Metadata) -> Iterator[Update]:
    if target["format-version"] > now["format-version"]:
        yield {"action": "upgrade-format-version", "format-version": target["format-version"]}


def _location(now: Metadata, target: Metadata) -> Iterator[Update]:
    if target["location"] != now["location"]:
        yield {"action": "set-location", "location": target["location"]}


def _schemas(now: Metadata, target: Metadata) -> Iterator[Update]:
    current = _by_id(now["schemas"], "schema-id")
    for number, schema in sorted(_by_id(target["schemas"], "schema-id").items()):
        if number not in current:
            yield {"action": "add-schema", "schema": schema, "last-column-id": target["last-column-id"]}
    if target["current-schema-id"] != now["current-schema-id"]:
        yield {"action": "set-current-schema", "schema-id": target["current-schema-id"]}


def _specs(now: Metadata, target: Metadata) -> Iterator[Update]:
    current = _by_id(now["partition-specs"], "spec-id")
    for number, spec in sorted(_by_id(target["partition-specs"], "spec-id").items()):
        if number not in current:
            yield {"action": "add-spec", "spec": spec}
    if target["default-spec-id"] != now["default-spec-id"]:
        yield {"action": "set-default-spec", "spec-id": target["default-spec-id"]}


def _orders(now: Metadata, target: Metadata) -> Iterator[Update]:
    current = _by_id(now["sort-orders"], "order-id")
    for number, order in sorted(_by_id(target["sort-orders"], "order-id").items()):
        if number not in current:
            yield {"action": "add-sort-order", "sort-order": order}
    if target["default-sort-order-id"] != now["default-sort-order-id"]:
        yield {"action": "set-default-sort-order", "sort-order-id": target["default-sort-order-id"]}


def _new_snapshots(now: Metadata, target: Metadata) -> list[Mapping[str, Any]]:
    current = _by_id(now.get("snapshots", ()), "snapshot-id")
    new = [snapshot for snapshot in target.get("snapshots", ()) if snapshot["snapshot-id"] not in current]
    return sorted(new, key=lambda snapshot: snapshot.get("sequence-number", 0))


def _refs(now: Metadata, target: Metadata) -> Iterator[Update]:
    before, after = now.get("refs", {}), target.get("refs", {})
    for name, ref in after.items():
        if before.get(name) != ref:
            yield {"action": "set-snapshot-ref", "ref-name": name, **ref}
    for name in before.keys() - after.keys():
        yield {"action": "remove-snapshot-ref", "ref-name": name}


def _gone_snapshots(now: Metadata, target: Metadata) -> Iterator[Update]:
    retained = _by_id(target.get("snapshots", ()), "snapshot-id")
    if removed := [number for number in _by_id(now.get("snapshots", ()), "snapshot-id") if number not in retained]:
        yield {"action": "remove-snapshots", "snapshot-ids": removed}


def _properties(now: Metadata, target: Metadata) -> Iterator[Update]:
    before, after = now.get("properties", {}), target.get("properties", {})
    if changed := {key: value for key, value in after.items() if before.get(key) != value}:
        yield {"action": "set-properties", "updates": changed}
    if removed := sorted(before.keys() - after.keys()):
        yield {"action": "remove-properties", "removals": removed}


def _current_version(view: Metadata) -> Mapping[str, Any]:
    version: Mapping[str, Any] = _by_id(view["versions"], "version-id")[view["current-version-id"]]
    return version


def _meaning(view: Metadata) -> tuple[Any, ...]:
    version = _current_version(view)
    fields = _by_id(view["schemas"], "schema-id")[version["schema-id"]]["fields"]
    return version["representations"], version.get("default-namespace"), version.get("default-catalog"), fields


def _by_id(items: Any, key: str) -> dict[int, Any]:
    return {item[key]: item for item in items}
