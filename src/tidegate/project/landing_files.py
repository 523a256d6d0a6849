"""The files of a landing zone: which there are, their formats, and which of them are new.

A file is identified by its content; its size and time only spare the reading of it.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from blake3 import blake3

from tidegate.config.file_formats import FILE_FORMATS, format_of
from tidegate.errors import LandingError
from tidegate.names import is_zone_name, nearest

__all__ = [
    "FileMark",
    "UnconsumedFiles",
    "ZoneFile",
    "content_digest",
    "file_format",
    "files_by_format",
    "list_zone",
    "unconsumed",
    "verify_unchanged",
    "zone_folder",
]


@dataclass(frozen=True, order=True, slots=True)
class ZoneFile:
    """A file as it was listed. `path` is relative to the zone, with forward slashes."""

    path: str
    size: int
    mtime_ns: int


def list_zone(root: Path, zone: str, required: bool = True) -> tuple[ZoneFile, ...]:
    """Every data file of the zone, sorted by path. Names that begin with `_` or `.` are not data, folders included.
    `required` False: the folder need not be there."""
    folder = zone_folder(root, zone, required)
    files: list[ZoneFile] = []
    if not folder.exists():
        return ()
    try:
        _walk(folder, "", zone, files, (_identity(folder),))
    except OSError as error:
        raise LandingError(
            f"landing zone '{zone}' cannot be listed: {error.strerror or error}",
            where=str(error.filename or folder),
            remedy="give this user read access to the folder and all folders in it",
        ) from error
    return tuple(sorted(files))


def file_format(path: str) -> str | None:
    """The reader that the name's ending asks for; None where it asks for none."""
    form = format_of(path)
    return None if form is None else form.reader


def files_by_format(
    folder: Path, files: Sequence[ZoneFile], declared: str | None
) -> Mapping[str, tuple[ZoneFile, ...]]:
    """The files per format: the zone's declared one, or each file's own by its ending."""
    if declared is not None and declared.lower() not in FILE_FORMATS:
        raise LandingError(
            f"landing zone '{folder.name}' is declared as '{declared}', which is not a format",
            where=f"[landing.{folder.name}] format",
            remedy=f"write one of {', '.join(FILE_FORMATS)}",
        )
    groups: dict[str, list[ZoneFile]] = {}
    for file in files:
        kind = FILE_FORMATS[declared.lower()].reader if declared else file_format(file.path)
        if kind is None:
            raise LandingError(
                f"landing zone '{folder.name}' holds '{file.path}', whose kind its name does not say",
                where=str(folder / file.path),
                remedy=f'declare format = "csv" (or json, parquet) in [landing.{folder.name}], let the name end in '
                f"{', '.join(f'.{name}' for name in FILE_FORMATS)}, or begin it with '_' so that it is not read",
            )
        groups.setdefault(kind, []).append(file)
    return {kind: tuple(groups[kind]) for kind in sorted(groups)}


def verify_unchanged(folder: Path, files: Iterable[ZoneFile]) -> tuple[ZoneFile, ...]:
    """Those of `files` that were changed or removed since they were listed."""
    changed = []
    for file in files:
        try:
            status = (folder / file.path).stat()
        except OSError:
            changed.append(file)
            continue
        if (status.st_size, status.st_mtime_ns) != (file.size, file.mtime_ns):
            changed.append(file)
    return tuple(changed)


def zone_folder(root: Path, zone: str, required: bool = True) -> Path:
    """`required` False: the folder need not be there."""
    if not is_zone_name(zone):
        raise LandingError(
            f"'{zone if len(zone) < _SHOWN else f'{zone[:_SHOWN]}…'}' is not a landing zone's name",
            remedy=f"name a folder of {root}; names that begin with '_' or '.' are never read",
        )
    folder = root / zone
    if folder.is_dir() or not (required or folder.exists()):
        return folder
    if folder.exists():
        raise LandingError(
            f"landing zone '{zone}' is a file, not a folder",
            where=str(folder),
            remedy=f"move the file into a folder of its own: {folder.parent}/<zone>/{folder.name}",
        )
    close = nearest(zone, _zones(root))
    raise LandingError(
        f"landing zone '{zone}' does not exist" + (f"; did you mean {' or '.join(close)}?" if close else ""),
        where=str(folder),
        remedy=f"make the folder {folder} and put files there, or correct the name",
    )


def _zones(root: Path) -> list[str]:
    try:
        return [entry.name for entry in root.iterdir() if entry.is_dir() and entry.name[:1] not in ("_", ".")]
    except OSError:
        return []


