"""The tables of a catalog that is a SQL database, and the statements on them: the same for SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from tidegate.lake.branch_catalog import MAIN, Pointer, PointerKind
from tidegate.names import TableName

__all__ = [
    "OWN_TABLES",
    "SCHEMA",
    "CatalogConnection",
    "SqlDatabase",
    "add_namespaces",
    "bases",
    "copy_all",
    "ensure_namespaces",
    "lake_id",
    "named",
    "pointers",
    "set_bases",
    "set_pointers",
]

OWN_TABLES = ("iceberg_tables", "iceberg_namespace_properties", "tidegate_branches", "tidegate_bases", "tidegate_lake")

# The first two are those of Iceberg's schema version V1; Iceberg and Tidegate create them if they are missing.
SCHEMA = (
    (
        "CREATE TABLE IF NOT EXISTS iceberg_tables(catalog_name VARCHAR(255) NOT NULL,"
        "table_namespace VARCHAR(255) NOT NULL,table_name VARCHAR(255) NOT NULL,metadata_location VARCHAR(1000),"
        "previous_metadata_location VARCHAR(1000),iceberg_type VARCHAR(5),"
        "PRIMARY KEY (catalog_name, table_namespace, table_name))"
    ),
    (
        "CREATE TABLE IF NOT EXISTS iceberg_namespace_properties(catalog_name VARCHAR(255) NOT NULL,"
        "namespace VARCHAR(255) NOT NULL,property_key VARCHAR(255),property_value VARCHAR(1000),"
        "PRIMARY KEY (catalog_name, namespace, property_key))"
    ),
    (
        "CREATE TABLE IF NOT EXISTS tidegate_branches(name TEXT PRIMARY KEY,catalog_name TEXT NOT NULL UNIQUE,"
        "created_at TEXT NOT NULL,heartbeat_at TEXT NOT NULL,kept INTEGER NOT NULL DEFAULT 0)"
    ),
    (
        "CREATE TABLE IF NOT EXISTS tidegate_bases(catalog_name TEXT NOT NULL,table_namespace TEXT NOT NULL,"
        "table_name TEXT NOT NULL,iceberg_type TEXT NOT NULL,metadata_location TEXT NOT NULL,"
        "PRIMARY KEY (catalog_name, table_namespace, table_name))"
    ),
    "CREATE TABLE IF NOT EXISTS tidegate_lake(key TEXT PRIMARY KEY,value TEXT NOT NULL)",
)

_FEW = 20
"""Up to so many tables are looked up one by one; for more it is quicker to read the whole branch."""

Key = tuple[str, str]
Rows = dict[Key, Pointer]


class CatalogConnection(Protocol):
    """A connection inside a transaction; values replace `?`."""

    def execute(self, sql: str, values: Sequence[Any] = ..., /) -> Any: ...

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> Any: ...


class SqlDatabase(Protocol):
    @property
    def where(self) -> str:
        """Its address, for messages."""

    def read(self) -> AbstractContextManager[CatalogConnection]:
        """One consistent state of the database, unaffected by concurrent writes."""

    def write(self) -> AbstractContextManager[CatalogConnection]:
        """A transaction that is the only writer, Iceberg's own commits included."""


def named(rows: Rows) -> dict[TableName, Pointer]:
    """Without tables of a one-level namespace, which belong to other programs."""
    split = ((namespace.rpartition("."), name, pointer) for (namespace, name), pointer in rows.items())
    return {TableName(above, layer, name): pointer for (above, _, layer), name, pointer in split if above}


def pointers(
    db: CatalogConnection, catalog: str, tables: Collection[TableName] | None = None
) -> dict[TableName, Pointer]:
    """The pointers of the tables of a catalog (all, or those named)."""
    return _pointers(db, "iceberg_tables", catalog, tables)


def bases(db: CatalogConnection, catalog: str, tables: Collection[TableName] | None = None) -> dict[TableName, Pointer]:
    """The pointers that the branch started from, or last published."""
    return _pointers(db, "tidegate_bases", catalog, tables)


def _pointers(
    db: CatalogConnection, source: str, catalog: str, tables: Collection[TableName] | None
) -> dict[TableName, Pointer]:
    select = (
        "SELECT table_namespace, table_name, coalesce(iceberg_type, 'TABLE'), metadata_location"
        f" FROM {source} WHERE catalog_name = ?"
    )
    if tables is None or len(tables) > _FEW:
        rows = list(db.execute(select, (catalog,)))
    else:
        one = f"{select} AND table_namespace = ? AND table_name = ?"
        rows = [row for table in tables for row in db.execute(one, (catalog, *_key(table)))]
    return named({(namespace, name): Pointer(PointerKind(kind), location) for namespace, name, kind, location in rows})


