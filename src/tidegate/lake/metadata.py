"""Iceberg's metadata files, read as plain JSON: a thousandth of the time that a catalog client takes to start."""

from __future__ import annotations

import gzip
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from blake3 import blake3

from tidegate.errors import FailureKind, LakeError
from tidegate.lake.branch_catalog import Pointer, PointerKind
from tidegate.lake.progress import PROGRESS_PROPERTY, Progress, TableInput

__all__ = [
    "Field",
    "Snapshot",
    "TableMetadata",
    "ViewMetadata",
    "arrival_order",
    "load_json",
    "local_path",
    "read_metadata",
]

# Non-zero in the summary of every commit that changed rows, whatever the engine.
_ROW_COUNTS = (
    "added-data-files",
    "deleted-data-files",
    "added-records",
    "deleted-records",
    "added-delete-files",
    "removed-delete-files",
    "added-position-deletes",
    "removed-position-deletes",
    "added-equality-deletes",
    "removed-equality-deletes",
)


@dataclass(frozen=True, slots=True)
class Field:
    """A top-level column; `type` is Iceberg's: text such as `long`, or a mapping for a nested one."""

    id: int
    name: str
    type: Any
    required: bool

    @property
    def identity(self) -> str:
        """Equal while the field holds the same values, whatever its name and comments."""
        kind = self.type if isinstance(self.type, str) else _digest(_bare(self.type))
        return f"{self.id} {kind}"


@dataclass(frozen=True, slots=True)
class Snapshot:
    id: int
    parent_id: int | None
    sequence_number: int
    timestamp_ms: int
    operation: str
    summary: Mapping[str, str]
    manifest_list: str
    schema_id: int | None
    first_row_id: int | None
    added_rows: int | None

    @property
    def changed_rows(self) -> bool:
        """False for compaction and for a commit that added and removed nothing. True where it is unknown."""
        if self.operation == "replace":
            return False
        return "total-records" not in self.summary or any(self.count(key) for key in _ROW_COUNTS)

    @property
    def next_row_id(self) -> int:
        return (self.first_row_id or 0) + (self.added_rows or 0)

    @property
    def rows(self) -> int:
        """Rows in all, by the commits' own count: exact with deletion vectors (format 3)."""
        return max(0, self.count("total-records") - self.count("total-position-deletes"))

    def count(self, key: str) -> int:
        value = self.summary.get(key, "0")
        return int(value) if value.isdigit() else 0


@dataclass(frozen=True)
class TableMetadata:
    """One metadata file. `location` is the file, `table_location` the table's folder."""

    location: str
    table_location: str
    uuid: str
    format_version: int
    fields: tuple[Field, ...]
    schema_id: int
    schemas: Mapping[int, tuple[Field, ...]]
    partition_fields: tuple[Mapping[str, Any], ...]
    sort_fields: tuple[Mapping[str, Any], ...]
    properties: Mapping[str, str]
    current_snapshot_id: int | None
    snapshots: Mapping[int, Snapshot]
    refs: Mapping[str, int]
    next_row_id: int
    last_sequence_number: int
    files: tuple[str, ...]
    """Files that the metadata names beside the snapshots' own: earlier metadata files and statistics."""

    @property
    def current(self) -> Snapshot | None:
        return self.snapshots.get(self.current_snapshot_id) if self.current_snapshot_id is not None else None

    @property
    def progress(self) -> Progress | None:
        return _progress(self.properties)

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)

    @cached_property
    def columns_digest(self) -> str:
        return _digest([[field.id, field.name, _bare(field.type)] for field in self.fields])

    def ancestors(self, snapshot: Snapshot | None = None) -> Iterator[Snapshot]:
        """The snapshot (by default the current one) and those before it on its line, newest first."""
        at = snapshot or self.current
        while at is not None:
            yield at
            at = self.snapshots.get(at.parent_id) if at.parent_id is not None else None

    def fields_of(self, snapshot: Snapshot) -> tuple[Field, ...]:
        """The columns that the table had when the snapshot was made."""
        return self.schemas.get(snapshot.schema_id, self.fields) if snapshot.schema_id is not None else self.fields

    @cached_property
    def last_change(self) -> Snapshot | None:
        """The newest snapshot on the current line that changed rows; None: there was never a row.

        Where the line's beginning has expired, its oldest snapshot represents the expired ones.
        """
        oldest = None
        for oldest in self.ancestors():
            if oldest.changed_rows:
                return oldest
        return oldest if oldest is not None and oldest.parent_id is not None else None

    @property
    def total_records(self) -> int:
        """Rows now, by the commits' own count: exact for format 3, else deleted rows may still be counted."""
        if self.current is None:
            return 0
        return self.current.rows if self.format_version >= 3 else self.current.count("total-records")

    @property
    def total_bytes(self) -> int:
        return self.current.count("total-files-size") if self.current else 0

    def table_input(self, used: Collection[str] | None = None) -> TableInput:
        """The table as a reader of the columns `used` (None: all) consumes it now. Compaction does not change this."""
        change = self.last_change
        return TableInput(
            uuid=self.uuid,
            snapshot_id=change.id if change else None,
            sequence_number=change.sequence_number if change else 0,
            next_row_id=change.next_row_id if change else 0,
            columns=self.columns_digest,
            used=None if used is None else self._used(used),
        )

    def _used(self, names: Collection[str]) -> Mapping[str, str] | None:
        """None where a name is no column's own, such as one of Iceberg's hidden columns: then any may matter."""
        lowered = {name.lower() for name in names}
        identities = {field.name: field.identity for field in self.fields if field.name.lower() in lowered}
        return identities if len(identities) == len(lowered) else None

    def only_replaced_since(self, base: TableMetadata) -> bool:
        """Whether the table has gained nothing but compaction (or expiry) since `base`."""
        same = ("uuid", "format_version", "fields", "partition_fields", "sort_fields", "table_location")
        if any(getattr(self, name) != getattr(base, name) for name in same):
            return False
        if _lasting(self.properties) != _lasting(base.properties):
            return False
        for snapshot in self.ancestors():
            if snapshot.id == base.current_snapshot_id:
                return True
            if snapshot.operation != "replace":
                return False
        return self.current_snapshot_id is None and base.current_snapshot_id is None


