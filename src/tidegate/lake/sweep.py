"""Mark and sweep: delete files of the warehouse that neither main nor any branch refers to."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path

from tidegate.errors import LakeError
from tidegate.lake.branch_catalog import BranchCatalog, Pointer
from tidegate.lake.consumed import consumed_files
from tidegate.lake.manifests import data_files, list_manifests
from tidegate.lake.metadata import TableMetadata, local_path, read_metadata
from tidegate.lake.warehouse import record_sweep

__all__ = ["MIN_AGE_FLOOR", "SweepReport", "referenced_files", "sweep"]

MIN_AGE_FLOOR = timedelta(hours=24)
"""A file is written before anything refers to it, so a young one is never deleted, whatever the settings."""

_TABLE_FOLDERS = frozenset({"data", "metadata"})


@dataclass(frozen=True, slots=True)
class SweepReport:
    files: tuple[str, ...]
    """Deleted, or to be deleted where it is a dry run."""
    bytes: int
    """The size of `files`."""
    kept: int
    """How many files are in use or too young."""
    failed: tuple[str, ...] = ()
    """Files that could not be deleted."""
    dry_run: bool = False
    left: str = ""
    """Why unused files of this lake are not deleted at all."""


@dataclass(frozen=True, slots=True)
class _Listed:
    path: str
    size: int
    mtime: float


def referenced_files(pointers: Iterable[Pointer]) -> set[str]:
    """Every file (its real path) that can be reached from the pointers."""
    files: set[str] = set()
    lists: set[str] = set()
    manifests: set[str] = set()
    for pointer in pointers:
        metadata = read_metadata(pointer)
        files.add(_real(pointer.location))
        files.update(_real(location) for location in metadata.files)
        files.update(map(_real, consumed_files(metadata.table_location, metadata.progress)))
        snapshots = metadata.snapshots.values() if isinstance(metadata, TableMetadata) else ()
        for snapshot in snapshots:
            if snapshot.manifest_list in lists:
                continue
            lists.add(snapshot.manifest_list)
            files.add(_real(snapshot.manifest_list))
            for manifest in list_manifests(snapshot):
                if manifest.manifest_path not in manifests:
                    manifests.add(manifest.manifest_path)
                    files.add(_real(manifest.manifest_path))
                    files.update(_real(file.location) for file in data_files(manifest))
    return files


def sweep(
    catalog: BranchCatalog,
    warehouse: Path,
    min_age: timedelta = MIN_AGE_FLOOR,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    dry_run: bool = False,
) -> SweepReport:
    """Raises before the first file is deleted if anything cannot be read: an unknown file may be in use."""
    if not warehouse.exists():
        return SweepReport(files=(), bytes=0, kept=0, dry_run=dry_run)
    root, now = Path(os.path.realpath(warehouse)), clock()
    if not catalog.capabilities.sweep:
        record_sweep(root, now, 0)
        return SweepReport(files=(), bytes=0, kept=0, dry_run=dry_run, left=catalog.capabilities.gaps["sweep"])
    catalog.check_warehouse()
    cutoff = _cutoff(catalog, now, max(min_age, MIN_AGE_FLOOR)).timestamp()
    # First list, then mark: a file that comes into use in between was either marked or is too young to be deleted.
    folders, files = _list(root)
    pointers = catalog.all_pointers()
    _refuse_pointers_outside(root, pointers)
    used = referenced_files(pointers)
    dead = [file for file in files if file.mtime < cutoff and _owner(file.path) not in used]
    failed = [] if dry_run else [file.path for file in dead if not _delete(file.path, cutoff)]
    if not dry_run:
        _remove_empty(folders, cutoff)
        record_sweep(root, now, len(dead) - len(failed))
    deleted = [file for file in dead if file.path not in set(failed)]
    return SweepReport(
        files=tuple(file.path for file in deleted),
        bytes=sum(file.size for file in deleted),
        kept=len(files) - len(deleted),
        failed=tuple(failed),
        dry_run=dry_run,
    )


def _cutoff(catalog: BranchCatalog, now: datetime, min_age: timedelta) -> datetime:
    """What a live branch has written but not yet committed is younger than the branch, however long it takes."""
    limit = now - min_age
    return min([limit, *(b.created_at for b in catalog.list_branches() if b.heartbeat_at >= limit)])


def _list(root: Path) -> tuple[list[tuple[str, float]], list[_Listed]]:
    """Folders (with the time of their last change) and files that lie in a table's data or metadata folder."""
    folders, files = [], []
    for folder, _, names in os.walk(root, onerror=_stop):
        try:
            if folder != str(root):
                folders.append((folder, os.stat(folder).st_mtime))
            if _TABLE_FOLDERS.isdisjoint(Path(folder).relative_to(root).parts):
                continue
            for name in names:
                path = os.path.join(folder, name)
                status = os.stat(path, follow_symlinks=False)
                files.append(_Listed(path, status.st_size, status.st_mtime))
        except FileNotFoundError:
            continue
    return folders, files


def _stop(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise LakeError(
            f"the warehouse cannot be listed: {error.strerror or error}",
            where=str(error.filename),
            remedy="check the folder's permissions; nothing was deleted",
        ) from error


def _refuse_pointers_outside(root: Path, pointers: Iterable[Pointer]) -> None:
    for pointer in pointers:
        if not Path(_real(pointer.location)).is_relative_to(root):
            raise LakeError(
                "the catalog points outside its warehouse, which may be a copy of another; nothing was deleted",
                where=pointer.location,
                remedy=f"check [lake] warehouse (now {root}); files are swept only where every table is inside it",
            )


def _real(location: str) -> str:
    path = local_path(location)
    return os.path.join(_real_folder(str(path.parent)), path.name)


@lru_cache(maxsize=4096)
def _real_folder(folder: str) -> str:
    return os.path.realpath(folder)


def _owner(path: str) -> str:
    """Hadoop's checksum `.name.crc` lives and dies with `name`."""
    folder, name = os.path.split(path)
    if name.startswith(".") and name.endswith(".crc"):
        return os.path.join(folder, name[1:-4])
    return path


def _delete(path: str, cutoff: float) -> bool:
    try:
        if os.stat(path, follow_symlinks=False).st_mtime >= cutoff:
            return False  # written again since it was listed
        os.unlink(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _remove_empty(folders: Iterable[tuple[str, float]], cutoff: float) -> None:
    for folder, mtime in sorted(folders, reverse=True):
        if mtime < cutoff:
            try:
                os.rmdir(folder)
            except OSError:  # not empty
                continue
