"""A folder → a `Project`: every file read, every setting understood, every problem noted."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import accumulate

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
from tidegate.project.texts import Texts

__all__ = ["load_project"]


def load_project(settings: Settings, texts: Texts | None = None) -> Project:
    """`texts`: what is known of the files already; what is read now is added to it, and what is gone is taken out."""
    texts = Texts() if texts is None else texts
    reader = _Reader(settings, texts)
    found = discover(settings.root, settings.project.namespace)
    reader.problems += found.problems
    base = reader.project_defaults()
    folders = {os.path.dirname(path): reader.settings_file(path) for path in found.defaults}
    models = [model for files in found.models for model in reader.models(files, base, folders)]
    macros = [MacroFile(path, text) for path in found.macros if (text := reader.text(path)) is not None]
    texts.keep_only(reader.read)
    unread = frozenset(files.table for files in found.models) - frozenset(model.table for model in models)
    unread |= frozenset(found.unsupported)
    return Project(tuple(models), tuple(macros), tuple(reader.problems), unread)


class _Reader:
    """Reads files of one project and keeps what was wrong with them."""

    def __init__(self, settings: Settings, texts: Texts) -> None:
        self.settings = settings
        self._texts = texts
        self._root = str(settings.root)
        self.read: set[str] = set()
        self.problems: list[Problem] = []
        self._kept: list[tuple[Level, ...]] = []
        self._merged: dict[tuple[int, ...], tuple[ModelSettings, Mapping[str, Place]]] = {}

    def text(self, path: str) -> str | None:
        self.read.add(path)
        try:
            return self._texts.read(self._root, path)
        except UnicodeDecodeError as error:
            line = error.object[: error.start].count(b"\n") + 1
            message, place = "the file is not UTF-8 text", Place(path, line)
        except OSError as error:
            message, place = f"the file cannot be read: {error.strerror or error}", Place(path)
        self.problems.append(Problem("UnreadableFile", message, place))
        return None

    def project_defaults(self) -> Level:
        file = self.settings.file
        text = file.read_text("utf-8-sig") if self.settings.defaults and file.is_file() else ""
        name = file.relative_to(self.settings.root).as_posix() if file.is_relative_to(self.settings.root) else str(file)
        return self._level(entries_of(self.settings.defaults, text, name, ("defaults",)))

    def settings_file(self, path: str) -> Level:
        text = self.text(path)
        if text is None:
            return Level({})
        entries, problems = read_settings_file(text, path)
        self.problems += problems
        return self._level(entries)

    def models(self, files: ModelFiles, base: Level, folders: Mapping[str, Level]) -> list[Model]:
        models, before = [], len(self.problems)
        tests = tuple([test for path in files.tests if (test := self._quality_test(path)) is not None])
        sidecar = [self.settings_file(path) for path in files.sidecars[:1]]
        contract = self._contract(files.contracts[0], files.table.name) if files.contracts else None
        for path in files.sources:
            source = self.text(path)
            if source is None:
                continue
            above = [folders[folder] for folder in _above(path) if folder in folders] if folders else []
            directives, problems = read_directives(source, path, KEYS)
            if directives or problems:
                self.problems += problems
                header = self._level(Entry(d.key, d.value, d.place) for d in directives)
                self.problems += conflicts(sidecar, header)
                merged, origins = merge_levels([base, *above, *sidecar, header])
            else:
                merged, origins = self._shared(base, *above, *sidecar)
            models.append(Model(files.table, path, source, merged, tests, contract, origins))
        if len(self.problems) > before:
            short = files.table.short(self.settings.project.namespace)
            self.problems[before:] = [replace(problem, model=short) for problem in self.problems[before:]]
        return models

    def _shared(self, *levels: Level) -> tuple[ModelSettings, Mapping[str, Place]]:
        """Many models say nothing of their own, and share what the folders above them say."""
        key = tuple(map(id, levels))
        if key not in self._merged:
            self._merged[key] = merge_levels(levels)
            self._kept.append(levels)
        return self._merged[key]

    def _quality_test(self, path: str) -> QualityTest | None:
        source = self.text(path)
        if source is None:
            return None
        test, problems = read_quality_test(path, source)
        self.problems += problems
        return test

    def _contract(self, path: str, table: str) -> ModelContract | None:
        text = self.text(path)
        if text is None:
            return None
        contract, problems = read_contract(text, path, table)
        self.problems += problems
        return contract

    def _level(self, entries: Iterable[Entry]) -> Level:
        level = read_level(entries)
        self.problems += level.problems
        return level


def _above(path: str) -> Iterator[str]:
    """The folders that a file lies in, the outermost first."""
    return accumulate(path.split("/")[:-1], "{}/{}".format)
