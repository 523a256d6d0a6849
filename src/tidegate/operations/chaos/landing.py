"""A second landing folder with the same files, and whether none of them was lost on the way."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path

__all__ = ["Landing", "copy_landing", "look_at_landing"]

Landing = tuple[tuple[str, ...], tuple[tuple[int, int], ...]]
"""The files that wait, by path; and size and time of every file, also of those that were moved away."""

_ARCHIVE = "_processed"


def copy_landing(source: Path, target: Path) -> None:
    """Files that were archived stay where they are. Times are kept: they tell which files were read before."""
    target.mkdir(parents=True)
    seen: set[str] = set()
    for parent, folders, files in os.walk(source, followlinks=True):
        real = os.path.realpath(parent)
        # A folder that is linked into itself has no end.
        folders[:] = [] if real in seen else [name for name in folders if name != _ARCHIVE]
        seen.add(real)
        # A folder of its own also where the source has a link: what is moved away here must not be moved there.
        folder = target / Path(parent).relative_to(source)
        folder.mkdir(exist_ok=True)
        for name in files:
            _copy(Path(parent) / name, folder / name)


def _copy(source: Path, target: Path) -> None:
    """The same file under a second name where the disk allows it: nobody writes into a landing file."""
    try:
        os.link(os.path.realpath(source), target)
    except OSError:
        shutil.copy2(source, target)


def look_at_landing(root: Path) -> Landing:
    waiting: list[str] = []
    every: Counter[tuple[int, int]] = Counter()
    for parent, _, files in os.walk(root):
        relative = Path(parent).relative_to(root)
        for name in files:
            status = (Path(parent) / name).stat()
            if _ARCHIVE not in relative.parts:
                waiting.append((relative / name).as_posix())
            elif not status.st_size:
                continue  # a place that was reserved by somebody who was killed before the file came
            every[status.st_size, status.st_mtime_ns] += 1
    return tuple(sorted(waiting)), tuple(sorted(every.elements()))
