"""The catalog that needs no server: Iceberg's JDBC catalog on a SQLite file, with branches.

A branch is a second `catalog_name` in Iceberg's own table, whose rows point at the same metadata files as main's;
beside it stands, per table, the pointer that the branch started from. Publishing moves pointers in one transaction.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from tidegate.errors import (
    BranchExistsError,
    BranchMissingError,
    LakeError,
    PublishConflictError,
)
from tidegate.lake.claim import check_warehouse, claim_warehouse
from tidegate.lake.database import BUSY_TIMEOUT_SECONDS, CatalogDatabase
from tidegate.lake.port import MAIN, BranchInfo, Capabilities, Change, Heads, Pointer, PointerKind
from tidegate.names import TableName

__all__ = ["EmbeddedCatalog"]

_BRANCH_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,199}")
_Rows = dict[tuple[str, str], Pointer]


class EmbeddedCatalog:
    capabilities = Capabilities(branches=True, atomic_publish=True, views=True, row_lineage=True)

    def __init__(self, path: Path, warehouse: Path, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.path = path.absolute()
        self.warehouse = warehouse.absolute()
        self._clock = clock
        self._database = CatalogDatabase(self.path)

    def head(self, branch: str = MAIN) -> Heads:
        with self._database.read() as db:
            return _named(_rows(db, self._known(db, branch)))

    def pointer(self, branch: str, table: TableName) -> Pointer | None:
        with self._database.read() as db:
            return _rows(db, self._known(db, branch), [_key(table)]).get(_key(table))

    def all_pointers(self) -> frozenset[Pointer]:
        with self._database.read() as db:
            found = db.execute(
                "SELECT coalesce(iceberg_type, 'TABLE'), metadata_location FROM iceberg_tables"
                " UNION SELECT iceberg_type, metadata_location FROM tidegate_bases"
            )
            return frozenset(Pointer(PointerKind(kind), location) for kind, location in found if location)

    def create_branch(self, name: str) -> None:
        catalog, now = self._branch_catalog(name), self._clock().isoformat()
        self._claim_warehouse()
        with self._database.write() as db:
            taken = db.execute(
                "SELECT 1 FROM tidegate_branches WHERE catalog_name = ? UNION ALL"
                " SELECT 1 FROM iceberg_tables WHERE catalog_name = ? LIMIT 1",
                (catalog, catalog),
            ).fetchone()
            if taken:
                raise BranchExistsError(
                    f"branch '{name}' exists already",
                    where=str(self.path),
                    remedy="use another name or drop the branch",
                )
            db.execute("INSERT INTO tidegate_branches VALUES (?, ?, ?, ?, 0)", (name, catalog, now, now))
            _copy_all(db, MAIN, catalog)

    def changed_tables(self, branch: str) -> tuple[Change, ...]:
        with self._database.read() as db:
            catalog = self._known(db, branch)
            bases, rows = _named(_bases(db, catalog)), _named(_rows(db, catalog))
        changed = sorted(t for t in bases.keys() | rows.keys() if bases.get(t) != rows.get(t))
        return tuple(Change(t, bases.get(t), rows.get(t)) for t in changed)

    def publish(
        self, branch: str, tables: Collection[TableName], accept: Mapping[TableName, Pointer] | None = None
    ) -> tuple[Change, ...]:
        good = accept or {}
        with self._database.write() as db:
            catalog = self._known_branch(db, branch)
            keys = [_key(table) for table in tables]
            bases, ours, mains = _bases(db, catalog, keys), _rows(db, catalog, keys), _rows(db, MAIN, keys)
            moves, conflicts = [], []
            for table in sorted(set(tables)):
                key = _key(table)
                base, our, main = bases.get(key), ours.get(key), mains.get(key)
                if our == base:
                    continue
                if main in (base, our) or (main is not None and main == good.get(table)):
                    moves.append(Change(table, main, our))
                else:
                    conflicts.append(table)
            if conflicts:
                names = ", ".join(map(str, conflicts))
                raise PublishConflictError(
                    f"main moved {names} since branch '{branch}' started; nothing was published",
                    tables=conflicts,
                    remedy="run again: the tables are rebuilt from what main has now",
                )
            _add_namespaces(db, catalog, {_key(change.table)[0] for change in moves if change.after})
            for change in moves:
                _set_pointer(db, MAIN, change.table, change.after)
                _set_base(db, catalog, change.table, change.after)
        return tuple(moves)

    def refresh_branch(self, branch: str, tables: Collection[TableName]) -> None:
        with self._database.write() as db:
            catalog = self._known_branch(db, branch)
            ours, bases = _named(_rows(db, catalog)), _named(_bases(db, catalog))
            changed = {table for table in ours.keys() | bases.keys() if ours.get(table) != bases.get(table)}
            db.execute("DELETE FROM iceberg_tables WHERE catalog_name = ?", (catalog,))
            db.execute("DELETE FROM tidegate_bases WHERE catalog_name = ?", (catalog,))
            _copy_all(db, MAIN, catalog)
            for table in changed - set(tables):
                _set_pointer(db, catalog, table, ours.get(table))
                _set_base(db, catalog, table, bases.get(table))

    def restore(self, branch: str, table: TableName, pointer: Pointer | None) -> None:
        with self._database.write() as db:
            _set_pointer(db, self._known_branch(db, branch), table, pointer)

    def create_namespace(self, branch: str, table: TableName) -> None:
        with self._database.write() as db:
            catalog = self._known_branch(db, branch)
            for namespace in (table.namespace, f"{table.namespace}.{table.layer}"):
                _ensure_namespace(db, catalog, namespace)

    def drop_branch(self, name: str) -> None:
        catalog = self._branch_catalog(name)
        with self._database.write() as db:
            for table in ("iceberg_tables", "iceberg_namespace_properties", "tidegate_bases", "tidegate_branches"):
                db.execute(f"DELETE FROM {table} WHERE catalog_name = ?", (catalog,))

    def drop_strays(self) -> None:
        # Only names that a branch of ours can have: other catalogs of this database belong to others.
        ours = " OR ".join(f"catalog_name GLOB '{prefix}_2*'" for prefix in ("run", "read", "maintain"))
        with self._database.write() as db:
            for table in ("iceberg_tables", "iceberg_namespace_properties", "tidegate_bases"):
                db.execute(
                    f"DELETE FROM {table} WHERE ({ours})"
                    " AND catalog_name NOT IN (SELECT catalog_name FROM tidegate_branches)"
                )

    def keep_branch(self, name: str) -> None:
        with self._database.write() as db:
            db.execute("UPDATE tidegate_branches SET kept = 1 WHERE catalog_name = ?", (self._known_branch(db, name),))

    def heartbeat(self, branch: str) -> None:
        with self._database.write() as db:
            catalog = self._known_branch(db, branch)
            values = (self._clock().isoformat(), catalog)
            db.execute("UPDATE tidegate_branches SET heartbeat_at = ? WHERE catalog_name = ?", values)

    def list_branches(self) -> tuple[BranchInfo, ...]:
        with self._database.read() as db:
            found = db.execute("SELECT name, created_at, heartbeat_at, kept FROM tidegate_branches ORDER BY 2, 1")
            return tuple(
                BranchInfo(name, datetime.fromisoformat(created), datetime.fromisoformat(beat), bool(kept))
                for name, created, beat, kept in found
            )

    def spark_catalog(self, branch: str) -> str:
        return MAIN if branch == MAIN else self._branch_catalog(branch)

    def spark_conf(self, branch: str) -> Mapping[str, str]:
        if "?" in str(self.path):  # all that follows would be taken for settings, and another file be opened
            raise LakeError(
                "the path of the catalog has a '?', with which Spark cannot open it",
                where=str(self.path),
                remedy="choose another folder, or another [lake] catalog_path",
            )
        self._claim_warehouse()  # whoever has these settings may write files there
        prefix = f"spark.sql.catalog.{self.spark_catalog(branch)}"
        options = {
            "catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
            "uri": f"jdbc:sqlite:{self.path}?busy_timeout={BUSY_TIMEOUT_SECONDS * 1000}",
            "jdbc.schema-version": "V1",
            # Not Path.as_uri(): Hadoop takes the text after `file:` as it is, a %20 would be part of the name.
            "warehouse": f"file:{self.warehouse}",
            "cache-enabled": "false",
            "unique-table-location": "true",
            "table-default.format-version": "3",
            "table-default.write.delete.mode": "merge-on-read",
            "table-default.write.update.mode": "merge-on-read",
            "table-default.write.merge.mode": "merge-on-read",
            "table-default.write.parquet.compression-codec": "zstd",
            # Files are shared between branches, so only the sweep, which sees all branches, may delete any.
            "table-override.gc.enabled": "false",
            "table-override.write.metadata.delete-after-commit.enabled": "false",
        }
        return {prefix: "org.apache.iceberg.spark.SparkCatalog"} | {f"{prefix}.{k}": v for k, v in options.items()}

    def check_warehouse(self) -> None:
        with self._database.read() as db:
            check_warehouse(self.warehouse, _lake_id(db))

    def _claim_warehouse(self) -> None:
        with self._database.read() as db:
            lake = _lake_id(db)
        claim_warehouse(self.warehouse, lake)

    def _branch_catalog(self, branch: str) -> str:
        catalog = branch.replace("-", "_")
        if not _BRANCH_NAME.fullmatch(branch) or catalog.lower() in (MAIN, "spark_catalog"):
            raise LakeError(
                f"'{branch}' cannot be the name of a branch",
                remedy="use letters, digits, '-' and '_', beginning with a letter",
            )
        return catalog

    def _known(self, db: sqlite3.Connection, branch: str) -> str:
        return MAIN if branch == MAIN else self._known_branch(db, branch)

    def _known_branch(self, db: sqlite3.Connection, branch: str) -> str:
        catalog = self._branch_catalog(branch)
        if db.execute("SELECT 1 FROM tidegate_branches WHERE name = ?", (branch,)).fetchone() is None:
            raise BranchMissingError(
                f"there is no branch '{branch}'",
                where=str(self.path),
                remedy="it was published, dropped or reaped; `tidegate branches` lists those that stand",
            )
        return catalog


def _key(table: TableName) -> tuple[str, str]:
    return f"{table.namespace}.{table.layer}", table.name


def _named(rows: _Rows) -> dict[TableName, Pointer]:
    """Tables of a one-level namespace were made by others: they have no name here and are left alone."""
    split = ((namespace.rpartition("."), name, pointer) for (namespace, name), pointer in rows.items())
    return {TableName(above, layer, name): pointer for (above, _, layer), name, pointer in split if above}


def _rows(db: sqlite3.Connection, catalog: str, keys: Iterable[tuple[str, str]] | None = None) -> _Rows:
    return _pointers(db, "iceberg_tables", catalog, keys)


def _bases(db: sqlite3.Connection, catalog: str, keys: Iterable[tuple[str, str]] | None = None) -> _Rows:
    return _pointers(db, "tidegate_bases", catalog, keys)


def _pointers(db: sqlite3.Connection, source: str, catalog: str, keys: Iterable[tuple[str, str]] | None) -> _Rows:
    select = (
        "SELECT table_namespace, table_name, coalesce(iceberg_type, 'TABLE'), metadata_location"
        f" FROM {source} WHERE catalog_name = ?"
    )
    if keys is None:
        found = list(db.execute(select, (catalog,)))
    else:
        one = f"{select} AND table_namespace = ? AND table_name = ?"
        found = [row for key in keys for row in db.execute(one, (catalog, *key))]
    return {(namespace, name): Pointer(PointerKind(kind), location) for namespace, name, kind, location in found}


def _copy_all(db: sqlite3.Connection, source: str, target: str) -> None:
    """Main's pointers and namespaces for a branch, which also become its base."""
    db.execute(
        "INSERT INTO iceberg_tables SELECT ?, table_namespace, table_name, metadata_location,"
        " previous_metadata_location, coalesce(iceberg_type, 'TABLE') FROM iceberg_tables WHERE catalog_name = ?",
        (target, source),
    )
    db.execute(
        "INSERT INTO tidegate_bases SELECT ?, table_namespace, table_name, coalesce(iceberg_type, 'TABLE'),"
        " metadata_location FROM iceberg_tables WHERE catalog_name = ?",
        (target, source),
    )
    db.execute(
        "INSERT OR IGNORE INTO iceberg_namespace_properties SELECT ?, namespace, property_key, property_value"
        " FROM iceberg_namespace_properties WHERE catalog_name = ?",
        (target, source),
    )