@dataclass(frozen=True)
class ViewMetadata:
    """One view metadata file; `sql` is its text for Spark."""

    location: str
    table_location: str
    uuid: str
    fields: tuple[Field, ...]
    properties: Mapping[str, str]
    sql: str
    default_namespace: tuple[str, ...]
    files: tuple[str, ...] = ()

    @property
    def progress(self) -> Progress | None:
        return _progress(self.properties)

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)

    @cached_property
    def columns_digest(self) -> str:
        return _digest([self.sql, self.default_namespace, [[field.name, _bare(field.type)] for field in self.fields]])

    def table_input(self) -> TableInput:
        """The view's own definition, not the tables that it reads."""
        return TableInput(self.uuid, None, 0, 0, self.columns_digest)


def read_metadata(pointer: Pointer) -> TableMetadata | ViewMetadata:
    data = load_json(pointer.location)
    try:
        return _view(pointer.location, data) if pointer.kind is PointerKind.VIEW else _table(pointer.location, data)
    except (KeyError, TypeError, ValueError, AttributeError, StopIteration) as error:
        raise _broken(pointer.location, f"it is not Iceberg {pointer.kind.lower()} metadata ({error!r})") from error


def load_json(location: str) -> Any:
    """The JSON of a metadata file, compressed or not."""
    try:
        content = local_path(location).read_bytes()
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
        return json.loads(content)
    except OSError as error:
        broken = _broken(location, error.strerror or str(error))
        broken.kind = FailureKind.NOT_FOUND if isinstance(error, FileNotFoundError) else broken.kind
        raise broken from error
    except (ValueError, EOFError) as error:
        raise _broken(location, f"it is not JSON ({error})") from error


def local_path(location: str) -> Path:
    """A location's file on this machine. Hadoop writes `file:` and the path without escapes."""
    if location.startswith("file:"):
        return Path("/" + location.removeprefix("file:").lstrip("/"))
    if "://" in location:
        raise LakeError(
            f"'{location}' is not on this machine",
            where=location,
            remedy="the embedded catalog keeps its files in a folder of this machine: see [lake] warehouse",
        )
    return Path(location)


def _broken(location: str, why: str) -> LakeError:
    return LakeError(
        f"a metadata file that the catalog points at cannot be read: {why}",
        where=location,
        remedy="restore the file from a backup of the warehouse; if the warehouse was moved, move it back",
    )


