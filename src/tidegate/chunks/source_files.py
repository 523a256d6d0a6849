"""Which source each raw file of `bronze/` belongs to."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from tidegate.chunks.layout import BRONZE
from tidegate.config import ChunkSource
from tidegate.storage import Storage, StoredFile

__all__ = ["RawFile", "UnclaimedFile", "belongs_to", "raw_files"]

_BEING_WRITTEN = (".tmp", ".part", ".partial", ".crdownload", ".filepart", "~")
"""Endings that senders give files until they are complete."""


@dataclass(frozen=True, slots=True)
class RawFile:
    path: str
    source: ChunkSource
    size: int
    modified: datetime


@dataclass(frozen=True, slots=True)
class UnclaimedFile:
    """A file that is not read, and why."""

    path: str
    reason: str
    remedy: str


def raw_files(storage: Storage, sources: Mapping[str, ChunkSource]) -> Iterator[RawFile | UnclaimedFile]:
    """What is in `bronze/`, by path. Files that begin with `.` or `_`, and those that a sender still writes by their
    names, are not looked at."""
    for file in storage.list(BRONZE):
        if _is_looked_at(file.path):
            yield _claimed(file, sources.values())


def _is_looked_at(path: str) -> bool:
    names = path.split("/")[1:]
    return not any(name.startswith((".", "_")) for name in names) and not names[-1].lower().endswith(_BEING_WRITTEN)


def _claimed(file: StoredFile, sources: Collection[ChunkSource]) -> RawFile | UnclaimedFile:
    if not _is_unicode(file.path):
        shown = file.path.encode(errors="backslashreplace").decode()
        return UnclaimedFile(shown, "its name is not UTF-8 text", "give it another name")
    owners = [source for source in sources if belongs_to(file.path, source)]
    if len(owners) == 1:
        return RawFile(file.path, owners[0], file.size, file.modified)
    if owners:
        names = " and ".join(f"[chunks.sources.{source.name}]" for source in owners)
        return UnclaimedFile(file.path, f"it matches the patterns of {names}", "make the patterns exclude each other")
    for source in sources:
        if _regex(source.pattern).fullmatch(file.path):
            reason = f"the pattern of [chunks.sources.{source.name}] begins with '{BRONZE}/', to which it is relative"
            return UnclaimedFile(file.path, reason, f"leave '{BRONZE}/' out of it")
    reason = "no [chunks.sources.NAME] has a pattern that it matches"
    return UnclaimedFile(file.path, reason, "add a source with its pattern to tidegate.toml, or move it away")


def _is_unicode(path: str) -> bool:
    """Python gives bytes of a name that are not UTF-8 as halves of surrogate pairs."""
    return not any("\ud800" <= mark <= "\udfff" for mark in path)


def belongs_to(path: str, source: ChunkSource) -> bool:
    """`path`: relative to the storage, so it begins with `bronze/`."""
    inside = path.removeprefix(f"{BRONZE}/")
    if "/" not in source.pattern:
        own = inside.removeprefix(f"{source.name}/")
        return "/" not in own and _regex(source.pattern).fullmatch(own) is not None
    return _regex(source.pattern).fullmatch(inside) is not None


@lru_cache
def _regex(pattern: str) -> re.Pattern[str]:
    """`*` and `?` stay within one folder, `**` is any number of folders."""
    parts = {"**/": r"(?:[^/]+/)*", "**": r".*", "*": r"[^/]*", "?": r"[^/]"}
    pieces = re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]/]+\])", pattern)
    written = [parts.get(piece) or (_set(piece) if _is_set(piece) else re.escape(piece)) for piece in pieces]
    try:
        return re.compile("".join(written))
    except re.error:  # a set such as [z-a]
        return re.compile(re.escape(pattern))


def _is_set(piece: str) -> bool:
    return len(piece) > 2 and piece.startswith("[") and piece.endswith("]")


def _set(piece: str) -> str:
    inside = piece[1:-1].replace("\\", "\\\\")
    return f"[^{inside[1:]}]" if inside.startswith("!") else f"[{inside}]"
