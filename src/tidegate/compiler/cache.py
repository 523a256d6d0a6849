"""What earlier compilations found, by file: what is unchanged, and reads nothing that changed, is not done again."""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
import tempfile
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import sqlglot
from blake3 import blake3

from tidegate import __version__
from tidegate.compiler.drafts import Outcome
from tidegate.config.cache import cache_folder

__all__ = ["CompileCache", "Record"]


class Record(NamedTuple):
    """`own`: a digest of the file and its settings; `whole`: that and all it reads. `outcome` has no errors."""

    own: bytes
    whole: bytes
    outcome: Outcome


@dataclass(slots=True)
class CompileCache:
    """In memory, and in a file where one is named. A cache that cannot be read or written is an empty one.

    The file lies in the user's own folder, not in the project's: whoever writes it decides what is compiled.
    """

    file: Path | None = None
    records: dict[str, Record] = field(default_factory=dict)
    _base: str = ""
    _changes: dict[str, Record | None] = field(default_factory=dict)

    @classmethod
    def open(cls, root: Path) -> CompileCache:
        name = blake3(os.fsencode(root)).hexdigest()[:24]
        try:
            file = cache_folder() / "compile" / name
        except RuntimeError:
            # There is no home.
            return cls()
        try:
            version, base, records = pickle.loads(file.read_bytes())
        except Exception:
            # Whatever a damaged or older file holds, it is only a cache.
            return cls(file)
        if version != _version():
            return cls(file)
        cache = cls(file, records, base)
        cache._read_changes()
        return cache

    def put(self, name: str, record: Record) -> None:
        self.records[name] = self._changes[name] = record

    def keep_only(self, names: Collection[str]) -> None:
        for name in self.records.keys() - names:
            del self.records[name]
            self._changes[name] = None

    def save(self) -> None:
        """The few records that changed go to a file of their own; the whole is written when they are many."""
        if self.file is None or not self._changes:
            return
        with contextlib.suppress(OSError):
            self.file.parent.mkdir(parents=True, exist_ok=True)
            if self._base and len(self._changes) <= len(self.records) // 20:
                _write(self._changes_file, (self._base, self._changes))
                return
            self._base, self._changes = uuid4().hex, {}
            _write(self.file, (_version(), self._base, self.records))

    @property
    def _changes_file(self) -> Path:
        assert self.file is not None
        return self.file.with_suffix(".changes")

    def _read_changes(self) -> None:
        try:
            base, changes = pickle.loads(self._changes_file.read_bytes())
        except Exception:
            return
        if base != self._base:
            return
        self._changes = changes
        for name, record in changes.items():
            if record is None:
                self.records.pop(name, None)
            else:
                self.records[name] = record


def _write(file: Path, content: object) -> None:
    """Whole or not at all, whoever else writes it."""
    handle, temporary = tempfile.mkstemp(dir=file.parent)
    with os.fdopen(handle, "wb") as stream:
        pickle.dump(content, stream, pickle.HIGHEST_PROTOCOL)
    os.replace(temporary, file)


def _version() -> str:
    """Changes with everything that could make a compiler of another mind: releases, and the program's own files."""
    stamps = []
    for folder, _, files in os.walk(Path(__file__).parents[1]):
        for file in files:
            if file.endswith(".py"):
                status = os.stat(os.path.join(folder, file))
                stamps.append((folder, file, status.st_mtime_ns, status.st_size))
    stamps.sort()
    return str(blake3(repr((__version__, sqlglot.__version__, sys.version, stamps)).encode()).hexdigest())