def _set_pointer(db: sqlite3.Connection, catalog: str, table: TableName, pointer: Pointer | None) -> None:
    key = (catalog, *_key(table))
    if pointer is None:
        db.execute("DELETE FROM iceberg_tables WHERE catalog_name = ? AND table_namespace = ? AND table_name = ?", key)
        return
    db.execute(
        "INSERT INTO iceberg_tables VALUES (?, ?, ?, ?, NULL, ?) ON CONFLICT DO UPDATE SET"
        " previous_metadata_location = metadata_location, metadata_location = excluded.metadata_location,"
        " iceberg_type = excluded.iceberg_type",
        (*key, pointer.location, pointer.kind),
    )


def _set_base(db: sqlite3.Connection, catalog: str, table: TableName, pointer: Pointer | None) -> None:
    key = (catalog, *_key(table))
    db.execute("DELETE FROM tidegate_bases WHERE catalog_name = ? AND table_namespace = ? AND table_name = ?", key)
    if pointer is not None:
        db.execute("INSERT INTO tidegate_bases VALUES (?, ?, ?, ?, ?)", (*key, pointer.kind, pointer.location))


def _add_namespaces(db: sqlite3.Connection, source: str, namespaces: Iterable[str]) -> None:
    """What main needs to hold these namespaces, with the properties that the branch gave new ones."""
    for namespace in sorted(namespaces):
        for level in (namespace.rpartition(".")[0], namespace):
            known = "SELECT 1 FROM iceberg_namespace_properties WHERE catalog_name = ? AND namespace = ?"
            if db.execute(known, (MAIN, level)).fetchone() is None:
                db.execute(
                    "INSERT INTO iceberg_namespace_properties SELECT ?, namespace, property_key, property_value"
                    " FROM iceberg_namespace_properties WHERE catalog_name = ? AND namespace = ?",
                    (MAIN, source, level),
                )
                _ensure_namespace(db, MAIN, level)


def _ensure_namespace(db: sqlite3.Connection, catalog: str, namespace: str) -> None:
    values = (catalog, namespace, "exists", "true")
    db.execute("INSERT OR IGNORE INTO iceberg_namespace_properties VALUES (?, ?, ?, ?)", values)


def _lake_id(db: sqlite3.Connection) -> str:
    (value,) = db.execute("SELECT value FROM tidegate_lake WHERE key = 'id'").fetchone()
    return str(value)
