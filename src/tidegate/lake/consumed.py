"""The list of landing files that a table has consumed: a small file beside its metadata, named by its digest."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from blake3 import blake3

from tidegate.errors import LakeError, LakeUnavailableError
from tidegate.lake.metadata import local_path
from tidegate.lake.progress import Progress, ZoneInput
from tidegate.storage.atomic_files import write_atomically

__all__ = ["Consumed", "ConsumedFile", "consumed_files", "read_consumed", "write_consumed"]


@dataclass(frozen=True, slots=True)
class ConsumedFile:
    path: str
    """Relative to the zone."""
    size: int
    mtime_ns: int
    run_id: str
    """The first run that consumed the file with this content."""
    digest: str | None = None
    """Of its content; None in lists that were written before there were digests."""
    delivery: int | None = None
    """A number that grows with each run that published files of the zone to the table, in the order of publishing;
    files of one run share it. None in lists that were written before there were numbers."""
    ingested_at: str | None = None
    """When the run that consumed it began, in ISO form. None in lists that were written before there were times."""
    together: int | None = None
    """How many files of the zone that run consumed, this one included. None likewise."""


@dataclass(frozen=True, slots=True)
class Consumed:
    zone: str
    files: tuple[ConsumedFile, ...]
    columns: str | None = None
    """The schema (Spark DDL) that the zone was first read with, so that later files are read alike."""

    @property
    def last_delivery(self) -> int:
        """The number of the last delivery; 0 before the first."""
        return max((file.delivery or 0 for file in self.files), default=0)


def write_consumed(table_location: str, consumed: Consumed) -> ZoneInput:
    """Write the list; the same list twice is one file. Nothing refers to it until the returned value is published."""
    content = json.dumps(asdict(consumed), separators=(",", ":"), sort_keys=True).encode()
    zone_input = ZoneInput(digest=blake3(content).hexdigest(), files=len(consumed.files))
    path = local_path(_location(table_location, zone_input.digest))
    try:
        # Also where the file is there: it becomes young again, and so out of a sweep's reach until it is referred to.
        write_atomically(path, content)
    except OSError as error:
        raise LakeUnavailableError(
            f"the list of consumed files of zone '{consumed.zone}' cannot be written: {error.strerror or error}",
            where=str(path),
            remedy="check the disk's space and the folder's permissions; nothing was published",
        ) from error
    return zone_input


def read_consumed(table_location: str, zone_input: ZoneInput) -> Consumed:
    location = _location(table_location, zone_input.digest)
    try:
        content = local_path(location).read_bytes()
    except OSError as error:
        raise _lost(location, error.strerror or str(error)) from error
    if blake3(content).hexdigest() != zone_input.digest:
        raise _lost(location, "its content is not what was written")
    try:
        data = json.loads(content)
        files = tuple(ConsumedFile(**file) for file in data["files"])
        return Consumed(zone=data["zone"], files=files, columns=data["columns"])
    except (ValueError, TypeError, KeyError) as error:
        raise _lost(location, "it was written by another version of Tidegate") from error


def consumed_files(table_location: str, progress: Progress | None) -> tuple[str, ...]:
    """The locations of the lists that a table's progress names."""
    zones = progress.zones.values() if progress else ()
    return tuple(_location(table_location, zone.digest) for zone in zones)


def _location(table_location: str, digest: str) -> str:
    return f"{table_location.rstrip('/')}/metadata/landing-{digest}.json"


def _lost(location: str, why: str) -> LakeError:
    return LakeError(
        f"the list of landing files that the table has consumed cannot be read: {why}",
        where=location,
        remedy="restore it from a backup; or run the model with --full-refresh, which reads every file that is there",
    )
