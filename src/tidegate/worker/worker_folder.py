"""Where a project's workers listen: a folder below one that only this user can open."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from pathlib import Path

from tidegate.errors import SetupError

__all__ = ["LONGEST_ADDRESS", "WorkerPlace", "private_folder", "project_folder", "worker_places"]

LONGEST_ADDRESS = 103
"""Bytes of a Unix socket's path that every system takes: Linux has room for 107, macOS for 103."""

_DIGITS = 16


class WorkerPlace:
    """The files of one worker, by its identity."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self.address = folder / f"{name}.sock"
        self.alive = folder / f"{name}.alive"
        """Locked by the worker for as long as it lives."""

        self.leased = folder / f"{name}.leased"
        """Locked, shared, by each command that has a lease or is about to."""


def project_folder(root: Path) -> Path:
    """Of the project in `root`. Raises SetupError where no folder can be made that is this user's alone."""
    digest = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()
    folder = private_folder(_base() / digest[:_DIGITS])
    longest = len(os.fsencode(folder / f"{'0' * _DIGITS}.sock"))
    if longest > LONGEST_ADDRESS:
        raise SetupError(
            f"The path of the worker's socket has {longest} bytes, and a socket's path {LONGEST_ADDRESS} at most",
            where=str(folder),
            remedy="Set XDG_RUNTIME_DIR or TMPDIR to a shorter path.",
        )
    return folder


def worker_places(root: Path) -> list[WorkerPlace]:
    """Those of the project that a worker has listened at, and may still."""
    folder = project_folder(root)
    return [WorkerPlace(folder, path.stem) for path in sorted(folder.glob("*.sock"))]


def private_folder(folder: Path) -> Path:
    """`folder`, created if it is missing. Raises SetupError where others can open it, or it is not this user's."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
    except OSError as error:
        raise SetupError(f"Cannot make a folder for the worker: {error.strerror}", where=str(folder)) from error
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or stat.S_IMODE(status.st_mode) & 0o077:
        raise SetupError(
            "The worker's folder is not this user's alone",
            where=str(folder),
            remedy="Remove it; Tidegate makes it again, with the rights 0700.",
        )
    return folder


def _base() -> Path:
    """In the folder that the system gives each user for sockets, if it does; else among the temporary files."""
    given = os.environ.get("XDG_RUNTIME_DIR")
    if given and Path(given).is_absolute() and os.access(given, os.W_OK) and Path(given).stat().st_uid == os.getuid():
        return private_folder(Path(given) / "tidegate")
    return private_folder(Path(tempfile.gettempdir()) / f"tidegate-{os.getuid()}")
