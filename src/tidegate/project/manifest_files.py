"""The manifests of a landing zone, few reads for thousands of them.

A complete manifest never changes, so the contents of most are in one summary, `<zone>/_manifests/.summary.json`, which
whoever lands in the zone replaces once enough others have come. It is no record of its own: an entry counts only while
its manifest is there with the size and time that it had, and a summary that cannot be read is as none.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidegate.errors import LandingError

__all__ = ["MANIFESTS", "SUMMARY", "ManifestFile", "damaged_manifest", "list_manifests", "summary_text"]

MANIFESTS = "_manifests"
SUMMARY = ".summary.json"
_VERSION = 1
_MOST_BESIDE = 32
"""Complete manifests that are not in the summary before it is replaced."""


@dataclass(frozen=True, slots=True)
class ManifestFile:
    path: Path
    size: int
    mtime_ns: int
    document: Mapping[str, Any]
    is_summarized: bool


def list_manifests(zone: Path) -> tuple[ManifestFile, ...]:
    """All of the zone's folder, by name. Raises LandingError for one that cannot be read."""
    folder = zone / MANIFESTS
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if _is_manifest(entry.name))
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        raise LandingError(
            f"the manifests of landing zone '{zone.name}' cannot be listed: {error.strerror or error}",
            where=str(folder),
            remedy="give this user read access to the folder",
        ) from error
    summary = _summary(folder) if len(names) > _MOST_BESIDE else {}
    files = tuple(file for name in names if (file := _file(folder / name, summary.get(name))) is not None)
    for file in files:
        _require_names_of_the_zone(file)
    return files


def summary_text(manifests: Iterable[ManifestFile]) -> str | None:
    """Of the summary that is due; None: the one that is there has all but a few."""
    complete = [each for each in manifests if each.document.get("complete") is True]
    if sum(not each.is_summarized for each in complete) <= _MOST_BESIDE:
        return None
    entries = {each.path.name: [each.size, each.mtime_ns, each.document] for each in complete}
    return json.dumps({"version": _VERSION, "manifests": entries}, ensure_ascii=False, separators=(",", ":"))


def damaged_manifest(path: Path, error: Exception) -> LandingError:
    reason = error.strerror if isinstance(error, OSError) else f"it is damaged or of another version ({error})"
    return LandingError(
        f"the manifest {path.name} of landing zone '{path.parent.parent.name}' cannot be read: {reason}",
        where=str(path),
        remedy="restore it from a backup; or remove it, so that its run is read from the source again",
    )


def _require_names_of_the_zone(file: ManifestFile) -> None:
    """Folders are removed and files are read by what a manifest says, and whoever may write into the zone may write
    one: what it names is in the zone."""
    document, path = file.document, file.path
    run_id = document.get("run_id", path.stem)
    if run_id != path.stem:
        raise LandingError(
            f"the manifest {path.name} of landing zone '{path.parent.parent.name}' is that of another run: {run_id!r}",
            where=str(path),
            remedy=f"restore it from a backup, or remove it; the manifest of a run is named {MANIFESTS}/<run_id>.json",
        )
    names = document.get("files", ())
    if not isinstance(names, list | tuple):
        raise damaged_manifest(path, TypeError("its files are no list"))
    for name in names:
        if not isinstance(name, str) or "\0" in name or any(part[:1] in ("", "_", ".") for part in name.split("/")):
            raise LandingError(
                f"the manifest {path.name} names {name!r}, which is no data file of the zone",
                where=str(path),
                remedy="correct the name; names that begin with '_' or '.' are never data",
            )


def _is_manifest(name: str) -> bool:
    """Files that are being written have other names."""
    return name.endswith(".json") and name[0] not in "._"


def _file(path: Path, entry: list[Any] | None) -> ManifestFile | None:
    """None where it is gone: a read that found nothing new removes its own."""
    try:
        status = os.stat(path)
        size, mtime_ns = status.st_size, status.st_mtime_ns
        if entry is not None and entry[:2] == [size, mtime_ns]:
            return ManifestFile(path, size, mtime_ns, entry[2], is_summarized=True)
        document = json.loads(path.read_bytes())
        if not isinstance(document, dict):
            raise ValueError("no JSON object")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise damaged_manifest(path, error) from error
    return ManifestFile(path, size, mtime_ns, document, is_summarized=False)


def _summary(folder: Path) -> Mapping[str, list[Any]]:
    try:
        document = json.loads((folder / SUMMARY).read_bytes())
        return dict(document["manifests"]) if document["version"] == _VERSION else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
