"""Iceberg's JDBC catalog on PostgreSQL: the embedded catalog's behaviour for a lake that many machines write."""

from __future__ import annotations

import os
import time
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from tidegate.config import DatabaseUrl, Secret
from tidegate.errors import FailureKind, LakeUnavailableError
from tidegate.lake.catalogs.pointer_tables import OWN_TABLES, SCHEMA
from tidegate.lake.catalogs.relational import RelationalCatalog

if TYPE_CHECKING:
    import psycopg

__all__ = ["JdbcCatalog", "PostgresDatabase", "Session"]

_CONNECT_SECONDS = 10
_LOCK_SECONDS = 30
_DOUBT_SECONDS = 30
_RESTART_SECONDS = 10
_RESTARTING = ("Connection refused", "starting up", "shutting down")
_SCHEMA_LOCK = 7_305_808_866_905_908_584
"""The key of this lock among PostgreSQL's advisory locks."""

_READ = ("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",)
_WRITE = (
    "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",  # each statement sees what was committed before the lock
    "SET LOCAL lock_timeout = '{ms}ms'",
    "LOCK TABLE iceberg_tables IN SHARE ROW EXCLUSIVE MODE",
)

_PERMISSION = "correct 'user' and 'password' in [lake]; the server's pg_hba.conf says who may connect"
_STATES = (
    ("55P03", FailureKind.TIMEOUT, "another process holds the catalog's lock; see whether a run hangs, then try again"),
    ("28", FailureKind.AUTH_FAILED, _PERMISSION),
    ("42501", FailureKind.AUTH_FAILED, "grant this user CREATE on the schema, and all rights on the catalog's tables"),
    ("3D", FailureKind.NOT_FOUND, "correct the name of the database at the end of 'uri' in [lake], or create it"),
    ("53100", FailureKind.CONNECTION_FAILED, "free some disk space at the server; nothing was changed"),
    ("53", FailureKind.QUOTA_EXCEEDED, "try again later, or allow more connections at the server"),
    ("57P", FailureKind.CONNECTION_FAILED, "the server was shut down or restarted; try again; nothing was changed"),
    ("08", FailureKind.CONNECTION_FAILED, "see whether the server runs, then try again; nothing was changed"),
)
# Where no session was established there is no SQLSTATE, only the server's message; the first match counts.
_WORDS = (
    ("starting up", "57P"),
    ("shutting down", "57P"),
    ("terminating connection", "57P"),
    ("too many", "53"),
    ("connection slots", "53"),
    ("authentication", "28"),
    ("no password supplied", "28"),
    ("pg_hba.conf", "28"),
    ("role ", "28"),
    ("database ", "3D"),
)


@dataclass(frozen=True, slots=True)
class Session:
    """The user of a connection, where libpq has filled in what the settings leave open."""

    user: str
    password: Secret | None
    version: int
    """Of the server, such as 140002."""


class PostgresDatabase:
    """Connections are pooled for the next transaction; one that a restarted server has dropped is replaced."""

    def __init__(self, url: DatabaseUrl, lock_seconds: float = _LOCK_SECONDS) -> None:
        self._url = url
        self._lock_ms = round(lock_seconds * 1000)
        self._ready = False
        self._idle: list[psycopg.Connection[Any]] = []
        self._owner = os.getpid()
        weakref.finalize(self, _close, self._idle, self._owner)

    @property
    def where(self) -> str:
        return self._url.address

    @contextmanager
    def read(self) -> Iterator[_Connection]:
        with self._errors():
            connection = self._begin(_READ)
            with self._return_to_pool(connection):
                yield _Connection(connection)
                connection.execute("COMMIT")

    @contextmanager
    def write(self) -> Iterator[_Connection]:
        with self._errors():
            connection = self._begin([step.format(ms=self._lock_ms) for step in _WRITE])
            with self._return_to_pool(connection):
                yield _Connection(connection)
                self._commit(connection)

    def session(self) -> Session:
        with self._errors():
            connection = self._begin(_READ)
            with self._return_to_pool(connection):
                connection.execute("COMMIT")
                info = connection.info
                return Session(info.user, Secret(info.password) if info.password else None, info.server_version)

    def _commit(self, connection: psycopg.Connection[Any]) -> None:
        """If the connection breaks during the commit, ask the server whether it was carried out."""
        import psycopg

        row = connection.execute("SELECT pg_current_xact_id()::text").fetchone()
        try:
            connection.execute("COMMIT")
        except psycopg.OperationalError:
            if not connection.broken or row is None or not self._was_committed(row[0]):
                raise

    def _was_committed(self, transaction: str) -> bool:
        import psycopg

        deadline = time.monotonic() + _DOUBT_SECONDS
        while True:
            try:
                with self._open() as connection:
                    row = connection.execute("SELECT pg_xact_status(%s::xid8)", (transaction,)).fetchone()
                status = row[0] if row else None
                if status != "in progress":
                    return status == "committed"
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
            if time.monotonic() > deadline:
                return False
            time.sleep(0.2)

    def _begin(self, steps: Iterable[str]) -> psycopg.Connection[Any]:
        import psycopg

        if self._owner != os.getpid():  # a forked process must not speak on its parent's connections
            self._idle, self._owner = [], os.getpid()
        while True:
            try:
                idle = self._idle.pop()
            except IndexError:
                idle = None
            connection = idle or self._connect_with_retry()
            try:
                if not self._ready:
                    _ensure_schema(connection)
                    self._ready = True
                for step in steps:
                    connection.execute(step.encode())
                return connection
            except BaseException as error:
                was_dropped = idle is not None and connection.broken and isinstance(error, psycopg.OperationalError)
                connection.close()
                if not was_dropped:
                    raise

    @contextmanager
    def _return_to_pool(self, connection: psycopg.Connection[Any]) -> Iterator[None]:
        """The connection is reused for the next transaction, if this one succeeded or could be rolled back."""
        try:
            yield
        except BaseException:
            with suppress(Exception):
                connection.execute("ROLLBACK")
            raise
        finally:
            if not connection.closed:
                self._idle.append(connection)

    def _connect_with_retry(self) -> psycopg.Connection[Any]:
        """Waits for a server that has answered before: it may be restarting."""
        import psycopg

        deadline = time.monotonic() + (_RESTART_SECONDS if self._ready else 0)
        while True:
            try:
                return self._open()
            except psycopg.OperationalError as error:
                restarting = any(words in str(error) for words in _RESTARTING)
                if not restarting or time.monotonic() >= deadline:
                    raise
            time.sleep(0.2)

    def _open(self) -> psycopg.Connection[Any]:
        import psycopg

        url = self._url
        arguments: dict[str, Any] = {
            "application_name": "tidegate",
            "connect_timeout": _CONNECT_SECONDS,
            **url.parameters,
            "host": url.host,
            "port": url.port,
            "dbname": url.database,
            "user": url.user,
            "password": url.password.reveal() if url.password else None,
        }
        return psycopg.connect(**arguments, autocommit=True)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        import psycopg

        try:
            yield
        except psycopg.Error as error:
            first = (str(error).strip().splitlines() or [""])[0]
            reason = first.rpartition(" failed: ")[2].removeprefix("FATAL:").strip()
            state = error.sqlstate or next((state for words, state in _WORDS if words in reason), "")
            matches = ((kind, remedy) for prefix, kind, remedy in _STATES if state.startswith(prefix))
            kind, remedy = next(
                matches, (FailureKind.CONNECTION_FAILED, "check that the server runs and can be reached")
            )
            failure = LakeUnavailableError(
                f"the lake's catalog cannot be used: {reason}", where=self.where, remedy=remedy
            )
            failure.kind = kind
            raise failure from error


