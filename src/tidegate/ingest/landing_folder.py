"""The files of a logical run in its landing zone: temporary while a batch is written, then named by run and batch."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tidegate.errors import FailureKind, LandingError
from tidegate.project.manifest_files import MANIFESTS

__all__ = ["LandingFolder", "exclusive", "require_inside"]

_SCRATCH = "_scratch"
_NUMBER = re.compile(r"(\d+)")


def require_inside(root: Path, zone: Path) -> None:
    """What a connector writes stays below the landing root. Raises LandingError for a link out of it."""
    folders = (zone, zone / MANIFESTS, zone / _SCRATCH)
    for folder in (zone, *(each for each in folders if each.is_symlink())):
        if folder != zone or not folder.resolve().is_relative_to(root.resolve()):
            raise LandingError(
                f"landing zone '{zone.name}' leads out of the landing root: a connector does not write there",
                where=str(folder),
                remedy="replace the link by a folder, or set root in [landing] to where the files are to be",
            )


@contextmanager
def exclusive(zone: Path) -> Iterator[None]:
    """One process at a time lands in a zone. The lock ends with the process, however that ends."""
    folder = zone / MANIFESTS
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / ".lock").open("ab")
    except OSError as error:
        raise _failed(folder, error) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            failure = LandingError(
                f"another process is landing files in zone '{zone.name}'",
                where=str(zone),
                remedy="wait until it has ended, and repeat the command",
            )
            failure.kind = FailureKind.CONFLICT
            raise failure from error
        yield


class LandingFolder:
    """Call its methods with the zone's lock held."""

    def __init__(self, zone: Path, run_id: str) -> None:
        self._zone = zone
        self._folder = zone / run_id

    @property
    def scratch(self) -> Path:
        return self._zone / _SCRATCH

    def prepare(self, batches: int) -> None:
        """Remove what a killed process left: temporary files, and files of batches after the last recorded one."""
        if self._folder.is_symlink():
            raise LandingError(
                f"'{self._folder.name}' in landing zone '{self._zone.name}' is a link, not the folder of a run",
                where=str(self._folder),
                remedy="remove the link; `tidegate ingest --restart` reads the run again",
            )
        try:
            for path in (self._zone / MANIFESTS).glob(".*.json.*"):
                path.unlink(missing_ok=True)
            for path in self._files():
                if _batch_of(path) > batches:
                    path.unlink()
            self.clear_scratch()
        except OSError as error:
            raise _failed(self._folder, error) from error

    def clear_scratch(self) -> None:
        """Empty, and there."""
        if self.scratch.exists():
            shutil.rmtree(self.scratch)
        self.scratch.mkdir(parents=True)

    def remove_scratch(self) -> None:
        shutil.rmtree(self.scratch, ignore_errors=True)

    def take(self, number: int, names: Sequence[str]) -> None:
        """Move the files of a batch out of the temporary folder. They are on the disk when this returns."""
        try:
            if not self._folder.exists():
                self._folder.mkdir(parents=True)
                _sync(self._zone)
            for part, name in enumerate(names):
                source = self.scratch / name
                ending = "".join(Path(name).suffixes[-2:] if name.endswith(".gz") else Path(name).suffixes[-1:])
                suffix = "" if len(names) == 1 else f"-{part:05d}"
                _sync(source)
                source.replace(self._folder / f"{number:06d}{suffix}{ending}")
            _sync(self._folder)
            self.clear_scratch()
        except OSError as error:
            raise _failed(self._folder, error) from error

    def files(self, expected: int) -> tuple[str, ...]:
        """Relative to the zone, in the order of their rows. Raises LandingError where some of them are gone."""
        names = tuple(path.relative_to(self._zone).as_posix() for path in self._files())
        if len(names) != expected:
            raise LandingError(
                f"{expected} files were landed, and {len(names)} of them are there",
                where=str(self._folder),
                remedy="`tidegate ingest --restart` reads them again",
            )
        return names

    def remove_empty(self) -> None:
        with suppress(OSError):
            self._folder.rmdir()

    def remove(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def _files(self) -> list[Path]:
        found = [path for path in self._folder.glob("*") if path.name[:1] not in ("_", ".")]
        return sorted(found, key=lambda path: (_batch_of(path), path.name))


def _batch_of(path: Path) -> int:
    match = _NUMBER.match(path.name)
    return int(match[1]) if match else 0


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _failed(path: Path, error: OSError) -> LandingError:
    failure = LandingError(
        f"the landing zone cannot be written: {error.strerror or error}",
        where=str(error.filename or path),
        remedy="check the disk's space and the folder's permissions, and repeat the command: it continues",
    )
    failure.kind = FailureKind.TRANSIENT
    return failure
