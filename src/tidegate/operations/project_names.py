"""The names of the project at hand, read as quickly as they can be: from its files and its own history."""

from __future__ import annotations

import sqlite3
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import cached_property
from importlib import resources
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidegate.config import Settings
    from tidegate.project.model_files import ModelFiles

__all__ = ["NamesOnDisk"]

_MOST_RUNS = 50
_SQLITE = "sqlite:///"
# The state's own reader takes a fifth of a second to import; a test compares what the two give.
_RUNS = "SELECT run_id, status FROM runs WHERE project = ? ORDER BY started_at DESC, run_id DESC LIMIT ?"


class NamesOnDisk:
    """Where there is no project, or one that cannot be read, there are no names."""

    def __init__(self, project: str | None, config: str | None) -> None:
        self._project = Path(project) if project else None
        self._config = Path(config) if config else None

    def models(self) -> Iterable[str]:
        return sorted(files.table.short(self._namespace) for files in self._files)

    def folders(self) -> Iterable[str]:
        parents = {parent for files in self._files for parent in PurePosixPath(files.sources[0]).parents}
        return sorted(str(folder) for folder in parents if folder.parts)

    def tags(self) -> Iterable[str]:
        from tidegate.project import load_project

        models = load_project(self._settings).models if self._settings else ()
        return sorted({tag for model in models for tag in model.settings.tags})

    def runs(self) -> Iterator[tuple[str, str]]:
        """Those of a history in a file, with their status. A server may be slow, and a prompt must not wait for it."""
        url = self._settings.state.url if self._settings else ""
        file = Path(url.removeprefix(_SQLITE))
        if not url.startswith(_SQLITE) or not file.is_file() or self._settings is None:
            return
        try:
            with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=0.1)) as database:
                rows = database.execute(_RUNS, (self._settings.project.name, _MOST_RUNS)).fetchall()
        except sqlite3.Error:
            return
        yield from ((str(run_id), str(status)) for run_id, status in rows)

    def diagnostics(self) -> Iterable[str]:
        """The codes that `compile --explain` takes, from the file of the registry: to import it takes longer."""
        with resources.files("tidegate").joinpath("compiler/diagnostics.toml").open("rb") as file:
            return sorted(tomllib.load(file))

    @cached_property
    def _settings(self) -> Settings | None:
        from tidegate.config.settings_file import find_project, load_settings
        from tidegate.errors import TidegateError

        try:
            if self._project is None and self._config is None:
                return load_settings(find_project(Path()))
            return load_settings(self._project or Path(), self._config)
        except (TidegateError, OSError):
            return None

    @cached_property
    def _files(self) -> list[ModelFiles]:
        from tidegate.project.model_files import discover

        return discover(self._settings.root, self._namespace).models if self._settings else []

    @property
    def _namespace(self) -> str:
        return self._settings.project.namespace if self._settings else ""
