"""A lake whose main is on an Iceberg REST server, and whose branches are pointers in a database of its own.

A branch starts from the metadata files that the server reports and is then written through Iceberg's JDBC catalog, as
in the embedded catalog. A publish sends the server what differs between its metadata of each table and the branch's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from graphlib import CycleError, TopologicalSorter
from typing import Any

from tidegate.config import RestServer
from tidegate.errors import LakeError, PublishConflictError
from tidegate.faults import fault
from tidegate.lake.branch_catalog import (
    MAIN,
    Capabilities,
    Change,
    Heads,
    Pointer,
    PointerKind,
    changes_between,
    moves_to_main,
    publish_conflict,
)
from tidegate.lake.catalogs import pointer_tables as rows
from tidegate.lake.catalogs.embedded import EmbeddedCatalog
from tidegate.lake.catalogs.jdbc import JdbcCatalog
from tidegate.lake.catalogs.json_server import MovedError, UnansweredError
from tidegate.lake.catalogs.relational import RelationalCatalog
from tidegate.lake.catalogs.rest_api import Commit, RestApi
from tidegate.lake.catalogs.rest_updates import (
    can_follow,
    is_same_state,
    table_requirements,
    table_updates,
    view_requirements,
    view_updates,
)
from tidegate.lake.catalogs.spark_catalogs import catalog_settings, table_missing_error
from tidegate.lake.metadata import load_json
from tidegate.lake.progress import PROGRESS_PROPERTY, Progress
from tidegate.names import TableName

__all__ = ["RestCatalog"]

_NO_SWEEP = "the files of main belong to the REST server, and others may read them: use the server's own upkeep"
_NOT_ATOMIC = (
    "a REST server changes existing tables in one step at best; new or dropped ones and views follow one by one"
)
_NUMBERED = (
    "a snapshot is sent with its sequence number, which a compaction of main may have used: the table is rebuilt"
)

Load = Callable[[str], Any]


class RestCatalog(RelationalCatalog):
    capabilities = Capabilities(
        branches=True,
        atomic_publish=False,
        views=True,
        row_lineage=True,
        sweep=False,
        over_compaction=False,
        gaps={"atomic_publish": _NOT_ATOMIC, "sweep": _NO_SWEEP, "over_compaction": _NUMBERED},
    )

    def __init__(
        self,
        server: RestServer,
        branches: EmbeddedCatalog | JdbcCatalog,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        load: Load = load_json,
    ) -> None:
        """`branches`: the database that holds them. `load` returns the JSON of a metadata file."""
        super().__init__(branches._database, branches.warehouse, clock)
        self._branches = branches
        self._server = server
        self._api = RestApi(server)
        self._load = load

    def head(self, branch: str = MAIN) -> Heads:
        return self._api.pointers() if branch == MAIN else super().head(branch)

    def pointer(self, branch: str, table: TableName) -> Pointer | None:
        return self._api.pointer(table) if branch == MAIN else super().pointer(branch, table)

    def all_pointers(self) -> frozenset[Pointer]:
        return super().all_pointers() | frozenset(self._api.pointers().values())

    def create_branch(self, name: str) -> None:
        heads = self._api.pointers()
        super().create_branch(name)
        with self._database.write() as db:
            self._set(db, self._require_branch(db, name), heads)

    def refresh_branch(self, branch: str, tables: Collection[TableName]) -> None:
        heads = self._api.pointers()
        with self._database.write() as db:
            catalog = self._require_branch(db, branch)
            ours, bases = rows.pointers(db, catalog), rows.bases(db, catalog)
            stay = {change.table for change in changes_between(bases, ours)} - set(tables)
            all_tables = ours.keys() | bases.keys() | heads.keys()
            self._set(db, catalog, {table: heads.get(table) for table in all_tables - stay})

    def publish(
        self,
        branch: str,
        tables: Collection[TableName],
        accept: Heads | None = None,
        unmoved: Heads | None = None,
    ) -> tuple[Change, ...]:
        sorted_tables, still = sorted(set(tables)), unmoved or {}
        before: dict[TableName, Pointer | None] = {}
        for _ in self._api.write_attempts(f"publish {branch}"):
            with self._database.read() as db:
                catalog = self._require_branch(db, branch)
                bases, ours = rows.bases(db, catalog, sorted_tables), rows.pointers(db, catalog, sorted_tables)
            changed = [table for table in sorted_tables if ours.get(table) != bases.get(table)]
            main = self._main({*changed, *still})
            arrived = {table for table in changed if self._already_published(main.get(table), ours.get(table))}
            targets = {**ours, **{table: main[table] for table in arrived & main.keys()}}
            try:
                moves = moves_to_main(branch, changed, bases, targets, main, accept or {}, still)
                for change in moves:
                    before.setdefault(change.table, change.before)
                self._send_changes(branch, [change for change in moves if change.table not in arrived], still)
            except (MovedError, UnansweredError):
                continue  # the present state of main shows whether it was carried out, or there is a conflict
            except LakeError as error:
                raise self._with_published_tables(error, before, ours) from error
            fault("inside_publish")
            landed = self._confirm_published(branch, ours, [change.table for change in moves])
            if landed is None:
                continue  # a server that does not check and commit in one step may accept a change and lose it
            return tuple(Change(table, before[table], pointer) for table, pointer in landed.items())
        raise AssertionError("unreachable")

    def set_properties(self, branch: str, table: TableName, properties: Mapping[str, str]) -> None:
        if branch != MAIN:
            super().set_properties(branch, table, properties)
            return
        update = {"action": "set-properties", "updates": dict(properties)}
        for _ in self._api.write_attempts(f"set properties of {table}"):
            before = self._api.pointer(table)
            if before is None:
                raise table_missing_error(table, self._server.uri)
            now, is_view = self._load(before.location), before.kind is PointerKind.VIEW
            identity = "view" if is_view else "table"
            same = {"type": f"assert-{identity}-uuid", "uuid": now[f"{identity}-uuid"]}
            try:
                self._api.commit(Commit(table, [same], [update]), before.kind)
                return
            except (MovedError, UnansweredError):
                continue

    def check_warehouse(self) -> None:
        raise LakeError(f"unused files are not deleted: {_NO_SWEEP}", where=str(self.warehouse))

    def spark_conf(self, branch: str) -> Mapping[str, str]:
        if branch != MAIN:
            return super().spark_conf(branch)
        self._claim_warehouse()
        server = self._server
        secrets = {"token": server.token, "credential": server.credential}
        options = {
            "catalog-impl": "org.apache.iceberg.rest.RESTCatalog",
            "uri": server.uri,
            "scope": server.scope,
            **({"oauth2-server-uri": server.oauth2_server_uri} if server.oauth2_server_uri else {}),
            **{key: secret.reveal() for key, secret in secrets.items() if secret},
            **{f"header.{key}": secret.reveal() for key, secret in server.headers.items()},
        }
        settings = catalog_settings(MAIN, self.warehouse, options)
        # To a REST server, a warehouse is the name of one of its catalogs.
        del settings[f"spark.sql.catalog.{MAIN}.warehouse"]
        warehouse = {f"spark.sql.catalog.{MAIN}.warehouse": server.catalog_name} if server.catalog_name else {}
        return {**settings, **warehouse}

    def _catalog_name(self, db: rows.CatalogConnection, branch: str) -> str:
        """Main is not in the database."""
        return self._require_branch(db, branch)

    def _jdbc(self) -> Mapping[str, str]:
        return self._branches._jdbc()

    def _set(self, db: rows.CatalogConnection, catalog: str, heads: Mapping[TableName, Pointer | None]) -> None:
        rows.set_pointers(db, catalog, heads)
        rows.set_bases(db, catalog, heads)
        for table in {table._replace(name="") for table, pointer in heads.items() if pointer}:
            rows.ensure_namespaces(db, catalog, table)

    def _main(self, tables: Iterable[TableName]) -> dict[TableName, Pointer]:
        pointers = ((table, self._api.pointer(table)) for table in sorted(tables))
        return {table: pointer for table, pointer in pointers if pointer is not None}

    def _already_published(self, now: Pointer | None, ours: Pointer | None) -> bool:
        """Whether main has what the branch has, in a metadata file of the server's own: published before."""
        if now is None or ours is None or now.kind != ours.kind:
            return False
        return now == ours or is_same_state(self._load(now.location), self._load(ours.location))

    def _send_changes(self, branch: str, moves: Sequence[Change], still: Heads) -> None:
        """Changed tables first, in one transaction if the server supports it: only they can conflict."""
        commits, after = [], []
        for change in self._in_order(moves):
            commit = self._commit_of(branch, change)
            if commit is not None and change.after is not None and change.after.kind is PointerKind.TABLE:
                commits.append(commit)
            else:
                after.append((change, commit))
        if self._api.has_transactions and len(commits) + len(still) > 1:
            changed = {commit.table for commit in commits}
            read = [
                Commit(table, table_requirements(self._load(pointer.location)), [])
                for table, pointer in still.items()
                if table not in changed and pointer.kind is PointerKind.TABLE
            ]
            if commits:
                self._api.commit_all([*commits, *read])
        else:
            for commit in commits:
                self._api.commit(commit)
        for change, commit in after:
            if commit is not None:
                self._api.commit(commit, PointerKind.VIEW)
            else:
                self._replace(change)

    def _commit_of(self, branch: str, change: Change) -> Commit | None:
        """None where it is not the same table or view as before: then it is recreated, or dropped."""
        before, after = change.before, change.after
        if before is None or after is None or before.kind != after.kind:
            return None
        now, target = self._load(before.location), self._load(after.location)
        if after.kind is PointerKind.VIEW:
            return Commit(change.table, view_requirements(now), view_updates(now, target))
        if now["table-uuid"] != target["table-uuid"]:
            return None
        if not can_follow(now, target):
            raise publish_conflict(branch, [change.table])
        return Commit(change.table, table_requirements(now), table_updates(now, target))

    def _replace(self, change: Change) -> None:
        if change.before is not None:
            if change.before.kind is PointerKind.VIEW:
                # The server would delete the view's file, which branches may refer to. Tables always have it.
                required = view_requirements(self._load(change.before.location))
                keep = {"action": "set-properties", "updates": {"gc.enabled": "false"}}
                self._api.commit(Commit(change.table, required, [keep]), PointerKind.VIEW)
            self._api.drop(change.table, change.before.kind)
        if change.after is not None:
            self._api.create_namespace(change.table)
            self._api.create(change.table, change.after, self._load(change.after.location))

    def _in_order(self, moves: Sequence[Change]) -> list[Change]:
        """Inputs before the tables built from them; dropped tables and views last."""
        by_name = {str(change.table): change for change in moves}
        graph = {name: self._inputs(change) & by_name.keys() for name, change in by_name.items()}
        try:
            order = list(TopologicalSorter(graph).static_order())
        except CycleError:
            order = sorted(by_name)
        return sorted((by_name[name] for name in order), key=_rank)

    def _inputs(self, change: Change) -> frozenset[str]:
        if change.after is None:
            return frozenset()
        text = self._load(change.after.location).get("properties", {}).get(PROGRESS_PROPERTY)
        progress = Progress.from_json(text) if text else None
        return frozenset(progress.tables if progress else ())

    def _confirm_published(
        self, branch: str, ours: Heads, published: Collection[TableName]
    ) -> Mapping[TableName, Pointer | None] | None:
        """The pointers that main has for what was published, in files of the server's own: the branch's new base. None:
        not all of it is on main.

        A table that another run has moved since retains the branch's own pointer as its base, so that the next publish
        detects the conflict.
        """
        landed = {table: ours.get(table) for table in published}
        # Main has moved: a failure from here on must not report that it has not.
        with suppress(LakeError):
            now = {table: self._api.pointer(table) for table in published}
            if not all(self._includes(now[table], ours.get(table)) for table in published):
                return None
            landed |= {table: now[table] for table in published if self._already_published(now[table], ours.get(table))}
            with self._database.write() as db:
                catalog = self._require_branch(db, branch)
                on_branch = rows.pointers(db, catalog, list(landed))
                rows.set_bases(db, catalog, landed)
                rows.set_pointers(db, catalog, {t: p for t, p in landed.items() if on_branch.get(t) == ours.get(t)})
        return landed

    def _includes(self, now: Pointer | None, ours: Pointer | None) -> bool:
        """Whether what main has is what was published, or something that was made from it."""
        if ours is None or self._already_published(now, ours):
            return True
        if now is None or now.kind != ours.kind or ours.kind is PointerKind.VIEW:
            return False
        published = self._load(ours.location).get("current-snapshot-id")
        return published in {each["snapshot-id"] for each in self._load(now.location).get("snapshots", ())}

    def _with_published_tables(self, error: LakeError, tried: Iterable[TableName], ours: Heads) -> LakeError:
        """The error, if nothing was published; else one that lists the tables that were."""
        try:
            arrived = [
                str(table) for table in tried if self._already_published(self._api.pointer(table), ours.get(table))
            ]
        except LakeError:
            return error
        if not arrived:
            return error
        message = (
            f"{error.message.removesuffix('; nothing was published')}; main has these already: {', '.join(arrived)}"
        )
        if isinstance(error, PublishConflictError):
            return PublishConflictError(message, tables=error.tables, remedy=error.remedy)
        failure = LakeError(message, where=error.where, remedy=error.remedy)
        failure.kind = error.kind
        return failure


def _rank(change: Change) -> int:
    if change.after is None:
        return 2
    return 0 if change.after.kind is PointerKind.TABLE else 1
