"""Files in a folder of this machine, or of a disk that several machines share.

Links to folders are not followed when listing; a link to a place outside the root is refused.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from tidegate.errors import FailureKind, StorageError
from tidegate.storage.atomic_files import (
    create_atomically,
    is_scratch,
    make_folder,
    remove_scratch,
    sync_folder,
    write_atomically,
    writing_atomically,
)
from tidegate.storage.checked_paths import checked_folder, checked_path, leads_out
from tidegate.storage.storage_port import StoredFile

__all__ = ["LocalFolder"]


class LocalFolder:
    def __init__(self, root: Path) -> None:
        self._root = Path(os.path.abspath(root))
        self._real_root = Path(os.path.realpath(root))

    @property
    def location(self) -> str:
        return str(self._root)

    def list(self, prefix: str = "") -> Iterator[StoredFile]:
        folder = checked_folder(prefix, self.location)
        for path in self._walk(folder):
            if is_scratch(path.rpartition("/")[2]):
                continue
            with suppress(FileNotFoundError):  # it was removed while the folder was listed
                status = os.stat(self._root / path)
                yield StoredFile(path, status.st_size, datetime.fromtimestamp(status.st_mtime, UTC))

    def exists(self, path: str) -> bool:
        return self.size(path) is not None

    def size(self, path: str) -> int | None:
        file = self._file(path)
        with self._failures(path):
            try:
                return file.stat().st_size if file.is_file() else None
            except FileNotFoundError:
                return None

    def read(self, path: str) -> bytes:
        file = self._file(path)
        with self._failures(path):
            return file.read_bytes()

    @contextmanager
    def open(self, path: str) -> Iterator[BinaryIO]:
        file = self._file(path)
        with self._failures(path):
            stream = file.open("rb")
        with stream:
            yield stream

    def write(self, path: str, data: bytes) -> None:
        file = self._file(path)
        with self._failures(path):
            write_atomically(file, data)

    @contextmanager
    def writer(self, path: str) -> Iterator[BinaryIO]:
        file = self._file(path)
        with self._failures(path), writing_atomically(file) as stream:
            yield stream

    def create(self, path: str, data: bytes) -> bool:
        file = self._file(path)
        with self._failures(path):
            return create_atomically(file, data)

    def move(self, source: str, target: str) -> None:
        old, new = self._file(source), self._file(target)
        with self._failures(source):
            if old.exists():
                make_folder(new.parent)
                with suppress(FileNotFoundError):  # another process moves it too
                    old.replace(new)
                    sync_folder(new.parent)
                    sync_folder(old.parent)
            if not new.exists():
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(old))

    def delete(self, path: str) -> None:
        file = self._file(path)
        with self._failures(path):
            file.unlink(missing_ok=True)

    def remove_unfinished(self, prefix: str = "") -> None:
        for path in self._walk(checked_folder(prefix, self.location)):
            if is_scratch(path.rpartition("/")[2]):
                with self._failures(path):
                    remove_scratch(self._root / path)

    def spark_path(self, path: str = "") -> str:
        return str(self._inside(checked_folder(path, self.location)))

    def _file(self, path: str) -> Path:
        return self._inside(checked_path(path, self.location))

    def _inside(self, path: str) -> Path:
        file = self._root / path
        if not Path(os.path.realpath(file)).is_relative_to(self._real_root):
            raise leads_out(path, self.location)
        return file

    def _walk(self, folder: str) -> Iterator[str]:
        """Sorted as an object store sorts them: a folder's name counts with its slash."""
        start = f"{folder}/" if folder else ""
        with self._failures(folder):
            for entry in self._entries(folder):
                path = start + entry.name
                if entry.is_dir(follow_symlinks=False):
                    yield from self._walk(path)
                elif entry.is_symlink():
                    if self._inside(path).is_file():
                        yield path
                elif entry.is_file():
                    yield path

    def _entries(self, folder: str) -> Iterable[os.DirEntry[str]]:
        try:
            with os.scandir(self._inside(folder)) as scan:
                entries = tuple(scan)
        except (FileNotFoundError, NotADirectoryError):
            return ()
        return sorted(
            entries, key=lambda entry: f"{entry.name}/" if entry.is_dir(follow_symlinks=False) else entry.name
        )

    @contextmanager
    def _failures(self, path: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            denied = isinstance(error, PermissionError)
            raise StorageError(
                f"'{path}' cannot be used: {error.strerror or error}",
                where=self.location,
                remedy="check the disk's space and the folder's permissions",
                kind=FailureKind.AUTH_FAILED if denied else FailureKind.TRANSIENT,
            ) from error
