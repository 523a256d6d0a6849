"""Which files of a project change: its folders by file system events, a few single paths by looking again."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Set
from dataclasses import dataclass
from pathlib import Path

from watchfiles import Change, watch

__all__ = ["WatchedPaths", "watch_project"]

_PROJECT_FILES = (".sql", ".py", ".toml", ".yaml", ".yml")
_SETTLE_MS = 30
"""An editor saves in several steps, and a branch is checked out file by file: wait until nothing moves."""

_IDLE_MS = 200
"""How often single paths are looked at."""


@dataclass(frozen=True, slots=True)
class WatchedPaths:
    """None of the paths has to exist yet."""

    folders: tuple[Path, ...]
    """Watched with everything below them for the files that a project is made of."""

    files: tuple[Path, ...] = ()

    landing: Path | None = None
    """Only the names of the folders directly inside it count: a zone that comes or goes."""

    def single_paths(self) -> dict[str, tuple[int, ...]]:
        """What file system events of `folders` do not cover, each with what changes when it does."""
        paths = {str(folder): () for folder in self.folders if folder.is_dir()}
        paths |= {f"{self.landing}/{zone}": () for zone in _folder_names(self.landing)}
        stamps = ((file, _stamp(file)) for file in self.files)
        return {**paths, **{str(file): stamp for file, stamp in stamps if stamp is not None}}


def watch_project(paths: Callable[[], WatchedPaths]) -> Iterator[frozenset[str]]:
    """The paths that were added, changed or removed since this call or the last answer; waits until there are some.

    `paths` is called each time, because the change may be in the setting of where to look.
    """
    before, events = paths().single_paths(), _events(paths())
    next(events)  # the watch begins here, not when the first change is asked for
    return _changes(paths, before, events)


def _changes(
    paths: Callable[[], WatchedPaths],
    before: dict[str, tuple[int, ...]],
    events: Generator[set[tuple[Change, str]], None, None],
) -> Iterator[frozenset[str]]:
    while True:
        changed = frozenset(path for change, event in next(events) for path in _project_files(change, event))
        now = paths().single_paths()
        if now != before:
            changed |= {path for path in before.keys() | now.keys() if before.get(path) != now.get(path)}
            events.close()  # a folder may have come or gone
            events, before = _events(paths()), now
            next(events)
        if changed:
            yield changed


def _events(paths: WatchedPaths) -> Generator[set[tuple[Change, str]], None, None]:
    """An empty set where nothing has changed for a while."""
    there = [folder for folder in paths.folders if folder.is_dir()]
    return watch(
        *there,
        watch_filter=lambda _change, path: not _is_hidden(path, there),
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
    if path.lower().endswith(_PROJECT_FILES):
        return {path}
    if change is Change.deleted:
        return set() if Path(path).suffix else {path}
    if change is Change.added and os.path.isdir(path):
        return {str(file) for file in Path(path).rglob("*") if file.name.lower().endswith(_PROJECT_FILES)}
    return set()


def _folder_names(folder: Path | None) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            yield from (e.name for e in entries if e.is_dir() and not e.name.startswith((".", "__")))
    except OSError:
        return


def _stamp(file: Path) -> tuple[int, ...] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
