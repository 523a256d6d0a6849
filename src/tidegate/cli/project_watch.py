"""Which files of a project change: its folders by file system events, a few single paths by looking again."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Generator, Iterable, Iterator, Set
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from watchfiles import Change, watch

from tidegate.operations.compile import PROJECT_ENDINGS

__all__ = ["WatchedPaths", "watch_project"]

_SETTLE_MS = 30
"""An editor saves in several steps, and a branch is checked out file by file: wait until nothing moves."""

_IDLE_MS = 200
"""How often single paths are looked at."""

_Events = Generator[set[tuple[Change, str]], None, None]
_Stamps = dict[str, tuple[int, ...]]
"""Paths, each with what changes when it does."""


@dataclass(frozen=True, slots=True)
class WatchedPaths:
    """None of the paths has to exist yet."""

    folders: tuple[Path, ...]
    """Watched with everything below them for the files that a project is made of."""

    files: tuple[Path, ...] = ()

    landing: Path | None = None
    """Only the names of the folders directly inside it count: a zone that comes or goes."""

    def single_paths(self) -> _Stamps:
        """What file system events of `folders` do not cover, each with what changes when it does."""
        paths = {str(folder): identity for folder in self.folders if (identity := _identity(folder)) is not None}
        paths |= {f"{self.landing}/{zone}": () for zone in _folder_names(self.landing)}
        return paths | _stamps(map(str, self.files))

    def linked_files(self) -> _Stamps:
        """The files in `folders` that are links: events report the link, not the file that it leads to."""
        return _stamps(link for folder in self.folders for link in _links(folder))


def watch_project(paths: Callable[[], WatchedPaths]) -> Iterator[frozenset[str]]:
    """The paths that were added, changed or removed since this call or the last answer; waits until there are some.

    `paths` is called each time, because the change may be in the setting of where to look.
    """
    watched = paths()
    before, events = watched.single_paths(), _armed(watched)  # now, not when the first change is asked for
    return _changes(paths, before, watched.linked_files(), events)


def _changes(
    paths: Callable[[], WatchedPaths], before: _Stamps, links_before: _Stamps, events: _Events
) -> Iterator[frozenset[str]]:
    while True:
        happened, watched = next(events), paths()
        changed = {path for change, event in happened for path in _project_files(change, event)}
        replaced, now = _replaced(happened, watched), watched.single_paths()
        if replaced or now != before:
            changed |= replaced | _differences(before, now)
            events.close()
            events, before = _armed(watched), now
        links = watched.linked_files() if happened or changed else _stamps(links_before)
        changed |= _differences(links_before, links)
        links_before = links
        if changed:
            yield frozenset(changed)


def _armed(paths: WatchedPaths) -> _Events:
    """Events that have begun, of the folders that are there now: one may be replaced in the meantime."""
    while True:
        events = _events(paths)
        with suppress(FileNotFoundError):
            if not _replaced(next(events), paths):
                return events
        events.close()


def _replaced(happened: set[tuple[Change, str]], paths: WatchedPaths) -> set[str]:
    """The watched folders that went: one that is there again may have the same inode, but nothing watches it."""
    return {path for change, path in happened if change is not Change.modified} & set(map(str, paths.folders))


def _differences(before: _Stamps, now: _Stamps) -> set[str]:
    return {path for path in before.keys() | now.keys() if before.get(path) != now.get(path)}


def _events(paths: WatchedPaths) -> _Events:
    """An empty set where nothing has changed for a while."""
    existing = [folder for folder in paths.folders if folder.is_dir()]
    return watch(
        *existing,
        watch_filter=lambda _change, path: not _is_hidden(path, existing),
        step=_SETTLE_MS,
        rust_timeout=_IDLE_MS,
        yield_on_timeout=True,
    )


def _is_hidden(path: str, folders: list[Path]) -> bool:
    folder = next((folder for folder in folders if path.startswith(f"{folder}/")), None)
    parts = Path(path).relative_to(folder).parts if folder else ()
    return any(part.startswith((".", "__")) for part in parts)


def _project_files(change: Change, path: str) -> Set[str]:
    """A folder may be moved here or away whole, with one event for all that is in it."""
    if path.lower().endswith(PROJECT_ENDINGS) or change is Change.deleted:  # what is gone may have been a folder
        return {path}
    if change is Change.added and os.path.isdir(path):
        return {str(file) for file in Path(path).rglob("*") if file.name.lower().endswith(PROJECT_ENDINGS)}
    return set()


def _folder_names(folder: Path | None) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            yield from (e.name for e in entries if e.is_dir() and not e.name.startswith((".", "__")))
    except OSError:
        return


def _links(folder: Path) -> Iterator[str]:
    visited: set[str] = set()  # folders that link to each other would have no end
    for parent, folders, files in os.walk(folder, followlinks=True):
        real = os.path.realpath(parent)
        folders[:] = [name for name in folders if real not in visited and not name.startswith((".", "__"))]
        visited.add(real)
        names = (name for name in files if name.lower().endswith(PROJECT_ENDINGS) and not name.startswith((".", "__")))
        yield from (path for name in names if os.path.islink(path := os.path.join(parent, name)))


def _identity(folder: Path) -> tuple[int, ...] | None:
    """None where there is no such folder."""
    try:
        status = folder.stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISDIR(status.st_mode) else None


def _stamps(files: Iterable[str]) -> _Stamps:
    """A file that is not there has an empty one."""
    return {file: _stamp(file) for file in files}


def _stamp(file: str) -> tuple[int, ...]:
    try:
        status = os.stat(file)
    except OSError:
        return ()
    return status.st_mtime_ns, status.st_size, status.st_ino