class _Connection:
    """Translates the placeholder `?` of SQLite to `%s` of psycopg; no statement has either as a literal."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Any:
        return self._connection.execute(sql.replace("?", "%s").encode(), values)

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> Any:
        with self._connection.cursor() as cursor:
            cursor.executemany(sql.replace("?", "%s").encode(), list(rows))


def _ensure_schema(connection: psycopg.Connection[Any]) -> None:
    query = "SELECT count(*) FROM unnest(%s::text[]) AS name WHERE to_regclass(name) IS NOT NULL"
    row = connection.execute(query, (list(OWN_TABLES),)).fetchone()
    if row == (len(OWN_TABLES),) and _has_types(connection):
        return
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_SCHEMA_LOCK,))
        for statement in SCHEMA:
            connection.execute(statement.encode())
        if not _has_types(connection):  # a catalog that was created with schema version V0
            connection.execute("ALTER TABLE iceberg_tables ADD COLUMN iceberg_type VARCHAR(5)")
        identity = "INSERT INTO tidegate_lake VALUES ('id', %s) ON CONFLICT DO NOTHING"
        connection.execute(identity, (str(uuid.uuid4()),))


def _has_types(connection: psycopg.Connection[Any]) -> bool:
    result = connection.execute(
        "SELECT 1 FROM pg_catalog.pg_attribute WHERE attrelid = to_regclass('iceberg_tables')"
        " AND attname = 'iceberg_type' AND NOT attisdropped"
    )
    return result.fetchone() is not None


def _close(connections: list[psycopg.Connection[Any]], owner: int) -> None:
    while connections and owner == os.getpid():
        with suppress(Exception):
            connections.pop().close()


_OF_DRIVER = ("sslcert", "sslkey", "sslmode", "sslrootcert")
"""Parameters that the JDBC driver knows by the same name as libpq."""

_IDLE_MS = 10_000
_ENDS_IDLE_SESSIONS = 140_000
"""The first version of PostgreSQL that can."""


class JdbcCatalog(RelationalCatalog):
    _alone = True

    def __init__(
        self, url: DatabaseUrl, warehouse: Path, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._url = url
        self._server = PostgresDatabase(url)
        super().__init__(self._server, warehouse, clock)

    def _jdbc(self) -> Mapping[str, str]:
        # The JDBC driver has other defaults than libpq: Spark would write as another user than the one that publishes.
        session, parameters = self._server.session(), self._url.parameters
        shared = {key: value for key, value in parameters.items() if key in _OF_DRIVER}
        options = [parameters["options"]] if "options" in parameters else []
        if session.version >= _ENDS_IDLE_SESSIONS:
            # Each model's catalog has a connection, which Spark never closes: the server ends it.
            options.append(f"-c idle_session_timeout={_IDLE_MS}")
        return {
            "uri": f"jdbc:{self._url.address}?{urlencode({'ApplicationName': 'tidegate', **shared})}",
            "jdbc.user": session.user,
            **({"jdbc.password": session.password.reveal()} if session.password else {}),
            **({"jdbc.options": " ".join(options)} if options else {}),
            "jdbc.tcpKeepAlive": "true",
            "jdbc.init-catalog-tables": "false",
            # A session that was ended while it was idle is opened again: it had not started its next statement.
            "retryable_status_codes": "57P01,57P05",
        }
