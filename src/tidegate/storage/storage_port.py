"""The port to the small files that Tidegate itself reads and writes, on folders and object stores alike.

Paths are relative to the storage's root and separated by `/`; one that leads out of it is refused. What the world does
not allow (a permission, a server that is down) is a StorageError of any method.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import BinaryIO, Protocol

__all__ = ["Storage", "StoredFile"]


@dataclass(frozen=True, slots=True)
class StoredFile:
    path: str
    """Relative to the storage's root."""

    size: int
    modified: datetime


class Storage(Protocol):
    @property
    def location(self) -> str:
        """For people: a folder, or `s3://bucket/prefix`."""

    def list(self, prefix: str = "") -> Iterator[StoredFile]:
        """The files of a folder and the folders below it, by path; none where there is no such folder.

        Files that are being written are not listed.
        """

    def exists(self, path: str) -> bool: ...

    def size(self, path: str) -> int | None:
        """None where there is no such file."""

    def read(self, path: str) -> bytes:
        """Raises FileNotFoundError."""

    def open(self, path: str) -> AbstractContextManager[BinaryIO]:
        """Streamed, and seekable. Raises FileNotFoundError."""

    def write(self, path: str, data: bytes) -> None:
        """Whole or not at all; it is there after a power cut. A file that is there is replaced."""

    def writer(self, path: str) -> AbstractContextManager[BinaryIO]:
        """Streamed: the file appears when the block ends without an exception, else not at all."""

    def create(self, path: str, data: bytes) -> bool:
        """False where there is a file already, which is unchanged: of several writers one gets True."""

    def move(self, source: str, target: str) -> None:
        """A file that is at `target` is replaced. Repeats without harm: a source that is gone is success where the
        target is there. Raises FileNotFoundError where both are gone.
        """

    def delete(self, path: str) -> None:
        """None there is fine."""

    def remove_unfinished(self, prefix: str = "") -> None:
        """Remove what writers that were killed left in a folder and the folders below it."""

    def spark_path(self, path: str = "") -> str:
        """How Spark names the file or folder: an absolute local path, or `s3a://…`."""
