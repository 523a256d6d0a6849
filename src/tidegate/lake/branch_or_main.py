"""`[lake] on_branch_failure = "direct"`: a run whose branch cannot be created works on main itself."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace

from tidegate.errors import BranchExistsError, LakeError
from tidegate.lake.branch_catalog import MAIN, BranchCatalog, BranchInfo, Change, Heads, Pointer, changes_between
from tidegate.names import TableName

__all__ = ["BranchOrMain"]

_GAP = "no branch could be created for this run, and [lake] on_branch_failure is 'direct'"


class BranchOrMain:
    """A catalog whose branch `name` is main once it could not be created; `failure` is the reason.

    Writes to it are on main immediately, so a publish only reports what was written since the last one.
    """

    def __init__(self, catalog: BranchCatalog, name: str) -> None:
        self.capabilities = catalog.capabilities
        self.failure: LakeError | None = None
        self._catalog = catalog
        self._name = name
        self._reported: dict[TableName, Pointer] = {}
        self._reporting = threading.Lock()

    def create_branch(self, name: str) -> None:
        """Raises the error of the catalog where main cannot be used either."""
        try:
            self._catalog.create_branch(name)
        except BranchExistsError:
            raise
        except LakeError as error:
            if name != self._name or not self._can_use_main():
                raise
            gaps = {**self.capabilities.gaps, "branches": _GAP, "atomic_publish": _GAP}
            self.capabilities = replace(self.capabilities, branches=False, atomic_publish=False, gaps=gaps)
            self.failure = error

    def head(self, branch: str = MAIN) -> Heads:
        return self._catalog.head(self._actual(branch))

    def pointer(self, branch: str, table: TableName) -> Pointer | None:
        return self._catalog.pointer(self._actual(branch), table)

    def all_pointers(self) -> frozenset[Pointer]:
        return self._catalog.all_pointers()

    def changed_tables(self, branch: str) -> tuple[Change, ...]:
        if not self._is_main(branch):
            return self._catalog.changed_tables(branch)
        return changes_between(self._reported, self._catalog.head(MAIN))

    def publish(
        self,
        branch: str,
        tables: Collection[TableName],
        accept: Heads | None = None,
        unmoved: Heads | None = None,
    ) -> tuple[Change, ...]:
        if not self._is_main(branch):
            return self._catalog.publish(branch, tables, accept, unmoved)
        with self._reporting:
            moved = tuple(change for change in self.changed_tables(branch) if change.table in tables)
            stay = self._reported.keys() - {change.table for change in moved}
            after = {change.table: change.after for change in moved if change.after}
            self._reported = {**{table: self._reported[table] for table in stay}, **after}
            return moved

    def refresh_branch(self, branch: str, tables: Collection[TableName]) -> None:
        if not self._is_main(branch):
            self._catalog.refresh_branch(branch, tables)

    def restore(self, branch: str, table: TableName, pointer: Pointer | None) -> None:
        self._catalog.restore(self._actual(branch), table, pointer)

    def set_properties(self, branch: str, table: TableName, properties: Mapping[str, str]) -> None:
        self._catalog.set_properties(self._actual(branch), table, properties)

    def create_namespace(self, branch: str, table: TableName) -> None:
        self._catalog.create_namespace(self._actual(branch), table)

    def drop_branch(self, name: str) -> None:
        """Never drops main, but what may exist of a branch that could not be created."""
        if not self._is_main(name):
            self._catalog.drop_branch(name)
            return
        with suppress(LakeError):
            self._catalog.drop_branch(name)

    def drop_strays(self) -> None:
        self._catalog.drop_strays()

    def keep_branch(self, name: str) -> None:
        if self._is_main(name):
            raise LakeError(f"there is no branch {name} to keep: the run wrote main itself")
        self._catalog.keep_branch(name)

    def heartbeat(self, branch: str) -> None:
        if not self._is_main(branch):
            self._catalog.heartbeat(branch)

    def list_branches(self) -> tuple[BranchInfo, ...]:
        return self._catalog.list_branches()

    def check_warehouse(self) -> None:
        self._catalog.check_warehouse()

    def spark_catalog(self, branch: str) -> str:
        return self._catalog.spark_catalog(self._actual(branch))

    def spark_conf(self, branch: str) -> Mapping[str, str]:
        return self._catalog.spark_conf(self._actual(branch))

    def _is_main(self, branch: str) -> bool:
        return self.failure is not None and branch == self._name

    def _actual(self, branch: str) -> str:
        return MAIN if self._is_main(branch) else branch

    def _can_use_main(self) -> bool:
        try:
            self._catalog.spark_conf(MAIN)
            self._reported = dict(self._catalog.head(MAIN))
        except LakeError:
            return False
        return True
