"""The manifest of a logical run: `<zone>/_manifests/<run>.json`.

While the run reads, it is the run's state: bounds, the number of the last batch, the state of the connector. When the
run is complete, `complete` is true, `files` lists what bronze may read, in the order of their rows and relative to the
zone, `next` is the bound of the next run, and `state` is null. A manifest is replaced in one step; it has no secrets.
Its size does not grow with the number of batches until it is complete.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from tidegate.errors import FailureKind, LandingError
from tidegate.ingest.bound_origin import BoundOrigin
from tidegate.ingest.port import Bounds, OriginFile
from tidegate.project.manifest_files import (
    MANIFESTS,
    SUMMARY,
    ManifestFile,
    damaged_manifest,
    list_manifests,
    summary_text,
)
from tidegate.storage.atomic_files import write_atomically

__all__ = ["BatchManifest", "read_and_summarize_manifests", "read_manifests", "remove_manifest", "write_manifest"]

_VERSION = 1


@dataclass(frozen=True, slots=True)
class BatchManifest:
    """Its JSON is read by other versions, so a field keeps its name."""

    run_id: str
    contract_id: str
    contract_version: str
    definition: str
    """A digest of what the contract says of the source: another one reads something else."""

    ordinal: int
    """Of the contract's logical runs, from 1: clocks may go back."""

    started_at: str
    bounds: Bounds
    full_snapshot: bool
    batches: int = 0
    file_count: int = 0
    rows: int | None = 0
    """None once a batch did not count its rows."""

    reached: str | None = None
    state: str | None = None
    """`source_specific_state_json`; None before the first batch and after the last one."""

    origins: tuple[OriginFile, ...] = ()
    complete: bool = False
    completed_at: str | None = None
    next: str | None = None
    files: tuple[str, ...] = ()
    bound_of: BoundOrigin | None = None
    """What `bounds` and `next` are values of; None in manifests that were written before it was recorded."""

    table: str | None = None
    """The bronze table that reads the zone; None likewise."""

    @property
    def is_read(self) -> bool:
        """Its last batch is landed, though it may not be complete."""
        return self.batches > 0 and self.state is None


def read_manifests(zone: Path) -> tuple[BatchManifest, ...]:
    """All of a zone, the oldest first. Raises LandingError for one that cannot be read."""
    return _manifests(list_manifests(zone))


def read_and_summarize_manifests(zone: Path) -> tuple[BatchManifest, ...]:
    """The same, with the zone's lock held: a summary spares those after this one most of the reads."""
    files = list_manifests(zone)
    text = summary_text(files)
    if text is not None:
        with suppress(OSError):
            write_atomically(zone / MANIFESTS / SUMMARY, text.encode())
    return _manifests(files)


def write_manifest(zone: Path, manifest: BatchManifest) -> None:
    text = json.dumps({"version": _VERSION, **asdict(manifest)}, indent=1, ensure_ascii=False)
    path = _path(zone, manifest.run_id)
    try:
        write_atomically(path, text.encode())
    except OSError as error:
        raise _unwritable(path, error) from error


def remove_manifest(zone: Path, run_id: str) -> None:
    with suppress(FileNotFoundError):
        _path(zone, run_id).unlink()


def _path(zone: Path, run_id: str) -> Path:
    return zone / MANIFESTS / f"{run_id}.json"


def _manifests(files: Iterable[ManifestFile]) -> tuple[BatchManifest, ...]:
    return tuple(sorted(map(_manifest_of, files), key=lambda manifest: manifest.ordinal))


def _manifest_of(file: ManifestFile) -> BatchManifest:
    try:
        return _manifest(file.document)
    except (TypeError, KeyError) as error:
        raise damaged_manifest(file.path, error) from error


def _manifest(document: Mapping[str, Any]) -> BatchManifest:
    known = {field.name for field in fields(BatchManifest)}
    for name in ("ordinal", "batches", "file_count"):
        if not isinstance(document.get(name, 0), int):
            raise TypeError(f"{name} is no whole number")
    for name in ("contract_id", "definition", "started_at"):
        if not isinstance(document[name], str):
            raise TypeError(f"{name} is no text")
    values = {name: value for name, value in document.items() if name in known}
    return BatchManifest(
        **{
            **values,
            "bounds": Bounds(**document["bounds"]),
            "origins": tuple(OriginFile(**origin) for origin in document["origins"]),
            "files": tuple(document["files"]),
            "bound_of": BoundOrigin(**document["bound_of"]) if document.get("bound_of") else None,
        }
    )


def _unwritable(path: Path, error: OSError) -> LandingError:
    failure = LandingError(
        f"the landing zone cannot be written: {error.strerror or error}",
        where=str(path),
        remedy="check the disk's space and the folder's permissions, and repeat the command: it continues",
    )
    failure.kind = FailureKind.TRANSIENT
    return failure
