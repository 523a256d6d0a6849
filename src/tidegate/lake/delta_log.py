"""What the log of a Delta table says, read without a JVM: its version, its columns, and whether rows changed.

A table is its `_delta_log`: one JSON file for each commit, and from time to time a checkpoint, a Parquet file of what
all commits so far come to.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from blake3 import blake3

from tidegate.datatypes import Column, Relation, from_json
from tidegate.errors import FailureKind, LakeError
from tidegate.lake.progress import DeltaInput
from tidegate.storage import Storage

__all__ = ["DeltaState", "delta_rows_changed", "read_delta_state"]

_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(
    r"(\d{20})\.checkpoint\.(?:(?P<part>\d{10})\.(?P<parts>\d{10})\.|[0-9a-f-]{36}\.)?(parquet|json)"
)
_MOST_COMMITS = 100
"""Commits that are read to find out whether any changed rows; after more, some did."""


@dataclass(frozen=True, slots=True)
class DeltaState:
    """A table at one version."""

    table_id: str
    """Of the table as it was created: one that is created again at its place has another."""

    version: int
    relation: Relation

    def as_input(self) -> DeltaInput:
        columns = blake3(repr(self.relation).encode()).hexdigest(length=16)
        return DeltaInput(self.table_id, self.version, columns)


def read_delta_state(storage: Storage, table: str) -> DeltaState | None:
    """`table`: a folder. None where no commit has been made. Raises LakeError and StorageError."""
    log = _Log.of(storage, table)
    if log is None:
        return None
    try:
        metadata = log.metadata()
        schema = json.loads(metadata["schemaString"])
        fields = [Column(field["name"], from_json(field["type"]), field["nullable"]) for field in schema["fields"]]
        return DeltaState(metadata["id"], log.version, Relation(tuple(fields)))
    except (ValueError, KeyError, TypeError, FileNotFoundError) as error:
        raise _unreadable(storage, table, error) from error


def delta_rows_changed(storage: Storage, table: str, after: int, until: int) -> bool:
    """Whether a commit later than `after`, up to `until`, changed rows; also where that is not known any more.

    Files that were only put together, or swept, hold the same rows as before.
    """
    if until < after or until - after > _MOST_COMMITS:
        return True
    try:
        commits = (_actions(storage.read(_commit_path(table, version))) for version in range(after + 1, until + 1))
        return any(_changes_rows(action) for actions in commits for action in actions)
    except (ValueError, FileNotFoundError):
        return True


def _changes_rows(action: Mapping[str, Any]) -> bool:
    change = action.get("add") or action.get("remove")
    return change is not None and change.get("dataChange", True)


@dataclass(frozen=True, slots=True)
class _Log:
    storage: Storage
    table: str
    commits: frozenset[int]
    checkpoints: Mapping[int, tuple[str, ...]]
    """The files of those that are complete, by version."""

    @classmethod
    def of(cls, storage: Storage, table: str) -> _Log | None:
        folder = f"{table}/_delta_log/"
        names = [name for file in storage.list(folder) if "/" not in (name := file.path.removeprefix(folder))]
        commits = frozenset(int(match[1]) for match in map(_COMMIT.fullmatch, names) if match)
        log = cls(storage, table, commits, _checkpoints(names))
        return log if commits or log.checkpoints else None

    @property
    def version(self) -> int:
        return max(self.commits | self.checkpoints.keys())

    def metadata(self) -> Mapping[str, Any]:
        """The latest: of the commits after the last checkpoint, else of that."""
        checkpoint = max(self.checkpoints, default=-1)
        for version in range(self.version, checkpoint, -1):
            data = self.storage.read(_commit_path(self.table, version))
            if b'"metaData"' in data and (found := _metadata_of(_actions(data))):
                return found
        for name in self.checkpoints.get(checkpoint, ()):
            if found := _metadata_of(self._checkpoint_actions(name)):
                return found
        raise ValueError("no commit has the columns of the table")

    def _checkpoint_actions(self, name: str) -> Iterable[Mapping[str, Any]]:
        path = f"{self.table}/_delta_log/{name}"
        if name.endswith(".json"):
            return _actions(self.storage.read(path))
        # Few tables need it: commits are read first.
        import pyarrow.parquet

        with self.storage.open(path) as file:
            rows: list[Mapping[str, Any]] = pyarrow.parquet.read_table(file, columns=["metaData"]).to_pylist()
        return rows


def _checkpoints(names: Iterable[str]) -> Mapping[int, tuple[str, ...]]:
    found: dict[int, list[re.Match[str]]] = {}
    for match in filter(None, map(_CHECKPOINT.fullmatch, names)):
        found.setdefault(int(match[1]), []).append(match)
    return {version: files for version, matches in found.items() if (files := _complete(matches))}


def _complete(matches: list[re.Match[str]]) -> tuple[str, ...]:
    """One file, or all parts of one checkpoint."""
    whole = [match[0] for match in matches if match["parts"] is None]
    if whole:
        return (whole[0],)
    parts = {match["part"]: match[0] for match in matches}
    return tuple(parts.values()) if len(parts) == int(matches[0]["parts"]) else ()


def _metadata_of(actions: Iterable[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    return next((found for action in actions if (found := action.get("metaData"))), None)


def _actions(data: bytes) -> Iterator[Mapping[str, Any]]:
    for line in data.splitlines():
        if line.strip():
            yield json.loads(line)


def _commit_path(table: str, version: int) -> str:
    return f"{table}/_delta_log/{version:020}.json"


def _unreadable(storage: Storage, table: str, error: Exception) -> LakeError:
    failure = LakeError(
        f"the log of the Delta table cannot be read: {error}",
        where=f"{storage.location}/{table}/_delta_log",
        remedy="restore the files of the log, or move the table away and load its files again",
    )
    failure.kind = FailureKind.NOT_FOUND
    return failure
