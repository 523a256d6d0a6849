"""The catalog that needs no server: Iceberg's JDBC catalog on a SQLite file."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from tidegate.errors import LakeError, LakeUnavailableError
from tidegate.lake.branch_catalog import MAIN, Heads
from tidegate.lake.catalogs.pointer_tables import OWN_TABLES, SCHEMA, lake_id
from tidegate.lake.catalogs.relational import RelationalCatalog
from tidegate.lake.warehouse import refuse_emptied_catalog

__all__ = ["BUSY_TIMEOUT_SECONDS", "CatalogDatabase", "EmbeddedCatalog"]

BUSY_TIMEOUT_SECONDS = 30

_REMEDIES = {
    "SQLITE_BUSY": "another process holds the catalog's write lock; see whether a run hangs, then try again",
    "SQLITE_LOCKED": "another process holds the catalog's write lock; see whether a run hangs, then try again",
    "SQLITE_CANTOPEN": "check that the folder exists and that you may read and write it",
    "SQLITE_PERM": "check that you may read and write the file and its folder",
    "SQLITE_READONLY": "check that you may write the file and its folder",
    "SQLITE_FULL": "free some disk space and try again; nothing was changed",
    "SQLITE_IOERR": "check the disk (space, quota, health) and try again; nothing was changed",
    "SQLITE_NOTADB": "the file is not a catalog: correct [lake] catalog_path or restore the file from a backup",
    "SQLITE_CORRUPT": "restore the file from a backup; the tables' own files in the warehouse are not touched",
}


class CatalogDatabase:
    """Short-lived connections to one file.

    The journal is SQLite's default (a rollback journal), not WAL: Iceberg's connections in the JVM are opened by a
    driver that we do not control, and with a rollback journal the file alone is always the whole catalog, so that a
    copy of it is a backup, a reader without write permission can read it, and no shared memory is needed. Writers
    wait for each other with a busy time-out on every side; transactions here last milliseconds.

    Nothing else may open the file by hand: closing any descriptor of it drops this process's locks on it.
    """

    def __init__(self, path: Path, timeout: float = BUSY_TIMEOUT_SECONDS) -> None:
        self.path = path
        self._timeout = timeout
        self._ready = False

    @property
    def where(self) -> str:
        return str(self.path)

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """One consistent state of the database, unaffected by concurrent writes."""
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Takes the write lock first: a transaction that reads first may fail to get the lock later."""
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        with self._errors(), closing(self._open()) as connection:
            connection.execute(begin)
            try:
                yield connection
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def _open(self) -> sqlite3.Connection:
        if not self._ready:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self.path, timeout=self._timeout, isolation_level=None)
        try:
            if not self._ready:
                _ensure_schema(connection)
                self._ready = True
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorname", None) or ""
            remedies = (text for name, text in _REMEDIES.items() if code.startswith(name))
            remedy = next(remedies, "check that the file is a catalog of this program and was not replaced meanwhile")
            raise LakeUnavailableError(
                f"the lake's catalog cannot be used: {error}", where=str(self.path), remedy=remedy
            ) from error
        except OSError as error:
            raise LakeUnavailableError(
                f"the lake's catalog cannot be used: {error}",
                where=str(self.path),
                remedy="check that the folder exists (or can be made) and that you may write it",
            ) from error


def _ensure_schema(connection: sqlite3.Connection) -> None:
    names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    columns = {row[1] for row in connection.execute("PRAGMA table_info(iceberg_tables)")}
    if names.issuperset(OWN_TABLES) and "iceberg_type" in columns:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement in SCHEMA:
            connection.execute(statement)
        columns = {row[1] for row in connection.execute("PRAGMA table_info(iceberg_tables)")}
        if "iceberg_type" not in columns:  # a catalog that was created with schema version V0
            connection.execute("ALTER TABLE iceberg_tables ADD COLUMN iceberg_type VARCHAR(5)")
        connection.execute("INSERT OR IGNORE INTO tidegate_lake VALUES ('id', ?)", (str(uuid.uuid4()),))
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


class EmbeddedCatalog(RelationalCatalog):
    def __init__(self, path: Path, warehouse: Path, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.path = path.absolute()
        super().__init__(CatalogDatabase(self.path), warehouse, clock)

    def head(self, branch: str = MAIN) -> Heads:
        heads = super().head(branch)
        if branch == MAIN and not heads:
            with self._database.read() as db:
                lake = lake_id(db)
            refuse_emptied_catalog(self.path, self.warehouse, lake)
        return heads

    def _jdbc(self) -> Mapping[str, str]:
        if "?" in str(self.path):  # what follows it would be read as settings, and another file be opened
            raise LakeError(
                "the path of the catalog has a '?', with which Spark cannot open it",
                where=str(self.path),
                remedy="choose another folder, or another [lake] catalog_path",
            )
        return {"uri": f"jdbc:sqlite:{self.path}?busy_timeout={BUSY_TIMEOUT_SECONDS * 1000}"}
