"""The texts of a project's files; one that was read before is not opened again while its file is unchanged."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

__all__ = ["Text", "Texts"]

_SETTLED_NS = 2_000_000_000
"""A file system may count time in steps of two seconds; a second change within one step leaves no mark."""

T = TypeVar("T")
Marks = tuple[int, int, int, int]
"""Size, inode, and the times of the last change of content and of anything: every write changes one of them."""


class Text(NamedTuple):
    """`marks`: the file's when it was read; None where it was too fresh for a later change to show in them."""

    text: str
    marks: Marks | None
    derived: tuple[str, Any] | None = None
    """A value that was made from the text, with what else it depends on."""


@dataclass(slots=True)
class Texts:
    """`by_path`: the texts that were read; `changed`: the paths whose text or marks differ from before."""

    by_path: dict[str, Text] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)
    now: Callable[[], int] = time.time_ns

    def read(self, root: str, path: str) -> str:
        """The text of `path`, which is relative to `root`. Raises OSError and UnicodeDecodeError."""
        before = self.by_path.get(path)
        if before is not None and before.marks == _marks(os.stat(f"{root}/{path}")):
            return before.text
        now = self.now()
        with open(f"{root}/{path}", "rb", buffering=0) as stream:
            marks = _marks(os.fstat(stream.fileno()))
            text = stream.read().decode().removeprefix("\ufeff")
        settled = max(marks[2:]) + _SETTLED_NS < now
        current = Text(text, marks if settled else None)
        if before is not None and before.text == text:
            current = current._replace(derived=before.derived)
        if current != before:
            self.by_path[path] = current
            self.changed.add(path)
        return text

    def derive(self, path: str, key: str, make: Callable[[str], T]) -> T:
        """What `make` gives for the text of `path`, which was read before; made once for each text and `key`."""
        entry = self.by_path[path]
        if entry.derived is None or entry.derived[0] != key:
            entry = self.by_path[path] = entry._replace(derived=(key, make(entry.text)))
            self.changed.add(path)
        assert entry.derived is not None
        value: T = entry.derived[1]
        return value

    def keep_only(self, paths: Collection[str]) -> None:
        for path in self.by_path.keys() - paths:
            del self.by_path[path]
            self.changed.add(path)


def _marks(status: os.stat_result) -> Marks:
    return status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns
