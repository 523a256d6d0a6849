"""Reading a large object in pieces, and writing one that appears when it is complete."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import obstore
from obstore.store import S3Store

if TYPE_CHECKING:
    from obstore import WritableFile
    from typing_extensions import Buffer

__all__ = ["ObjectReader", "ObjectWriter"]

_LEAST, _MOST = 2**18, 2**23
"""Bytes of one request: a file that is read on and on is read in larger pieces."""

_PART = 2**23
_PARTS_AT_ONCE = 3

Failures = Callable[[], AbstractContextManager[None]]


class ObjectReader(io.RawIOBase):
    """An object as it was when it was opened: one that is replaced meanwhile cannot be read on."""

    def __init__(self, store: S3Store, key: str, failures: Failures) -> None:
        self._store, self._key, self._failures = store, key, failures
        with failures():
            facts = obstore.head(store, key)
        self._size, self._tag = facts["size"], facts["e_tag"]
        self._at, self._piece, self._next = 0, b"", _LEAST
        self._start = 0
        """Where `_piece` begins."""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: Buffer) -> int:
        view = memoryview(buffer).cast("B")
        count = min(len(view), self._size - self._at)
        if count <= 0:
            return 0
        if not self._start <= self._at < self._start + len(self._piece):
            self._fetch()
        inside = self._at - self._start
        piece = self._piece[inside : inside + count]
        view[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)

    def _fetch(self) -> None:
        goes_on = self._at == self._start + len(self._piece)
        self._next = min(2 * self._next, _MOST) if goes_on and self._piece else _LEAST
        end = min(self._at + self._next, self._size)
        with self._failures():
            result = obstore.get(self._store, self._key, options={"range": (self._at, end), "if_match": self._tag})
            self._piece, self._start = result.bytes().to_bytes(), self._at


class ObjectWriter(io.RawIOBase):
    """Parts are uploaded as they fill; `complete` makes the object of them, and without it there is none."""

    def __init__(self, store: S3Store, key: str, failures: Failures, part: int = _PART) -> None:
        self._failures = failures
        self._written = 0
        self._upload: WritableFile = obstore.open_writer(store, key, buffer_size=part, max_concurrency=_PARTS_AT_ONCE)

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._written

    def write(self, data: Buffer) -> int:
        with self._failures():
            count = self._upload.write(data)
        self._written += count
        return count

    def complete(self) -> None:
        with self._failures():
            self._upload.close()
