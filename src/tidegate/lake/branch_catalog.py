"""The port to a catalog with branches, and what a publish moves: the compare of compare and swap, for every catalog."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from tidegate.errors import PublishConflictError
from tidegate.names import TableName

__all__ = [
    "MAIN",
    "BranchCatalog",
    "BranchInfo",
    "Capabilities",
    "Change",
    "Heads",
    "Pointer",
    "PointerKind",
    "changes_between",
    "moves_to_main",
    "publish_conflict",
]

MAIN = "main"


class PointerKind(StrEnum):
    TABLE = "TABLE"
    VIEW = "VIEW"


@dataclass(frozen=True, slots=True)
class Pointer:
    """The current metadata file of a table or view."""

    kind: PointerKind
    location: str


Heads = Mapping[TableName, Pointer]


@dataclass(frozen=True, slots=True)
class Change:
    """A table that a branch changed."""

    table: TableName
    before: Pointer | None
    """None: the table is new."""
    after: Pointer | None
    """None: the table was dropped."""


@dataclass(frozen=True, slots=True)
class BranchInfo:
    name: str
    created_at: datetime
    heartbeat_at: datetime
    """When its process was last known to be alive."""
    kept: bool
    """It waits for `tidegate publish`."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a catalog can promise, as data."""

    branches: bool
    """A run has a private branch."""
    atomic_publish: bool
    """Many tables move to main in one step."""
    views: bool
    row_lineage: bool
    sweep: bool = True
    """Files that no branch refers to may be deleted."""
    over_compaction: bool = True
    """A branch can be published though main was compacted since it started."""
    gaps: Mapping[str, str] = field(default_factory=dict)
    """The reason for each of the above that is False."""


class BranchCatalog(Protocol):
    capabilities: Capabilities

    def head(self, branch: str = MAIN) -> Heads:
        """Every pointer of the branch, in one read: never a mix of two publishes."""

    def pointer(self, branch: str, table: TableName) -> Pointer | None:
        """The pointer of one table of the branch; None: there is no such table."""

    def all_pointers(self) -> frozenset[Pointer]:
        """Everything that main, any branch, or any branch's base refers to, in one read: a sweep must retain it."""

    def create_branch(self, name: str) -> None:
        """A private copy of main's pointers. `name` is a run id; no data is copied."""

    def changed_tables(self, branch: str) -> tuple[Change, ...]:
        """What the branch changed since it started (or last published)."""

    def publish(
        self,
        branch: str,
        tables: Collection[TableName],
        accept: Heads | None = None,
        unmoved: Heads | None = None,
    ) -> tuple[Change, ...]:
        """Move all of `tables` that changed to main in one step, or raise PublishConflictError and move none.

        A table conflicts when main no longer has the pointer that the branch started from; `accept` names pointers
        of main that are as good as that one (main was only compacted). So do tables of `unmoved` that main no longer
        has there, if anything is to be moved at all. What was moved is the branch's new base.
        """

    def refresh_branch(self, branch: str, tables: Collection[TableName]) -> None:
        """Reset `tables`, and whatever the branch has not changed, to the present state of main; other changes stay."""

    def restore(self, branch: str, table: TableName, pointer: Pointer | None) -> None:
        """Restore one table of the branch to a pointer it had before (None: it did not exist)."""

    def set_properties(self, branch: str, table: TableName, properties: Mapping[str, str]) -> None:
        """Add properties to a table or view of the branch, in one commit that changes no row and needs no engine.

        Repeated upon whatever another writer commits meanwhile.
        """

    def create_namespace(self, branch: str, table: TableName) -> None:
        """Create the table's namespace on the branch if it is missing. Models call this concurrently."""

    def drop_branch(self, name: str) -> None:
        """Delete the branch, not its files. A branch that does not exist is no error."""

    def drop_strays(self) -> None:
        """Delete what an abandoned process wrote to a branch after the branch was dropped."""

    def keep_branch(self, name: str) -> None:
        """Mark the branch as waiting for `tidegate publish`."""

    def heartbeat(self, branch: str) -> None:
        """Record that the branch's process is alive."""

    def list_branches(self) -> tuple[BranchInfo, ...]: ...

    def check_warehouse(self) -> None:
        """Raise LakeError unless the warehouse is this catalog's own, so that files it does not know are unused."""

    def spark_catalog(self, branch: str) -> str:
        """The name of the Spark catalog bound to the branch."""

    def spark_conf(self, branch: str) -> Mapping[str, str]:
        """Session settings that make that catalog known to Spark."""


def changes_between(before: Heads, after: Heads) -> tuple[Change, ...]:
    changed = sorted(table for table in before.keys() | after.keys() if before.get(table) != after.get(table))
    return tuple(Change(table, before.get(table), after.get(table)) for table in changed)


def moves_to_main(
    branch: str,
    tables: Iterable[TableName],
    bases: Heads,
    ours: Heads,
    main: Heads,
    accept: Heads,
    unmoved: Heads,
) -> tuple[Change, ...]:
    """The changes to publish: tables that the branch changed, if main still has what it started from (or `accept`).

    Raises PublishConflictError with every table that has moved on main since, also of those that must be `unmoved`.
    Where main already has all changes, those no longer matter.
    """
    moves, conflicts = [], []
    for table in tables:
        base, our, now = bases.get(table), ours.get(table), main.get(table)
        if our == base:
            continue
        if now in (base, our) or (now is not None and now == accept.get(table)):
            moves.append(Change(table, now, our))
        else:
            conflicts.append(table)
    if conflicts or any(change.before != change.after for change in moves):
        conflicts += sorted(table for table, pointer in unmoved.items() if main.get(table) != pointer)
    if conflicts:
        raise publish_conflict(branch, conflicts)
    return tuple(moves)


def publish_conflict(branch: str, tables: Sequence[TableName]) -> PublishConflictError:
    names = ", ".join(map(str, tables))
    return PublishConflictError(
        f"main moved {names} since branch '{branch}' started; nothing was published",
        tables=tables,
        remedy="run again: the tables are rebuilt from what main has now",
    )
