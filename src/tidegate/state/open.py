"""Open the state database: make it if it is not there, bring its tables up to date."""

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
from tidegate.state.failures import translated
from tidegate.state.migrations import current_version, latest_version, migrate
from tidegate.state.reader import StateReader
from tidegate.state.store import StateStore

__all__ = ["BUSY_SECONDS", "open_reader", "open_state"]

BUSY_SECONDS = 30


def open_state(url: str) -> StateStore:
    """For writing. `url` is `sqlite:///path`; the file and its folder are made if need be."""
    where, engine = _engine(_checked(url))
    try:
        _bring_up_to_date(engine, where)
    except BaseException:
        engine.dispose()
        raise
    return StateStore(engine, where)


def open_reader(url: str) -> StateReader:
    """For reading. A database that is not there yet reads as one without runs, and is not made."""
    parsed = _checked(url)
    path = _path(parsed)
    if path is not None and not path.exists():
        parsed = make_url("sqlite://")
    where, engine = _engine(parsed)
    try:
        with translated(where), engine.connect() as connection:
            connection.execution_options(tidegate_reading=True)
            behind = current_version(connection) != latest_version()
        if behind:
            _bring_up_to_date(engine, where)
    except BaseException:
        engine.dispose()
        raise
    return StateReader(engine, where)


def _checked(url: str) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise StateError(
            f"'{url}' is not a database URL", where="[state] url", remedy="Write it as sqlite:///path/to/state.db."
        ) from error
    if parsed.get_backend_name() != "sqlite":
        raise StateError(
            f"The state database cannot be {parsed.get_backend_name()}",
            where="[state] url",
            remedy="Write it as sqlite:///path/to/state.db.",
        )
    return parsed


def _path(url: URL) -> Path | None:
    return None if url.database in (None, "", ":memory:") else Path(str(url.database))


def _engine(url: URL) -> tuple[str, Engine]:
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


def _bring_up_to_date(engine: Engine, where: str) -> None:
    path = _path(engine.url)
    if path is not None:
        _make_folder(path.parent)
    with translated(where):
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
    """The switch needs the file alone and may refuse at once: where two processes open a new file, one tries again."""
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