def _walk(folder: Path, prefix: str, zone: str, files: list[ZoneFile], above: tuple[tuple[int, int], ...]) -> None:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name[:1] in ("_", "."):
                continue
            try:
                status = entry.stat()
            except FileNotFoundError:
                if entry.is_symlink():
                    raise _unreadable(zone, entry.path, "is a symbolic link to nothing", "remove or fix it") from None
                continue  # it was removed while the folder was being listed
            if stat.S_ISDIR(status.st_mode):
                identity = (status.st_dev, status.st_ino)
                if identity in above:
                    raise _unreadable(zone, entry.path, "is a link to a folder above itself", "remove the link")
                _walk(Path(entry.path), f"{prefix}{entry.name}/", zone, files, (*above, identity))
            elif stat.S_ISREG(status.st_mode):
                _check_name(zone, entry.name, entry.path)
                files.append(ZoneFile(f"{prefix}{entry.name}", status.st_size, status.st_mtime_ns))
            else:
                raise _unreadable(zone, entry.path, "is neither a file nor a folder", "move it out of the zone")


def _check_name(zone: str, name: str, path: str) -> None:
    if ":" in name:
        raise _unreadable(zone, path, "has a colon in its name, which Spark's file layer cannot open", "rename it")
    try:
        path.encode()
    except UnicodeEncodeError:
        raise _unreadable(zone, ascii(path), "has a name that is not UTF-8", "rename it") from None


def _unreadable(zone: str, path: str, why: str, remedy: str) -> LandingError:
    return LandingError(f"landing zone '{zone}': '{os.path.basename(path)}' {why}", where=path, remedy=remedy)


def _identity(folder: Path) -> tuple[int, int]:
    status = folder.stat()
    return status.st_dev, status.st_ino


_PIECE = 1 << 20
_SHOWN = 100
"""Characters of a zone's name in a message."""


class FileMark(Protocol):
    """A file as it was consumed. `digest`: None in lists that were written before digests were."""

    @property
    def path(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def mtime_ns(self) -> int: ...
    @property
    def digest(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class UnconsumedFiles:
    """Files whose content was not consumed under their name."""

    new: tuple[ZoneFile, ...] = ()

    replaced: tuple[ZoneFile, ...] = ()
    """A file of that name was consumed, with other content."""

    copies: Mapping[str, str] = field(default_factory=dict)
    """Of new and replaced files, by path: the other name under which their content was, or will be, read."""

    touched: frozenset[ZoneFile] = frozenset()
    """Files that are not new, although their time differs from the recorded one."""

    @property
    def all(self) -> tuple[ZoneFile, ...]:
        """In the order in which they were listed, which is that of paths where files can be replaced."""
        return tuple(sorted((*self.new, *self.replaced))) if self.replaced else self.new


def content_digest(folder: Path, file: ZoneFile) -> str | None:
    """The BLAKE3 of a local file, in hex.

    None: the file cannot be read, or was changed after it was listed.
    """
    try:
        return _read_digest(folder / file.path, file.size, file.mtime_ns)
    except OSError:
        return None


@lru_cache(maxsize=1 << 16)
def _read_digest(path: Path, size: int, mtime_ns: int) -> str:
    """Remembered, because a file is listed several times in a run: for the plan, and for every model that reads it."""
    digest = blake3()
    with path.open("rb") as content:
        while piece := content.read(_PIECE):
            digest.update(piece)
    status = path.stat()
    if (status.st_size, status.st_mtime_ns) != (size, mtime_ns):
        raise OSError("changed since it was listed")
    return digest.hexdigest()


def unconsumed(
    files: Iterable[ZoneFile], consumed: Iterable[FileMark], digest_of: Callable[[ZoneFile], str | None]
) -> UnconsumedFiles:
    """The files whose content was not consumed under their name.

    A file is read for its digest only where nothing else decides: its time is another than recorded, or it is as large
    as a file that it may be a copy of.
    """
    marks = {mark.path: mark for mark in consumed}
    new, replaced, touched = [], [], []
    for file in files:
        mark = marks.get(file.path)
        if mark is None:
            new.append(file)
        elif (file.size, file.mtime_ns) == (mark.size, mark.mtime_ns):
            continue
        elif file.size == mark.size and mark.digest is not None and digest_of(file) == mark.digest:
            touched.append(file)
        else:
            replaced.append(file)
    copies = _copies([*new, *replaced], marks, digest_of)
    return UnconsumedFiles(tuple(new), tuple(replaced), copies, frozenset(touched))


def _copies(
    files: Iterable[ZoneFile], marks: Mapping[str, FileMark], digest_of: Callable[[ZoneFile], str | None]
) -> dict[str, str]:
    originals: dict[tuple[int, str], str] = {}
    for mark in marks.values():
        if mark.digest is not None:
            originals.setdefault((mark.size, mark.digest), mark.path)
    arrived = sorted(files)
    alike = Counter([mark.size for mark in marks.values() if mark.digest] + [file.size for file in arrived])
    copies = {}
    for file in arrived:
        # empty files are all alike, so they are not copies
        digest = digest_of(file) if file.size and alike[file.size] > 1 else None
        if digest is not None:
            original = originals.setdefault((file.size, digest), file.path)
            if original != file.path:
                copies[file.path] = original
    return copies
