"""A lake on a Nessie server: a branch is a branch of Nessie, and a publish is one commit on main.

A commit names the state of main that it was made from, and Nessie takes it only if none of its tables has moved since:
compare and swap over any number of tables. A merge would do for a whole branch, but not for a part of one, now and
then the rest: what was dropped from the first merge counts as merged.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tidegate.config import NessieServer
from tidegate.errors import FailureKind, LakeError, LakeUnavailableError
from tidegate.faults import fault
from tidegate.lake.branch_catalog import (
    MAIN,
    BranchInfo,
    Capabilities,
    Change,
    Heads,
    Pointer,
    changes_between,
    moves_to_main,
)
from tidegate.lake.catalogs.json_server import MovedError, UnansweredError
from tidegate.lake.catalogs.nessie_api import Key, NessieApi, NoReferenceError, Reference, Tree
from tidegate.lake.catalogs.nessie_contents import (
    BRANCH_RECORD,
    HEARTBEAT,
    BranchRecord,
    Operation,
    branch_info,
    content_of,
    heads,
    key_of,
    namespaces_for,
    place,
    pointer_of,
    put_properties,
    read_branch_record,
    split_replacements,
    unchanged,
)
from tidegate.lake.catalogs.spark_catalogs import (
    branch_catalog_name,
    branch_exists_error,
    branch_missing_error,
    catalog_settings,
    spark_catalog,
    table_missing_error,
)
from tidegate.lake.metadata import load_json
from tidegate.lake.next_metadata import with_properties
from tidegate.lake.warehouse import claim_warehouse
from tidegate.names import TableName

__all__ = ["NessieCatalog"]

_NO_SWEEP = "Nessie's history refers to files that no branch has any more: run Nessie's own GC tool (nessie-gc)"


class NessieCatalog:
    capabilities = Capabilities(
        branches=True, atomic_publish=True, views=True, row_lineage=True, sweep=False, gaps={"sweep": _NO_SWEEP}
    )

    def __init__(
        self,
        server: NessieServer,
        warehouse: Path,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        load: Callable[[str], Any] = load_json,
    ) -> None:
        """`load` returns the JSON of a metadata file."""
        self.warehouse = warehouse.absolute()
        self._server = server
        self._main = server.ref
        self._api = NessieApi(server)
        self._clock = clock
        self._load = load
        self._cached_bases: dict[str, Heads] = {}
        self._identity: str | None = None

    def head(self, branch: str = MAIN) -> Heads:
        return heads(self._tree(branch))

    def pointer(self, branch: str, table: TableName) -> Pointer | None:
        return pointer_of(self._contents(branch, [key_of(table)]).contents.get(key_of(table)))

    def all_pointers(self) -> frozenset[Pointer]:
        """Read until no branch moves during the read: a pointer that moves may be read twice, but is never missed."""
        pointers: set[Pointer] = set()
        read: dict[str, frozenset[Pointer]] = {}
        for _ in self._api.write_attempts("list all branches"):
            before = self._api.references()
            for reference in before:
                if reference.hash not in read:
                    read[reference.hash] = self._pointers_at(reference)
                pointers |= read[reference.hash]
            if self._api.references() == before:
                break
        return frozenset(pointers)

    def create_branch(self, name: str) -> None:
        catalog = branch_catalog_name(name)
        self._claim_warehouse()
        references = self._api.references()
        if any(reference.name.replace("-", "_") == catalog for reference in references):
            raise branch_exists_error(name, self._server.uri)
        main = next((reference for reference in references if reference.name == self._main), None)
        if main is None:
            raise self._no_main()
        try:
            self._api.create_branch(name, main)
        except MovedError as error:
            raise branch_exists_error(name, self._server.uri) from error
        fault("inside_branch")
        now = self._clock()
        mark = BranchRecord(self._main, now, main.hash)
        empty = Tree(main.hash, {})
        operations = [
            put_properties(empty, BRANCH_RECORD, mark.properties()),
            put_properties(empty, HEARTBEAT, _heartbeat_properties(now)),
        ]
        try:
            self._api.commit(name, main.hash, "tidegate: begin", operations)
        except LakeError:
            with suppress(LakeError):
                self.drop_branch(name)
            raise

    def changed_tables(self, branch: str) -> tuple[Change, ...]:
        tree = self._tree(branch)
        return changes_between(self._bases(_require_record(tree, branch, self._server.uri)), heads(tree))

    def publish(
        self,
        branch: str,
        tables: Collection[TableName],
        accept: Heads | None = None,
        unmoved: Heads | None = None,
    ) -> tuple[Change, ...]:
        sorted_tables, still = sorted(set(tables)), unmoved or {}
        keys = [key_of(table) for table in sorted_tables]
        before: dict[TableName, Pointer | None] = {}
        for _ in self._api.write_attempts(f"publish {branch}"):
            ours = self._contents(branch, [*keys, *_namespaces_of(keys)])
            main = self._contents(MAIN, {*keys, *_namespaces_of(keys), *map(key_of, still)})
            bases = self._bases(_require_record(ours, branch, self._server.uri))
            moves = moves_to_main(branch, sorted_tables, bases, heads(ours), heads(main), accept or {}, still)
            new_keys = [key_of(change.table) for change in moves if change.after]
            operations = [
                *namespaces_for(main, new_keys, ours),
                *(step for change in moves for step in _move(main, ours, key_of(change.table))),
            ]
            for change in moves:
                before.setdefault(change.table, change.before)
            watched = still.keys() - {change.table for change in moves}
            try:
                if operations:
                    self._move_main(branch, main.hash, [*operations, *(unchanged(key_of(t)) for t in sorted(watched))])
            except (MovedError, UnansweredError):
                continue  # the present state of main shows whether there is a conflict, or the commit was carried out
            fault("inside_publish")
            # Main has moved: a failure from here on must not report that it has not.
            with suppress(LakeError):
                self._rebase(branch, {change.table: change.after for change in moves})
            return tuple(replace(change, before=before[change.table]) for change in moves)
        raise AssertionError("unreachable")

    def refresh_branch(self, branch: str, tables: Collection[TableName]) -> None:
        for _ in self._api.write_attempts(f"refresh {branch}"):
            ours, main = self._tree(branch), self._tree(MAIN)
            mark = _require_record(ours, branch, self._server.uri)
            mine, bases, mains = heads(ours), self._bases(mark), heads(main)
            changed = {change.table for change in changes_between(bases, mine)}
            stay = changed - set(tables)
            keys = [key_of(table) for table in sorted((mine.keys() | mains.keys()) - stay)]
            fresh = replace(mark, base=main.hash, moved={table: bases.get(table) for table in stay})
            operations = [
                *namespaces_for(ours, [key for key in keys if key in main.contents], main),
                *(step for key in keys for step in _move(ours, main, key)),
                put_properties(ours, BRANCH_RECORD, fresh.properties()),
            ]
            try:
                self._commit(branch, ours.hash, f"tidegate: refresh from {self._main}", operations)
                return
            except (MovedError, UnansweredError):
                continue

    def restore(self, branch: str, table: TableName, pointer: Pointer | None) -> None:
        key = key_of(table)
        content = None if pointer is None else content_of(pointer, self._load)

        def operations(tree: Tree) -> Sequence[Operation]:
            steps = place(tree, key, content)
            return [*namespaces_for(tree, [key]), *steps] if steps and content else steps

        self._on_branch(branch, [key, *_namespaces_of([key])], f"tidegate: restore {table}", operations)

    def set_properties(self, branch: str, table: TableName, properties: Mapping[str, str]) -> None:
        key = key_of(table)

        def operations(tree: Tree) -> Sequence[Operation]:
            before = pointer_of(tree.contents.get(key))
            if before is None:
                raise table_missing_error(table, self._server.uri)
            return place(tree, key, content_of(with_properties(before, properties), self._load))

        self._on_branch(branch, [key], f"tidegate: properties of {table}", operations)

    def create_namespace(self, branch: str, table: TableName) -> None:
        above = _namespaces_of([key_of(table)])
        self._on_branch(
            branch, above, f"tidegate: namespace of {table}", lambda tree: namespaces_for(tree, [key_of(table)])
        )

    def drop_branch(self, name: str) -> None:
        branch_catalog_name(name)
        for _ in self._api.write_attempts(f"drop {name}"):
            try:
                tree = self._api.contents(name, [BRANCH_RECORD])
                if branch_info(name, self._main, tree) is None:
                    return  # it belongs to another program
                self._api.delete_branch(name, tree.hash)
                return
            except NoReferenceError:
                return
            except (MovedError, UnansweredError):
                continue

    def drop_strays(self) -> None:
        """Nessie accepts no writes to a dropped branch, so there are none."""

    def keep_branch(self, name: str) -> None:
        self._update_record(name, lambda mark: replace(mark, kept=True))

    def heartbeat(self, branch: str) -> None:
        beat = _heartbeat_properties(self._clock())
        self._on_branch(branch, [HEARTBEAT], "tidegate: alive", lambda tree: [put_properties(tree, HEARTBEAT, beat)])

    def list_branches(self) -> tuple[BranchInfo, ...]:
        branches = []
        for reference in self._api.references():
            if reference.type != "BRANCH" or reference.name == self._main:
                continue
            with suppress(NoReferenceError):  # dropped since it was listed
                tree = self._api.contents(reference.name, [BRANCH_RECORD, HEARTBEAT])
                if (info := branch_info(reference.name, self._main, tree)) is not None:
                    branches.append(info)
        return tuple(sorted(branches, key=lambda info: (info.created_at, info.name)))

    def check_warehouse(self) -> None:
        raise LakeError(f"unused files are not deleted: {_NO_SWEEP}", where=str(self.warehouse))

    def spark_catalog(self, branch: str) -> str:
        return spark_catalog(branch)

    def spark_conf(self, branch: str) -> Mapping[str, str]:
        self._claim_warehouse()  # Spark may write files there from now on
        token = self._server.token
        options = {
            "catalog-impl": "org.apache.iceberg.nessie.NessieCatalog",
            "uri": self._server.uri,
            "ref": self._main if branch == MAIN else branch,
            **({"authentication.type": "BEARER", "authentication.token": token.reveal()} if token else {}),
        }
        return catalog_settings(spark_catalog(branch), self.warehouse, options)

    def _claim_warehouse(self) -> None:
        if self._identity is None:
            self._identity = f"nessie {self._api.config().get('repositoryCreationTimestamp', '')}"
        claim_warehouse(self.warehouse, self._identity, alone=True)

    def _tree(self, branch: str) -> Tree:
        with self._reference_name(branch) as name:
            tree = self._api.tree(name)
        if branch != MAIN:
            _require_record(tree, branch, self._server.uri)
        return tree

    def _contents(self, branch: str, keys: Iterable[Key]) -> Tree:
        """Those keys, and the branch's record."""
        with self._reference_name(branch) as name:
            tree = self._api.contents(name, [*keys, BRANCH_RECORD])
        if branch != MAIN:
            _require_record(tree, branch, self._server.uri)
        return tree

    @contextmanager
    def _reference_name(self, branch: str) -> Iterator[str]:
        if branch != MAIN:
            branch_catalog_name(branch)
        try:
            yield self._main if branch == MAIN else branch
        except NoReferenceError as error:
            raise (self._no_main() if branch == MAIN else branch_missing_error(branch, self._server.uri)) from error

    def _no_main(self) -> LakeError:
        failure = LakeUnavailableError(
            f"Nessie has no branch '{self._main}'", where=self._server.uri, remedy="correct 'ref' in [lake]"
        )
        failure.kind = FailureKind.NOT_FOUND
        return failure

    def _on_branch(
        self, branch: str, keys: Collection[Key], message: str, operations: Callable[[Tree], Sequence[Operation]]
    ) -> None:
        """One commit of the operations; computed again where the branch was changed in between."""
        for _ in self._api.write_attempts(message):
            tree = self._contents(branch, keys)
            steps = operations(tree)
            if not steps:
                return
            try:
                self._commit(self._main if branch == MAIN else branch, tree.hash, message, steps)
                return
            except (MovedError, UnansweredError):
                continue
            except NoReferenceError as error:
                raise branch_missing_error(branch, self._server.uri) from error

    def _commit(self, branch: str, hash: str, message: str, operations: Iterable[Operation]) -> str:
        first, second = split_replacements(operations)
        if first:
            hash = self._api.commit(branch, hash, message, first)
        return self._api.commit(branch, hash, message, second)

    def _move_main(self, branch: str, hash: str, operations: Sequence[Operation]) -> None:
        """One step of main, also where it takes two commits: those are made aside, and main is moved to the second."""
        message = f"tidegate: publish {branch}"
        if not split_replacements(operations)[0]:
            self._api.commit(self._main, hash, message, operations)
            return
        aside = f"{branch}-publish"
        self._delete(aside)
        self._api.create_branch(aside, Reference(self._main, hash))
        try:
            self._api.assign_branch(self._main, hash, Reference(aside, self._commit(aside, hash, message, operations)))
        finally:
            with suppress(LakeError):
                self._delete(aside)

    def _delete(self, name: str) -> None:
        with suppress(NoReferenceError):
            self._api.delete_branch(name, self._api.reference(name).hash)

    def _update_record(self, branch: str, change: Callable[[BranchRecord], BranchRecord]) -> None:
        def operations(tree: Tree) -> Sequence[Operation]:
            mark = _require_record(tree, branch, self._server.uri)
            changed = change(mark)
            return [] if changed == mark else [put_properties(tree, BRANCH_RECORD, changed.properties())]

        self._on_branch(branch, [], "tidegate: update the branch record", operations)

    def _rebase(self, branch: str, moved: Mapping[TableName, Pointer | None]) -> None:
        if moved:
            self._update_record(branch, lambda mark: replace(mark, moved={**mark.moved, **moved}))

    def _bases(self, mark: BranchRecord) -> dict[TableName, Pointer]:
        at_base = self._cached_bases.get(mark.base)  # what a commit holds never changes
        if at_base is None:
            at_base = heads(self._api.tree("", mark.base))
            self._cached_bases = {mark.base: at_base}
        bases: dict[TableName, Pointer | None] = {**at_base, **mark.moved}
        return {table: pointer for table, pointer in bases.items() if pointer is not None}

    def _pointers_at(self, reference: Reference) -> frozenset[Pointer]:
        tree = self._api.tree("", reference.hash)
        mark = read_branch_record(tree)
        bases = self._bases(mark).values() if mark is not None else ()
        pointers = (pointer_of(content) for content in tree.contents.values())
        return frozenset([*(pointer for pointer in pointers if pointer), *bases])


def _require_record(tree: Tree, branch: str, where: str) -> BranchRecord:
    mark = read_branch_record(tree)
    if mark is None:
        raise branch_missing_error(branch, where)
    return mark


def _move(target: Tree, source: Tree, key: Key) -> list[Operation]:
    return place(target, key, source.contents.get(key))


def _namespaces_of(keys: Iterable[Key]) -> list[Key]:
    return sorted({key[:depth] for key in keys for depth in range(1, len(key))})


def _heartbeat_properties(now: datetime) -> dict[str, str]:
    return {"at": now.isoformat()}
