"""What earlier compilations found, by file: what is unchanged, and reads nothing that changed, is not done again."""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

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
    changed: bool = False

    @classmethod
    def open(cls, root: Path) -> CompileCache:
        name = blake3(os.fsencode(root)).hexdigest()[:24]
        try:
            file = cache_folder() / "compile" / name
        except RuntimeError:
            # There is no home.
            return cls()
        try:
            version, records = pickle.loads(file.read_bytes())
        except Exception:
            # Whatever a damaged or older file holds, it is only a cache.
            return cls(file)
        return cls(file, records if version == _version() else {})

    def put(self, name: str, record: Record) -> None:
        self.records[name] = record
        self.changed = True

    def keep_only(self, names: set[str]) -> None:
        for name in self.records.keys() - names:
            del self.records[name]
            self.changed = True

    def save(self) -> None:
        if self.file is None or not self.changed:
            return
        content = pickle.dumps((_version(), self.records), pickle.HIGHEST_PROTOCOL)
        with contextlib.suppress(OSError):
            self.file.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self.file.parent)
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
            os.replace(temporary, self.file)
        self.changed = False


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
