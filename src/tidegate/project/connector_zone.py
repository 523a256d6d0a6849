"""The files of a landing zone that a connector writes: those that its complete manifests name, in their order.

A manifest is `<zone>/_manifests/<run_id>.json`, with `complete` and `files` (paths below the zone, in the order of
batches) and `ordinal`, which counts the runs. Such a file never changes: its name says which rows it has, so that
files of equal content are not copies of each other, and a file is read once.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tidegate.errors import LandingError
from tidegate.project.landing_files import FileMark, UnconsumedFiles, ZoneFile, zone_folder
from tidegate.project.manifest_files import ManifestFile, damaged_manifest, list_manifests

__all__ = ["list_connector_zone", "unconsumed_by_name"]


def list_connector_zone(root: Path, zone: str, consumed: Iterable[FileMark] = ()) -> tuple[ZoneFile, ...]:
    """The files of complete manifests that are there, in the order of runs and batches. No folder: nothing was landed.

    Raises where one is not there that was neither consumed nor archived: its rows would be missing without notice.
    """
    folder = zone_folder(root, zone, required=False)
    names = {mark.path for mark in consumed}
    files: dict[str, ZoneFile] = {}
    archived: frozenset[str] | None = None
    for manifest in _complete_manifests(folder):
        for path in manifest.files:
            if path in files:
                continue
            file = _file(folder, path)
            if file is not None:
                files[path] = file
            elif path not in names:
                archived = _archived(folder) if archived is None else archived
                if path in archived:
                    continue
                raise LandingError(
                    f"'{path}' of landing zone '{zone}' is not there, but {manifest.path.name} says that it was landed",
                    where=str(folder / path),
                    remedy="restore the file; or remove the manifest, so that its run is read from the source again",
                )
    return tuple(files.values())


def unconsumed_by_name(files: Iterable[ZoneFile], consumed: Iterable[FileMark]) -> UnconsumedFiles:
    """The files whose names were not consumed, in the order given."""
    names = {mark.path for mark in consumed}
    return UnconsumedFiles(tuple(file for file in files if file.path not in names))


@dataclass(frozen=True, slots=True)
class _Manifest:
    path: Path
    ordinal: int
    files: tuple[str, ...]


def _complete_manifests(folder: Path) -> list[_Manifest]:
    manifests = (manifest for file in list_manifests(folder) if (manifest := _read(file)) is not None)
    return sorted(manifests, key=lambda manifest: (manifest.ordinal, manifest.path.name))


def _read(file: ManifestFile) -> _Manifest | None:
    """None where its run is not complete."""
    content, path = file.document, file.path
    try:
        if content["complete"] is not True:
            return None
        return _Manifest(path, int(content.get("ordinal", 0)), tuple(content["files"]))
    except (ValueError, KeyError, TypeError) as error:
        raise damaged_manifest(path, error) from error


def _file(folder: Path, path: str) -> ZoneFile | None:
    try:
        status = os.stat(f"{folder}/{path}")  # a Path of each of thousands would take longer than to look at them
    except (FileNotFoundError, NotADirectoryError):
        return None
    return ZoneFile(path, status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None


def _archived(folder: Path) -> frozenset[str]:
    """Below `_processed` and the run that read them, files have the paths that they had in the zone."""
    return frozenset(
        Path(below, name).relative_to(run).as_posix()
        for run in (folder / "_processed").glob("*")
        for below, _, names in os.walk(run)
        for name in names
    )
