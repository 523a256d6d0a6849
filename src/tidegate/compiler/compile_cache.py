"""The results of earlier compilations, by file: what is unchanged, and reads nothing that changed, is not repeated."""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
import tempfile
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import sqlglot
from blake3 import blake3

from tidegate import __version__
from tidegate.compiler.drafts import Outcome
from tidegate.config.paths import cache_folder
from tidegate.project.texts import Texts

__all__ = ["CompileCache"]

_Changes = dict[str, Any]
"""The new entry of each changed file; None where it is removed."""


@dataclass(slots=True)
class CompileCache:
    """In memory, and in a file where one is named. A cache that cannot be read or written counts as empty.

    Drafts with errors are not cached. The file is in the user's own cache folder, not in the project's, because its
    content decides what is compiled.
    """

    file: Path | None = None
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    texts: Texts = field(default_factory=Texts)
    _base: str = ""
    _changed: set[str] = field(default_factory=set)

    @classmethod
    def open(cls, root: Path) -> CompileCache:
        name = blake3(os.fsencode(root)).hexdigest()[:24]
        try:
            file = cache_folder() / "compile" / name
        except RuntimeError:
            # The user has no home folder.
            return cls()
        try:
            version, base, outcomes, texts = pickle.loads(file.read_bytes())
        except Exception:
            # A damaged or older file: it is only a cache.
            return cls(file)
        if version != _version():
            return cls(file)
        cache = cls(file, outcomes, Texts(texts), base)
        cache._read_changes()
        return cache

    def put(self, name: str, outcome: Outcome) -> None:
        self.outcomes[name] = outcome
        self._changed.add(name)

    def retain_only(self, names: Collection[str]) -> None:
        for name in self.outcomes.keys() - names:
            del self.outcomes[name]
            self._changed.add(name)

    def save(self) -> None:
        """Few changed entries go to a file of their own; the whole cache is written when they are many."""
        changed, read = self._changed, self.texts.changed
        if self.file is None or not (changed or read):
            return
        with contextlib.suppress(OSError):
            self.file.parent.mkdir(parents=True, exist_ok=True)
            if self._base and len(changed | read) <= len(self.outcomes) // 20:
                outcomes = {name: self.outcomes.get(name) for name in changed}
                texts = {name: self.texts.by_path.get(name) for name in read}
                _write(self._changes_file, (self._base, outcomes, texts))
                return
            self._base = uuid4().hex
            self._changed, self.texts.changed = set(), set()
            _write(self.file, (_version(), self._base, self.outcomes, self.texts.by_path))

    @property
    def _changes_file(self) -> Path:
        assert self.file is not None
        return self.file.with_suffix(".changes")

    def _read_changes(self) -> None:
        try:
            base, outcomes, texts = pickle.loads(self._changes_file.read_bytes())
        except Exception:
            return
        if base == self._base:
            self._changed, self.texts.changed = set(outcomes), set(texts)
            _apply(outcomes, self.outcomes)
            _apply(texts, self.texts.by_path)


def _apply(changes: _Changes, entries: dict[str, Any]) -> None:
    entries.update(changes)
    for name in [name for name, value in changes.items() if value is None]:
        del entries[name]


def _write(file: Path, content: object) -> None:
    """Atomically, also where another process writes it."""
    handle, temporary = tempfile.mkstemp(dir=file.parent)
    with os.fdopen(handle, "wb") as stream:
        pickle.dump(content, stream, pickle.HIGHEST_PROTOCOL)
    os.replace(temporary, file)


def _version() -> str:
    """Changes with everything that may change the compiler's results: releases, and the program's own files."""
    stamps = []
    for folder, _, files in os.walk(Path(__file__).parents[1]):
        for file in files:
            if file.endswith(".py"):
                status = os.stat(os.path.join(folder, file))
                stamps.append((folder, file, status.st_mtime_ns, status.st_size))
    stamps.sort()
    return str(blake3(repr((__version__, sqlglot.__version__, sys.version, stamps)).encode()).hexdigest())
