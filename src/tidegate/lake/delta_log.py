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
from tidegate.lake.changes import TableChange, Untraceable
from tidegate.lake.progress import DeltaInput
from tidegate.storage import Storage

__all__ = ["DeltaState", "delta_change", "has_delta_log", "read_delta_state"]

_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(
    r"(\d{20})\.checkpoint\.(?:(?P<part>\d{10})\.(?P<parts>\d{10})\.|[0-9a-f-]{36}\.)?(parquet|json)"
)
_FEED = "delta.enableChangeDataFeed"
_MOST_COMMITS = 100
"""Commits that are read to find out whether any changed rows; after more, some did."""


@dataclass(frozen=True, slots=True)
class DeltaState:
    """A table at one version."""

    table_id: str
    """Of the table as it was created: one that is created again at its place has another."""

    version: int
    relation: Relation
    columns: str
    """A digest of the columns, also of their ids: a column that was dropped and added again is another one."""

    has_feed: bool
    """Its commits record the rows that they change (the change data feed)."""

    def no_change(self) -> TableChange:
        """From this version to itself."""
        return TableChange(self.version, self.version, 0, 0, 0, 0, 0, 0, insert_only=True, may_delete=False)

    def as_input(self) -> DeltaInput:
        return DeltaInput(self.table_id, self.version, self.columns)


def has_delta_log(storage: Storage, table: str) -> bool:
    """Whether anything has been committed to the table, or is being committed first."""
    return any(True for _ in storage.list(f"{table}/_delta_log"))


def read_delta_state(storage: Storage, table: str) -> DeltaState | None:
    """`table`: a folder. None where no commit has been made. Raises LakeError and StorageError."""
    log = _Log.of(storage, table)
    if log is None:
        return None
    try:
        metadata = log.metadata()
        schema = json.loads(metadata["schemaString"])
        fields = [Column(field["name"], from_json(field["type"]), field["nullable"]) for field in schema["fields"]]
        columns = blake3(metadata["schemaString"].encode()).hexdigest(length=16)
        # A checkpoint has pairs where a commit has a mapping.
        feed = dict(metadata.get("configuration") or ()).get(_FEED, "false")
        return DeltaState(metadata["id"], log.version, Relation(tuple(fields)), columns, feed.lower() == "true")
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        raise _unreadable(storage, table, error) from error


def delta_change(
    storage: Storage, table: str, now: DeltaState, last_read: DeltaInput
) -> TableChange | Untraceable | None:
    """None where its rows are those that were read: files that were only put together, or swept, change none."""
    if now.table_id != last_read.table_id:
        return Untraceable("was dropped and created again")
    moved = f"moved from version {last_read.version} to {now.version}"
    if now.as_input().columns != last_read.columns:
        return Untraceable(f"{moved} and has other columns")
    if now.version == last_read.version:
        return None
    commits = _commits(storage, table, last_read.version + 1, now.version)
    if commits is None:
        return Untraceable(moved)
    changing = [commit for commit in commits if commit.changes_rows]
    if not changing:
        return None
    if not now.has_feed or any(commit.has_metadata for commit in commits):
        return Untraceable(f"{moved}, without a change feed")
    return TableChange(
        then_id=last_read.version,
        now_id=now.version,
        sequence_number=0,
        next_row_id=0,
        rows_then=0,
        rows_now=0,
        rows_written=sum(commit.rows_written for commit in changing),
        rows_removed=sum(commit.rows_removed for commit in changing),
        insert_only=not any(commit.removes for commit in changing),
        may_delete=True,
    )


@dataclass(frozen=True, slots=True)
class _Commit:
    changes_rows: bool
    removes: bool
    """Files with rows that are changed or deleted."""

    has_metadata: bool
    rows_written: int
    """As far as the commit says: updated rows count as written and as removed."""

    rows_removed: int


def _commits(storage: Storage, table: str, first: int, last: int) -> list[_Commit] | None:
    """None where some of them are gone, or too many."""
    if last < first or last - first >= _MOST_COMMITS:
        return None
    try:
        return [_commit(storage.read(_commit_path(table, version))) for version in range(first, last + 1)]
    except (ValueError, TypeError, FileNotFoundError):
        return None


def _commit(data: bytes) -> _Commit:
    actions = list(_actions(data))
    kinds = ("add", "remove")
    files = [(kind, file) for action in actions for kind in kinds if (file := action.get(kind)) is not None]
    changing = {kind for kind, file in files if file.get("dataChange", True)}
    info: Mapping[str, Any] = next((found for action in actions if (found := action.get("commitInfo"))), {})
    counted = {name: int(value) for name, value in info.get("operationMetrics", {}).items() if str(value).isdigit()}
    return _Commit(
        changes_rows=bool(changing),
        removes="remove" in changing,
        has_metadata=any("metaData" in action for action in actions),
        rows_written=_first(counted, _INSERTED) + _first(counted, _UPDATED),
        rows_removed=_first(counted, _DELETED) + _first(counted, _UPDATED),
    )


_INSERTED = ("numTargetRowsInserted", "numOutputRows")
_UPDATED = ("numTargetRowsUpdated", "numUpdatedRows")
_DELETED = ("numTargetRowsDeleted", "numDeletedRows")


def _first(counted: Mapping[str, int], names: Iterable[str]) -> int:
    return next((counted[name] for name in names if name in counted), 0)


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
