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
    return tuple(file for name in names if (file := _file(folder / name, summary.get(name))) is not None)


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
