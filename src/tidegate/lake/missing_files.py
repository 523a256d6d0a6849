"""Files that main's tables refer to and that are not there: deleted by hand, or lost with a disk.

Only what the current snapshot needs is looked for, and each folder is listed once. This reads manifests, and so needs
PyIceberg.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from pyiceberg.manifest import ManifestFile

from tidegate.errors import FailureKind, LakeError
from tidegate.lake.branch_catalog import Pointer, PointerKind
from tidegate.lake.manifests import data_files, list_manifests
from tidegate.lake.metadata import Snapshot, TableMetadata, ViewMetadata, local_path, read_metadata
from tidegate.lake.progress import Progress
from tidegate.names import TableName

__all__ = ["Damage", "damages", "first_damage", "snapshot_damage"]

_MOST_NAMED = 1000


@dataclass(frozen=True, slots=True)
class Damage:
    table: TableName
    what: str
    """metadata file, manifest list, manifest, data file or delete file"""
    files: tuple[str, ...]
    """The missing files, at most 1000."""
    progress: Progress | None = None
    """What the model that built the table recorded; None where no model did."""
    snapshot: Snapshot | None = None
    """None where the metadata file itself is missing."""
    more: bool = False
    """More files are missing than are listed."""
    past: bool = False
    """The snapshot is not the table's current one."""

    def error(self, namespace: str) -> LakeError:
        """With the way back. `namespace`: the project's own, which names leave out."""
        name = self.table.short(namespace)
        count = f"{len(self.files)}{'+' if self.more else ''}"
        missing = f"a {self.what}" if len(self.files) == 1 else f"{count} {self.what}s"
        of = f"snapshot {self.snapshot.id}" if self.snapshot else "the table"
        are = "is" if len(self.files) == 1 else "are"
        error = LakeError(
            f"{name}: {missing} of {of} {are} missing from the warehouse",
            where=self.files[0],
            remedy=self._remedy(name),
        )
        error.kind = FailureKind.NOT_FOUND
        return error

    def _remedy(self, name: str) -> str:
        restore = "restore the file from a backup of the warehouse"
        if self.snapshot is None:
            again = f"if a model makes it, rebuild it from its inputs: tidegate run {name} --full-refresh"
            return f"{restore}; or, {again} (what they no longer hold is lost)"
        if self.past:
            return f"{restore}; only that past snapshot needs it, not the present state of the table"
        if self.progress is None:
            return f"{restore}, or write the table again where it comes from"
        again = f"{restore}, or rebuild the table from its inputs: tidegate run {name} --full-refresh"
        return (
            f"{again} (it keeps history: what its inputs no longer hold is lost)"
            if self.progress.keeps_history
            else again
        )


def damages(heads: Mapping[TableName, Pointer]) -> Iterator[Damage]:
    """At most one per table, the most basic: without a manifest its data files are unknown."""
    folders: dict[str, frozenset[str]] = {}
    for table, pointer in sorted(heads.items()):
        if (damage := _damage(table, pointer, folders)) is not None:
            yield damage


def first_damage(heads: Mapping[TableName, Pointer], tables: Iterable[TableName]) -> Damage | None:
    """The first of these tables; files that exist and cannot be read are reported elsewhere."""
    try:
        return next(damages({table: heads[table] for table in tables if table in heads}), None)
    except (LakeError, OSError):
        return None


def _damage(table: TableName, pointer: Pointer, folders: dict[str, frozenset[str]]) -> Damage | None:
    if not _is_there(pointer.location, folders):
        return Damage(table, "metadata file", (pointer.location,))
    if pointer.kind is not PointerKind.TABLE:
        return None
    metadata = read_metadata(pointer)
    snapshot = metadata.current if isinstance(metadata, TableMetadata) else None
    return None if snapshot is None else _snapshot_damage(table, metadata, snapshot, folders)


def snapshot_damage(table: TableName, metadata: TableMetadata, snapshot: Snapshot) -> Damage | None:
    """What is missing of one snapshot of the table, which may be a past one."""
    damage = _snapshot_damage(table, metadata, snapshot, {})
    past = metadata.current_snapshot_id != snapshot.id
    if damage is None or not past:
        return damage
    now = _snapshot_damage(table, metadata, metadata.current, {}) if metadata.current else None
    return replace(damage, past=now is None)


def _snapshot_damage(
    table: TableName, metadata: TableMetadata | ViewMetadata, snapshot: Snapshot, folders: dict[str, frozenset[str]]
) -> Damage | None:
    if not _is_there(snapshot.manifest_list, folders):
        return Damage(table, "manifest list", (snapshot.manifest_list,), metadata.progress, snapshot)
    manifests = list_manifests(snapshot)
    if lost := tuple(m.manifest_path for m in manifests if not _is_there(m.manifest_path, folders)):
        return Damage(table, "manifest", lost, metadata.progress, snapshot)
    what, files = _lost_data(manifests, folders)
    if not files:
        return None
    more = len(files) > _MOST_NAMED
    return Damage(table, what, files[:_MOST_NAMED], metadata.progress, snapshot, more)


def _lost_data(manifests: Iterable[ManifestFile], folders: dict[str, frozenset[str]]) -> tuple[str, tuple[str, ...]]:
    lost: dict[bool, dict[str, None]] = {False: {}, True: {}}
    for manifest in manifests:
        for file in data_files(manifest):
            if len(lost[file.deletes]) <= _MOST_NAMED and not _is_there(file.location, folders):
                lost[file.deletes][file.location] = None
    return ("data file", tuple(lost[False])) if lost[False] else ("delete file", tuple(lost[True]))


def _is_there(location: str, folders: dict[str, frozenset[str]]) -> bool:
    folder, name = os.path.split(local_path(location))
    if folder not in folders:
        try:
            folders[folder] = frozenset(os.listdir(folder))
        except FileNotFoundError:
            folders[folder] = frozenset()
    return name in folders[folder]
