"""A folder → a `Project`: every file read, every setting understood, every problem noted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import PurePosixPath

from tidegate.config import Settings
from tidegate.contracts import ModelContract, read_contract
from tidegate.project.directives import read_directives
from tidegate.project.discover import ModelFiles, discover
from tidegate.project.keys import KEYS
from tidegate.project.model import Model, ModelSettings, QualityTest
from tidegate.project.problems import Place, Problem
from tidegate.project.project import Project
from tidegate.project.quality_tests import read_quality_test
from tidegate.project.settings import Entry, Level, conflicts, merge_levels, read_level
from tidegate.project.sidecars import entries_of, read_settings_file
from tidegate.project.templates import MacroFile

__all__ = ["load_project"]


def load_project(settings: Settings) -> Project:
    reader = _Reader(settings)
    found = discover(settings.root, settings.project.namespace)
    reader.problems += found.problems
    base = reader.project_defaults()
    folders = {path.parent: reader.settings_file(path) for path in found.defaults}
    models = [model for files in found.models for model in reader.models(files, base, folders)]
    macros = [MacroFile(str(path), text) for path in found.macros if (text := reader.text(path)) is not None]
    unread = frozenset(files.table for files in found.models) - frozenset(model.table for model in models)
    unread |= frozenset(found.unsupported)
    return Project(tuple(models), tuple(macros), tuple(reader.problems), unread)


class _Reader:
    """Reads files of one project and keeps what was wrong with them."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._root = str(settings.root)
        self.problems: list[Problem] = []
        self._kept: list[list[Level]] = []
        self._merged: dict[tuple[int, ...], tuple[ModelSettings, Mapping[str, Place]]] = {}

    def text(self, path: PurePosixPath) -> str | None:
        try:
            with open(f"{self._root}/{path}", "rb", buffering=0) as stream:
                return stream.read().decode().removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            line = error.object[: error.start].count(b"\n") + 1
            message, place = "the file is not UTF-8 text", Place(str(path), line)
        except OSError as error:
            message, place = f"the file cannot be read: {error.strerror or error}", Place(str(path))
        self.problems.append(Problem("UnreadableFile", message, place))
        return None

    def project_defaults(self) -> Level:
        file = self.settings.file
        text = file.read_text("utf-8-sig") if self.settings.defaults and file.is_file() else ""
        name = file.relative_to(self.settings.root).as_posix() if file.is_relative_to(self.settings.root) else str(file)
        return self._level(entries_of(self.settings.defaults, text, name, ("defaults",)))

    def settings_file(self, path: PurePosixPath) -> Level:
        text = self.text(path)
        if text is None:
            return Level({})
        entries, problems = read_settings_file(text, str(path))
        self.problems += problems
        return self._level(entries)

    def models(self, files: ModelFiles, base: Level, folders: Mapping[PurePosixPath, Level]) -> list[Model]:
        short = files.table.short(self.settings.project.namespace)
        models, before = [], len(self.problems)
        tests = tuple(test for path in files.tests if (test := self._quality_test(path)) is not None)
        sidecar = [self.settings_file(path) for path in files.sidecars[:1]]
        contract = next((self._contract(path, files.table.name) for path in files.contracts), None)
        for path in files.sources:
            source = self.text(path)
            if source is None:
                continue
            directives, problems = read_directives(source, str(path), KEYS)
            self.problems += problems
            header = self._level(Entry(d.key, d.value, d.place) for d in directives)
            above = [folders[folder] for folder in reversed(path.parents) if folder in folders] if folders else []
            self.problems += conflicts(sidecar, header)
            merged, origins = self._merge([base, *above, *sidecar, header])
            models.append(Model(files.table, path, source, merged, tests, contract, origins))
        self.problems[before:] = [replace(problem, model=short) for problem in self.problems[before:]]
        return models

    def _merge(self, levels: list[Level]) -> tuple[ModelSettings, Mapping[str, Place]]:
        """Many models say nothing of their own, and share what the folders above them say."""
        *shared, own = levels
        if own.values:
            return merge_levels(levels)
        key = tuple(id(level) for level in shared)
        if key not in self._merged:
            self._merged[key] = merge_levels(shared)
            self._kept.append(shared)
        return self._merged[key]

    def _quality_test(self, path: PurePosixPath) -> QualityTest | None:
        source = self.text(path)
        if source is None:
            return None
        test, problems = read_quality_test(path, source)
        self.problems += problems
        return test

    def _contract(self, path: PurePosixPath, table: str) -> ModelContract | None:
        text = self.text(path)
        if text is None:
            return None
        contract, problems = read_contract(text, str(path), table)
        self.problems += problems
        return contract

    def _level(self, entries: Iterable[Entry]) -> Level:
        level = read_level(entries)
        self.problems += level.problems
        return level
