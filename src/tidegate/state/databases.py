"""Opening the state database: it is created if it is missing, and its tables are migrated."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import StaticPool

from tidegate.errors import StateError
from tidegate.jsontext import json_text
from tidegate.state.database_errors import errors_as_state_error
from tidegate.state.migrations import current_version, latest_version, migrate
from tidegate.state.reader import StateReader
from tidegate.state.store import StateStore

__all__ = ["BUSY_SECONDS", "open_reader", "open_state"]

BUSY_SECONDS = 30
_CONNECT_SECONDS = 10
_WRITERS_LOCK = 8_386_095_523_405_948_265
"""The key of this lock among PostgreSQL's advisory locks."""

_EXAMPLES = "Write it as sqlite:///path/to/state.db or postgresql://host:5432/name."


def open_state(url: str) -> StateStore:
    """For writing. A SQLite file and its folder are created if necessary; a database on PostgreSQL must exist."""
    where, engine = _engine(_parse(url))
    try:
        _migrate_to_latest(engine, where)
    except BaseException:
        engine.dispose()
        raise
    return StateStore(engine, where)


def open_reader(url: str) -> StateReader:
    """For reading. A database that does not exist yet reads as one without runs, and is not created."""
    parsed = _parse(url)
    path = _path(parsed)
    if path is not None and not path.exists():
        parsed = make_url("sqlite://")
    where, engine = _engine(parsed)
    try:
        with errors_as_state_error(where), engine.connect() as connection:
            connection.execution_options(tidegate_reading=True)
            version = current_version(connection)
        if version == 0 and path is None:
            engine.dispose()
            engine = _engine(make_url("sqlite://"))[1]
        if version != latest_version():
            _migrate_to_latest(engine, where)
    except BaseException:
        engine.dispose()
        raise
    return StateReader(engine, where)


def _parse(url: str) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise StateError("This is not a database URL", where="[state] url", remedy=_EXAMPLES) from error
    kind = parsed.get_backend_name()
    if kind not in ("sqlite", "postgresql"):
        raise StateError(f"The state database cannot be {kind}", where="[state] url", remedy=_EXAMPLES)
    return parsed.set(drivername="postgresql+psycopg") if kind == "postgresql" else parsed


def _path(url: URL) -> Path | None:
    """The file of a SQLite database; None for others."""
    if url.get_backend_name() != "sqlite" or url.database in (None, "", ":memory:"):
        return None
    return Path(str(url.database))


def _engine(url: URL) -> tuple[str, Engine]:
    return _postgres(url) if url.get_backend_name() == "postgresql" else _sqlite(url)


def _postgres(url: URL) -> tuple[str, Engine]:
    where = f"postgresql://{url.host}:{url.port or 5432}/{url.database}"
    engine = create_engine(
        url,
        json_serializer=json_text,
        pool_pre_ping=True,  # the server may have been restarted since
        connect_args={"connect_timeout": _CONNECT_SECONDS, "application_name": "tidegate"},
    )
    event.listen(engine, "begin", _on_begin_postgres)
    event.listen(engine, "before_cursor_execute", _without_nul, retval=True)
    return where, engine


def _on_begin_postgres(connection: Connection) -> None:
    """One writer at a time, as on SQLite: each transaction sees all that was written before it."""
    if not connection.get_execution_options().get("tidegate_reading", False):
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{BUSY_SECONDS}s'")
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_WRITERS_LOCK})")


def _without_nul(
    _connection: Connection, _cursor: object, statement: str, values: Any, _context: object, many: bool
) -> tuple[str, Any]:
    """A message may quote any character of the data, and PostgreSQL's texts hold all but one."""
    return statement, [_replace_nul(row) for row in values] if many else _replace_nul(values)


def _replace_nul(row: Any) -> Any:
    if not isinstance(row, dict):
        return row
    return {key: value.replace("\0", "\ufffd") if isinstance(value, str) else value for key, value in row.items()}


def _sqlite(url: URL) -> tuple[str, Engine]:
    path = _path(url)
    where = str(path) if path else "memory"
    options: dict[str, Any] = {"poolclass": StaticPool} if path is None else {}
    engine = create_engine(
        url,
        json_serializer=json_text,
        connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False},
        **options,
    )
    event.listen(engine, "connect", _on_connect)
    event.listen(engine, "begin", _on_begin)
    return where, engine


def _on_connect(connection: sqlite3.Connection, _record: object) -> None:
    # Python's own transaction handling begins late and deferred: two writers could then deadlock. We begin ourselves.
    connection.isolation_level = None
    # In WAL this can lose the last commits when the power fails, never break the file; a commit costs no fsync.
    connection.execute("PRAGMA synchronous=NORMAL")


def _on_begin(connection: Connection) -> None:
    reading = connection.get_execution_options().get("tidegate_reading", False)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")


def _migrate_to_latest(engine: Engine, where: str) -> None:
    path = _path(engine.url)
    if path is not None:
        _make_folder(path.parent)
    with errors_as_state_error(where):
        if path is not None:
            _switch_to_wal(path)
        with engine.begin() as connection:
            migrate(connection, where)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StateError(
            f"The folder of the state database cannot be made: {error.strerror}",
            where=str(folder),
            remedy="Make its parent writable for this user, or name another place under [state] url in tidegate.toml.",
        ) from error


def _switch_to_wal(path: Path) -> None:
    """The switch needs exclusive access and may fail at once: where two processes open a new file, one tries again."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            with closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as connection:
                connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