def _table(location: str, data: Mapping[str, Any]) -> TableMetadata:
    current = data.get("current-snapshot-id")
    schema = next(s for s in data["schemas"] if s["schema-id"] == data["current-schema-id"])
    spec = next(s for s in data["partition-specs"] if s["spec-id"] == data["default-spec-id"])
    order = next(s for s in data["sort-orders"] if s["order-id"] == data["default-sort-order-id"])
    statistics = [*data.get("statistics", ()), *data.get("partition-statistics", ())]
    return TableMetadata(
        location=location,
        table_location=data["location"],
        uuid=data["table-uuid"],
        format_version=data["format-version"],
        fields=_fields(schema),
        schema_id=schema["schema-id"],
        schemas={s["schema-id"]: _fields(s) for s in data["schemas"]},
        partition_fields=tuple(spec["fields"]),
        sort_fields=tuple(order["fields"]),
        properties=data.get("properties", {}),
        current_snapshot_id=None if current in (None, -1) else current,
        snapshots={s["snapshot-id"]: _snapshot(s) for s in data.get("snapshots", ())},
        refs={name: ref["snapshot-id"] for name, ref in data.get("refs", {}).items()},
        next_row_id=data.get("next-row-id", 0),
        last_sequence_number=data.get("last-sequence-number", 0),
        files=(
            *(entry["metadata-file"] for entry in data.get("metadata-log", ())),
            *(entry["statistics-path"] for entry in statistics),
        ),
    )


def _snapshot(data: Mapping[str, Any]) -> Snapshot:
    summary = data.get("summary", {})
    return Snapshot(
        id=data["snapshot-id"],
        parent_id=data.get("parent-snapshot-id"),
        sequence_number=data.get("sequence-number", 0),
        timestamp_ms=data["timestamp-ms"],
        operation=summary.get("operation", ""),
        summary=summary,
        manifest_list=data["manifest-list"],
        schema_id=data.get("schema-id"),
        first_row_id=data.get("first-row-id"),
        added_rows=data.get("added-rows"),
    )


def _view(location: str, data: Mapping[str, Any]) -> ViewMetadata:
    version = next(v for v in data["versions"] if v["version-id"] == data["current-version-id"])
    schema = next(s for s in data["schemas"] if s["schema-id"] == version["schema-id"])
    texts = {r["dialect"]: r["sql"] for r in version["representations"] if r.get("type") == "sql"}
    return ViewMetadata(
        location=location,
        table_location=data["location"],
        uuid=data["view-uuid"],
        fields=_fields(schema),
        properties=data.get("properties", {}),
        sql=texts["spark"] if "spark" in texts else next(iter(texts.values())),
        default_namespace=tuple(version.get("default-namespace", ())),
    )


def _fields(schema: Mapping[str, Any]) -> tuple[Field, ...]:
    return tuple(Field(f["id"], f["name"], f["type"], f.get("required", False)) for f in schema["fields"])


def _progress(properties: Mapping[str, str]) -> Progress | None:
    text = properties.get(PROGRESS_PROPERTY)
    if text is None:
        return None
    progress = Progress.from_json(text)
    if progress is None:
        raise LakeError(
            f"the property {PROGRESS_PROPERTY} of a table cannot be read",
            remedy="it was written by another version of Tidegate: use that one, or remove the table",
        )
    return progress


def _lasting(properties: Mapping[str, str]) -> dict[str, str]:
    """Nessie's client writes into each metadata file which commit it was made from."""
    return {key: value for key, value in properties.items() if not key.startswith("nessie.")}


def _bare(kind: Any) -> Any:
    """A type without its comments and defaults, which change no value."""
    if isinstance(kind, dict):
        return {k: _bare(v) for k, v in kind.items() if k not in ("doc", "initial-default", "write-default")}
    return [_bare(item) for item in kind] if isinstance(kind, list) else kind


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return blake3(text.encode()).hexdigest(length=16)


def arrival_order(metadata: TableMetadata) -> str | None:
    """A SQL expression over metadata columns that grows from each row to the one that arrived after it.

    Iceberg numbers rows by commit, then by the writing task's number (not by which task ended first), then by their
    place in the task's files; compaction keeps the numbers. An append_only model that projects or filters one landing
    zone writes its rows by file, in the order in which files were consumed (those of one run by path), and by line.

    None where the numbers follow something else: there is no row lineage, or rows are sorted or distributed by their
    values before they are written. Whether the query keeps the order of its input is not decided here.
    """
    if metadata.format_version < 3 or metadata.partition_fields or metadata.sort_fields:
        return None
    return "_row_id"
