"""Archives landing files that were read and published, in `_processed/<run_id>/` of their zone."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path, PurePosixPath

from tidegate.compiler.compiled import Compiled, CompiledModel
from tidegate.config import Settings
from tidegate.faults import fault
from tidegate.lake.consumed import ConsumedFile, read_consumed
from tidegate.lake.metadata import TableMetadata
from tidegate.lake.view import BranchView
from tidegate.project.landing_files import ZoneFile, content_digest

__all__ = ["ArchiveReport", "SkippedFile", "archive_consumed", "archive_zone"]


@dataclass(frozen=True, slots=True)
class SkippedFile:
    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path} {self.reason}"


@dataclass(frozen=True, slots=True)
class ArchiveReport:
    """`moved`: the paths that were moved now; one that was gone before is in neither list."""

    moved: tuple[str, ...] = ()
    skipped: tuple[SkippedFile, ...] = ()


def archive_zone(folder: Path, consumed: Sequence[ConsumedFile]) -> ArchiveReport:
    """Move each file whose content is still what was consumed. Never raises for a file, never overwrites one."""
    moved: list[str] = []
    skipped: list[SkippedFile] = []
    for file in sorted(consumed, key=lambda file: file.path):
        try:
            reason = _archive(folder, file)
        except FileNotFoundError:
            continue
        except OSError as error:
            reason = f"could not be moved: {error.strerror or error}"
        if reason is None:
            moved.append(file.path)
        else:
            skipped.append(SkippedFile(file.path, reason))
    return ArchiveReport(tuple(moved), tuple(skipped))


def _archive(folder: Path, file: ConsumedFile) -> str | None:
    """None when moved, else why not. A file that is not there raises FileNotFoundError."""
    relative = PurePosixPath(file.path)
    if relative.is_absolute() or ".." in relative.parts:
        return "its path leads out of the zone"
    source = folder / relative
    if not _as_consumed(source, file):
        return "changed since it was read; it will be read again"
    target = _reserve(folder / "_processed" / file.run_id / relative)
    fault("inside_archive")
    try:
        if source.is_symlink():
            # a relative link would point elsewhere from its new place
            destination = source.resolve()
            target.unlink()
            target.symlink_to(destination)
            source.unlink()
            return None
        os.rename(source, target)
    except OSError:
        _release(target)
        raise
    if _as_consumed(target, file):
        return None
    # the name was given to another file between the look and the move: that one has not been read, so it goes back
    return _put_back(source, target)


def _as_consumed(path: Path, file: ConsumedFile) -> bool:
    status = path.stat()
    if (status.st_size, status.st_mtime_ns) == (file.size, file.mtime_ns):
        return True
    current = ZoneFile(path.name, status.st_size, status.st_mtime_ns)
    return (
        status.st_size == file.size and file.digest is not None and content_digest(path.parent, current) == file.digest
    )


def _reserve(target: Path) -> Path:
    """Create an empty file at `target`, or under the next free name beside it. No other call gets the same file."""
    target.parent.mkdir(parents=True, exist_ok=True)
    for candidate in _candidates(target):
        try:
            os.close(os.open(candidate, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            continue
        return candidate
    raise AssertionError("unreachable: the candidates never end")


def _candidates(target: Path) -> Iterator[Path]:
    yield target
    for number in count(1):
        yield target.with_name(f"{target.name}.{number}")


def _release(target: Path) -> None:
    """Remove the reservation if it still is one."""
    if not target.is_symlink() and target.stat().st_size == 0:
        target.unlink()


def _put_back(source: Path, target: Path) -> str:
    try:
        os.link(target, source)
    except FileExistsError:
        return f"was replaced twice while it was being moved; the version in between is kept, not read, at {target}"
    target.unlink()
    return "was replaced while it was being moved; it will be read again"


def archive_consumed(compiled: Compiled, settings: Settings, main: BranchView) -> tuple[int, tuple[str, ...]]:
    """Move the files that every reader of a zone has published. Returns how many, and warnings."""
    zones = {
        zone for model in compiled.models.values() if model.model.settings.archive_landing_zones for zone in model.zones
    }
    moved, notes = 0, []
    for zone in sorted(zones):
        readers = [m for m in compiled.models.values() if zone in m.zones and m.model.settings.materialized == "table"]
        whole = [m for m in readers if m.model.settings.traits.reads_all_files]
        if whole:
            name, strategy = whole[0].model.table.short(compiled.namespace), whole[0].model.settings.strategy
            notes.append(f"landing zone {zone} is not archived: {name} ({strategy}) reads all of its files every time")
            continue
        done = _consumed_by_all(zone, readers, main)
        if done:
            report = archive_zone(settings.landing.root / zone, done)
            moved += len(report.moved)
            notes += [f"landing zone {zone}: {line}" for line in report.skipped]
    return moved, tuple(notes)


def _consumed_by_all(zone: str, readers: list[CompiledModel], main: BranchView) -> tuple[ConsumedFile, ...]:
    common: dict[tuple[str, str], ConsumedFile] | None = None
    for reader in readers:
        metadata = main.metadata(reader.model.table)
        progress = metadata.progress if isinstance(metadata, TableMetadata) else None
        if not isinstance(metadata, TableMetadata) or progress is None or zone not in progress.zones:
            return ()
        consumed = read_consumed(metadata.table_location, progress.zones[zone])
        files = {(file.path, file.digest or f"{file.size} {file.mtime_ns}"): file for file in consumed.files}
        common = files if common is None else {key: common[key] for key in common.keys() & files.keys()}
    return tuple((common or {})[key] for key in sorted(common or {}))
