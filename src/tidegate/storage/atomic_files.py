"""Writing a local file completely or not at all.

It is written under a temporary name beside its place, and renamed when it is on the disk. The writer holds a lock on
the temporary file, which ends with the process: a temporary file without one was left by a writer that was killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

__all__ = [
    "create_atomically",
    "is_scratch",
    "make_folder",
    "remove_scratch",
    "sync_folder",
    "write_atomically",
    "writing_atomically",
]

_SCRATCH = re.compile(r"\..+\.[0-9a-f]{32}")


def write_atomically(path: Path, content: bytes) -> None:
    """Raises OSError; then nothing is left behind, and an existing file is unchanged."""
    with writing_atomically(path) as file:
        file.write(content)


@contextlib.contextmanager
def writing_atomically(path: Path) -> Iterator[BinaryIO]:
    """The file is at `path` when the block ends without an exception. Raises OSError."""
    with _scratch(path, lambda scratch: scratch.replace(path)) as file:
        yield file


def create_atomically(path: Path, content: bytes) -> bool:
    """False where there is a file already, which is unchanged. Raises OSError."""
    if path.exists():
        return False
    try:
        with _scratch(path, lambda scratch: os.link(scratch, path)) as file:
            file.write(content)
    except FileExistsError:
        return False
    return True


def is_scratch(name: str) -> bool:
    """Whether a file of this name is being written, or was when its writer was killed."""
    return _SCRATCH.fullmatch(name) is not None


def remove_scratch(path: Path) -> None:
    """Remove a temporary file that no process writes. Raises OSError."""
    with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        path.unlink()


def make_folder(folder: Path) -> None:
    """With its parents; they are there after a power cut."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in missing:
        sync_folder(each.parent)


def sync_folder(folder: Path) -> None:
    """What was renamed into it is there after a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def _scratch(path: Path, finish: Callable[[Path], object]) -> Iterator[BinaryIO]:
    make_folder(path.parent)
    scratch = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with scratch.open("xb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
            file.flush()
            os.fsync(file.fileno())
            finish(scratch)
        sync_folder(path.parent)
    finally:
        with contextlib.suppress(OSError):
            scratch.unlink()