def copy_all(db: CatalogConnection, target: str) -> None:
    """Main's pointers and namespaces for a branch, which also become its base."""
    db.execute(
        "INSERT INTO iceberg_tables SELECT ?, table_namespace, table_name, metadata_location,"
        " previous_metadata_location, coalesce(iceberg_type, 'TABLE') FROM iceberg_tables WHERE catalog_name = ?",
        (target, MAIN),
    )
    db.execute(
        "INSERT INTO tidegate_bases SELECT ?, table_namespace, table_name, coalesce(iceberg_type, 'TABLE'),"
        " metadata_location FROM iceberg_tables WHERE catalog_name = ?",
        (target, MAIN),
    )
    _copy_namespaces(db, MAIN, target)


def set_pointers(db: CatalogConnection, catalog: str, new_pointers: Mapping[TableName, Pointer | None]) -> None:
    deletions = [(catalog, *_key(table)) for table, pointer in new_pointers.items() if pointer is None]
    upserts = [
        (catalog, *_key(t), pointer.location, pointer.kind.value) for t, pointer in new_pointers.items() if pointer
    ]
    if deletions:
        statement = "DELETE FROM iceberg_tables WHERE catalog_name = ? AND table_namespace = ? AND table_name = ?"
        db.executemany(statement, deletions)
    if upserts:
        db.executemany(
            "INSERT INTO iceberg_tables VALUES (?, ?, ?, ?, NULL, ?)"
            " ON CONFLICT (catalog_name, table_namespace, table_name) DO UPDATE SET"
            " previous_metadata_location = iceberg_tables.metadata_location,"
            " metadata_location = excluded.metadata_location, iceberg_type = excluded.iceberg_type",
            upserts,
        )


def set_bases(db: CatalogConnection, catalog: str, new_bases: Mapping[TableName, Pointer | None]) -> None:
    if not new_bases:
        return
    statement = "DELETE FROM tidegate_bases WHERE catalog_name = ? AND table_namespace = ? AND table_name = ?"
    db.executemany(statement, [(catalog, *_key(table)) for table in new_bases])
    insertions = [
        (catalog, *_key(t), pointer.kind.value, pointer.location) for t, pointer in new_bases.items() if pointer
    ]
    if insertions:
        db.executemany("INSERT INTO tidegate_bases VALUES (?, ?, ?, ?, ?)", insertions)


def add_namespaces(db: CatalogConnection, source: str, tables: Iterable[TableName]) -> None:
    """Create the namespaces of these tables on main, with the properties that they have on the branch."""
    for namespace in sorted({level for table in tables for level in _levels(table)}):
        query = "SELECT 1 FROM iceberg_namespace_properties WHERE catalog_name = ? AND namespace = ?"
        if db.execute(query, (MAIN, namespace)).fetchone() is None:
            _copy_namespaces(db, source, MAIN, namespace)
            _ensure_namespace(db, MAIN, namespace)


def ensure_namespaces(db: CatalogConnection, catalog: str, table: TableName) -> None:
    for namespace in _levels(table):
        _ensure_namespace(db, catalog, namespace)


def lake_id(db: CatalogConnection) -> str:
    (value,) = db.execute("SELECT value FROM tidegate_lake WHERE key = 'id'").fetchone()
    return str(value)


def _copy_namespaces(db: CatalogConnection, source: str, target: str, namespace: str | None = None) -> None:
    only, values = ("", ()) if namespace is None else (" AND namespace = ?", (namespace,))
    db.execute(
        "INSERT INTO iceberg_namespace_properties SELECT ?, namespace, property_key, property_value"
        f" FROM iceberg_namespace_properties WHERE catalog_name = ?{only} ON CONFLICT DO NOTHING",
        (target, source, *values),
    )


def _ensure_namespace(db: CatalogConnection, catalog: str, namespace: str) -> None:
    values = (catalog, namespace, "exists", "true")
    db.execute("INSERT INTO iceberg_namespace_properties VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", values)


def _levels(table: TableName) -> tuple[str, str]:
    return table.namespace, f"{table.namespace}.{table.layer}"


def _key(table: TableName) -> Key:
    return f"{table.namespace}.{table.layer}", table.name
