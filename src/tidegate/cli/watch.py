"""Which files of a project changed, again and again: the folders are looked at ten times a second."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

__all__ = ["Watched", "watch"]

_EVERY = 0.1
_SETTLE = 0.02
_MOST_SETTLING = 25
_SHARE = 10
"""Looking takes at most a tenth of the time, however many files there are."""
_KINDS = (".sql", ".py", ".toml", ".yaml", ".yml")

Stamp = tuple[int, int, int]


class Watched:
    """`folders`: looked through for the files that a project is made of. `files`: any others. `listed`: only the names
    of the folders directly inside count. What is not there may come."""

    def __init__(self, folders: Iterable[Path], files: Iterable[Path] = (), listed: Iterable[Path] = ()) -> None:
        self.folders = tuple(folders)
        self.files = tuple(files)
        self.listed = tuple(listed)

    def look(self) -> dict[str, Stamp]:
        found: dict[str, Stamp] = {}
        for file in self.files:
            try:
                found[str(file)] = _stamp(os.stat(file))
            except OSError:
                continue
        for folder in self.folders:
            _walk(str(folder), found)
        for folder in self.listed:
            found.update({entry.path: (0, 0, 0) for entry in _entries(str(folder)) if entry.is_dir()})
        return found


def watch(
    watched: Callable[[], Watched],
    pause: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[frozenset[str]]:
    """The paths that were added, changed or removed since this call or the last answer; waits until there are some.

    `watched` is asked anew each time, because what changed may be what says where to look.
    """
    return _changes(watched().look(), watched, pause, clock)


def _changes(
    before: dict[str, Stamp],
    watched: Callable[[], Watched],
    pause: Callable[[float], None],
    clock: Callable[[], float],
) -> Iterator[frozenset[str]]:
    while True:
        now, took = _timed(watched(), clock)
        changed = _difference(before, now)
        if not changed:
            pause(max(_EVERY, took * _SHARE))
            continue
        now = _settled(now, watched, pause)
        changed, before = _difference(before, now), now
        if changed:
            yield changed


def _settled(
    seen: dict[str, Stamp], watched: Callable[[], Watched], pause: Callable[[float], None]
) -> dict[str, Stamp]:
    """An editor saves in several steps, and a branch is checked out file by file: wait until nothing moves."""
    for _ in range(_MOST_SETTLING):
        pause(_SETTLE)
        now = watched().look()
        if now == seen:
            break
        seen = now
    return seen


def _timed(watched: Watched, clock: Callable[[], float]) -> tuple[dict[str, Stamp], float]:
    started = clock()
    found = watched.look()
    return found, clock() - started


def _difference(before: dict[str, Stamp], now: dict[str, Stamp]) -> frozenset[str]:
    return frozenset(path for path in before.keys() | now.keys() if before.get(path) != now.get(path))


def _walk(folder: str, found: dict[str, Stamp], above: frozenset[str] = frozenset()) -> None:
    """Links are followed, but not to where one came from."""
    real = os.path.realpath(folder)
    if real in above:
        return
    for entry in _entries(folder):
        try:
            if entry.is_dir():
                _walk(entry.path, found, above | {real})
            elif entry.name.lower().endswith(_KINDS):
                found[entry.path] = _stamp(entry.stat())
        except OSError:
            continue  # it went away while we looked


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from (entry for entry in entries if not entry.name.startswith((".", "__")))
    except OSError:
        return


def _stamp(status: os.stat_result) -> Stamp:
    return status.st_mtime_ns, status.st_size, status.st_ino
