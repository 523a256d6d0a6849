"""What a landing file is known by: its content, of which size and time only spare the reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from blake3 import blake3

from tidegate.project.landing import ZoneFile

__all__ = ["FileMark", "NewFiles", "content_digest", "unconsumed"]

_PIECE = 1 << 20


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
class NewFiles:
    """Files whose content was not consumed under their name.

    `replaced`: a file of that name was consumed, with other content.
    `copies`: those of both, by path, whose content was, or is to be, read under another name, and under which.
    `touched`: files that are not new, although their time is another than recorded.
    """

    new: tuple[ZoneFile, ...] = ()
    replaced: tuple[ZoneFile, ...] = ()
    copies: Mapping[str, str] = field(default_factory=dict)
    touched: frozenset[ZoneFile] = frozenset()

    @property
    def all(self) -> tuple[ZoneFile, ...]:
        return tuple(sorted((*self.new, *self.replaced)))


def content_digest(folder: Path, file: ZoneFile) -> str | None:
    """The BLAKE3 of a local file, in hex; a store that knows its objects by an ETag would answer with that.

    None: the file cannot be read, or is not the one that was listed any more.
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
) -> NewFiles:
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
    return NewFiles(tuple(new), tuple(replaced), copies, frozenset(touched))


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
        # empty files are all alike, and say nothing
        digest = digest_of(file) if file.size and alike[file.size] > 1 else None
        if digest is not None:
            original = originals.setdefault((file.size, digest), file.path)
            if original != file.path:
                copies[file.path] = original
    return copies
