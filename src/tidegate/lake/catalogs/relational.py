"""Iceberg's JDBC catalog on a SQL database, with branches.

A branch is a second `catalog_name` in Iceberg's own table, whose rows point at the same metadata files as main's;
another table has the pointers that each branch started from. Publishing moves pointers in one transaction.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from pathlib import Path

from tidegate.lake.branch_catalog import (
    MAIN,
    BranchInfo,
    Capabilities,
    Change,
    Heads,
    Pointer,
    PointerKind,
    changes_between,
    moves_to_main,
)
from tidegate.lake.catalogs import pointer_tables as rows
from tidegate.lake.catalogs.pointer_tables import CatalogConnection, SqlDatabase
from tidegate.lake.catalogs.spark_catalogs import (
    branch_catalog_name,
    branch_exists_error,
    branch_missing_error,
    catalog_settings,
    spark_catalog,
    table_missing_error,
)
from tidegate.lake.next_metadata import with_properties
from tidegate.lake.warehouse import check_warehouse, claim_warehouse
from tidegate.names import TableName

__all__ = ["RelationalCatalog"]

_STRAY_PREFIXES = ("run_2", "read_2", "maintain_2")


class RelationalCatalog(ABC):
    capabilities = Capabilities(branches=True, atomic_publish=True, views=True, row_lineage=True)
    _alone = False
    """Whether a warehouse of another catalog is refused."""

    def __init__(
        self, database: SqlDatabase, warehouse: Path, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self.warehouse = warehouse.absolute()
        self._database = database
        self._clock = clock

    @abstractmethod
    def _jdbc(self) -> Mapping[str, str]:
        """How Iceberg's JDBC catalog reaches the database: `uri`, and what else it needs."""

    def head(self, branch: str = MAIN) -> Heads:
        with self._database.read() as db:
            return rows.pointers(db, self._catalog_name(db, branch))

    def pointer(self, branch: str, table: TableName) -> Pointer | None:
        with self._database.read() as db:
            return rows.pointers(db, self._catalog_name(db, branch), [table]).get(table)

    def all_pointers(self) -> frozenset[Pointer]:
        with self._database.read() as db:
            result = db.execute(
                "SELECT coalesce(iceberg_type, 'TABLE'), metadata_location FROM iceberg_tables"
                " UNION SELECT iceberg_type, metadata_location FROM tidegate_bases"
            )
            return frozenset(Pointer(PointerKind(kind), location) for kind, location in result if location)

    def create_branch(self, name: str) -> None:
        catalog, now = branch_catalog_name(name), self._clock().isoformat()
        self._claim_warehouse()
        with self._database.write() as db:
            existing = db.execute(
                "SELECT 1 FROM tidegate_branches WHERE catalog_name = ? UNION ALL"
                " SELECT 1 FROM iceberg_tables WHERE catalog_name = ? LIMIT 1",
                (catalog, catalog),
            ).fetchone()
            if existing:
                raise branch_exists_error(name, self._database.where)
            db.execute("INSERT INTO tidegate_branches VALUES (?, ?, ?, ?, 0)", (name, catalog, now, now))
            rows.copy_all(db, catalog)

    def changed_tables(self, branch: str) -> tuple[Change, ...]:
        with self._database.read() as db:
            catalog = self._catalog_name(db, branch)
            return changes_between(rows.bases(db, catalog), rows.pointers(db, catalog))

    def publish(
        self,
        branch: str,
        tables: Collection[TableName],
        accept: Heads | None = None,
        unmoved: Heads | None = None,
    ) -> tuple[Change, ...]:
        sorted_tables, still = sorted(set(tables)), unmoved or {}
        with self._database.write() as db:
            catalog = self._require_branch(db, branch)
            bases, ours = rows.bases(db, catalog, sorted_tables), rows.pointers(db, catalog, sorted_tables)
            main = rows.pointers(db, MAIN, {*sorted_tables, *still})
            moves = moves_to_main(branch, sorted_tables, bases, ours, main, accept or {}, still)
            rows.add_namespaces(db, catalog, [change.table for change in moves if change.after])
            after = {change.table: change.after for change in moves}
            rows.set_pointers(db, MAIN, after)
            rows.set_bases(db, catalog, after)
        return moves

    def refresh_branch(self, branch: str, tables: Collection[TableName]) -> None:
        with self._database.write() as db:
            catalog = self._require_branch(db, branch)
            ours, bases = rows.pointers(db, catalog), rows.bases(db, catalog)
            changed = {change.table for change in changes_between(bases, ours)}
            db.execute("DELETE FROM iceberg_tables WHERE catalog_name = ?", (catalog,))
            db.execute("DELETE FROM tidegate_bases WHERE catalog_name = ?", (catalog,))
            rows.copy_all(db, catalog)
            stay = changed - set(tables)
            rows.set_pointers(db, catalog, {table: ours.get(table) for table in stay})
            rows.set_bases(db, catalog, {table: bases.get(table) for table in stay})

    def restore(self, branch: str, table: TableName, pointer: Pointer | None) -> None:
        with self._database.write() as db:
            rows.set_pointers(db, self._catalog_name(db, branch), {table: pointer})

    def set_properties(self, branch: str, table: TableName, properties: Mapping[str, str]) -> None:
        while True:
            before = self.pointer(branch, table)
            if before is None:
                raise table_missing_error(table, self._database.where)
            after = with_properties(before, properties)
            with self._database.write() as db:
                catalog = self._catalog_name(db, branch)
                if rows.pointers(db, catalog, [table]).get(table) == before:
                    rows.set_pointers(db, catalog, {table: after})
                    return

    def create_namespace(self, branch: str, table: TableName) -> None:
        with self._database.write() as db:
            rows.ensure_namespaces(db, self._catalog_name(db, branch), table)

    def drop_branch(self, name: str) -> None:
        catalog = branch_catalog_name(name)
        with self._database.write() as db:
            for table in ("iceberg_tables", "iceberg_namespace_properties", "tidegate_bases", "tidegate_branches"):
                db.execute(f"DELETE FROM {table} WHERE catalog_name = ?", (catalog,))

    def drop_strays(self) -> None:
        # Only names that a branch of Tidegate can have: other catalogs in this database belong to other programs.
        ours = " OR ".join(f"substr(catalog_name, 1, {len(prefix)}) = '{prefix}'" for prefix in _STRAY_PREFIXES)
        with self._database.write() as db:
            for table in ("iceberg_tables", "iceberg_namespace_properties", "tidegate_bases"):
                db.execute(
                    f"DELETE FROM {table} WHERE ({ours})"
                    " AND catalog_name NOT IN (SELECT catalog_name FROM tidegate_branches)"
                )

    def keep_branch(self, name: str) -> None:
        with self._database.write() as db:
            db.execute(
                "UPDATE tidegate_branches SET kept = 1 WHERE catalog_name = ?", (self._require_branch(db, name),)
            )

    def heartbeat(self, branch: str) -> None:
        with self._database.write() as db:
            catalog = self._require_branch(db, branch)
            values = (self._clock().isoformat(), catalog)
            db.execute("UPDATE tidegate_branches SET heartbeat_at = ? WHERE catalog_name = ?", values)

    def list_branches(self) -> tuple[BranchInfo, ...]:
        with self._database.read() as db:
            result = db.execute("SELECT name, created_at, heartbeat_at, kept FROM tidegate_branches ORDER BY 2, 1")
            return tuple(
                BranchInfo(name, datetime.fromisoformat(created), datetime.fromisoformat(beat), bool(kept))
                for name, created, beat, kept in result
            )

    def spark_catalog(self, branch: str) -> str:
        return spark_catalog(branch)

    def spark_conf(self, branch: str) -> Mapping[str, str]:
        options = {
            "catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
            "jdbc.schema-version": "V1",
            **self._jdbc(),
        }
        self._claim_warehouse()  # Spark may write files there from now on
        return catalog_settings(spark_catalog(branch), self.warehouse, options)

    def check_warehouse(self) -> None:
        with self._database.read() as db:
            check_warehouse(self.warehouse, rows.lake_id(db))

    def _claim_warehouse(self) -> None:
        with self._database.read() as db:
            lake = rows.lake_id(db)
        claim_warehouse(self.warehouse, lake, self._alone)

    def _catalog_name(self, db: CatalogConnection, branch: str) -> str:
        return MAIN if branch == MAIN else self._require_branch(db, branch)

    def _require_branch(self, db: CatalogConnection, branch: str) -> str:
        catalog = branch_catalog_name(branch)
        if db.execute("SELECT 1 FROM tidegate_branches WHERE name = ?", (branch,)).fetchone() is None:
            raise branch_missing_error(branch, self._database.where)
        return catalog
