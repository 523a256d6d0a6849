"""Errors of the state database as messages with a remedy."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import SQLAlchemyError

from tidegate.errors import StateError

__all__ = ["errors_as_state_error", "is_restarting"]

_ELSEWHERE = "or name another place under [state] url in tidegate.toml."
_MOVE_AWAY = "Move the file away: it holds the history of runs, no data, and the next run starts a new one."
_CAUSES = (
    ("unable to open", "The state database cannot be opened", f"Make its folder writable for this user, {_ELSEWHERE}"),
    ("readonly", "The state database cannot be written", f"Make the file and its folder writable, {_ELSEWHERE}"),
    ("is full", "The disk that holds the state database is full", f"Free some space and run again, {_ELSEWHERE}"),
    (
        "disk i/o error",
        "The state database cannot be read or written",
        f"Check the disk, {_ELSEWHERE}",
    ),
    ("not a database", "The state file is not a database", _MOVE_AWAY),
    ("malformed", "The state database is damaged", _MOVE_AWAY),
    ("no such table", "The state database lacks a table", _MOVE_AWAY),
    ("is locked", "Another process held the state database for too long", "See who has the file open, and run again."),
    ("lock timeout", "Another process held the state database for too long", "See whether a run hangs, and run again."),
    ("authentication failed", "The state database refused", f"Correct user and password, {_ELSEWHERE}"),
    ("no password supplied", "The state database refused", f"Give a password, {_ELSEWHERE}"),
    ("permission denied", "The state database refused", f"Grant this user the right to make tables, {_ELSEWHERE}"),
    ("does not exist", "The state database is not there", f"Create the database, {_ELSEWHERE}"),
    ("connection refused", "The state database cannot be reached", f"See whether the server runs, {_ELSEWHERE}"),
    ("timeout expired", "The state database cannot be reached", f"See whether the server runs, {_ELSEWHERE}"),
    ("failed to resolve host", "The state database cannot be reached", f"Correct the host, {_ELSEWHERE}"),
    ("server closed", "The state database was shut down", "Start it again, and run again."),
    ("terminating connection", "The state database was shut down", "Start it again, and run again."),
    ("starting up", "The state database is being started", "Run again once it is up."),
    ("shutting down", "The state database was shut down", "Start it again, and run again."),
)
_RESTARTING = ("connection refused", "server closed", "terminating connection", "starting up", "shutting down")


def is_restarting(error: Exception) -> bool:
    """Whether a server that is being restarted gives this error."""
    raw = str(getattr(error, "orig", None) or error).lower()
    return any(sign in raw for sign in _RESTARTING)


@contextmanager
def errors_as_state_error(where: str) -> Iterator[None]:
    """Database errors of the block become StateError."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error) as error:
        raw = str(getattr(error, "orig", None) or error)
        first = raw.strip().partition("\n")[0]  # what follows is advice for other users
        for sign, message, remedy in _CAUSES:
            if sign in raw.lower():
                raise StateError(f"{message}: {first}", where=where, remedy=remedy) from error
        raise StateError(
            f"The state database refused: {first}", where=where, remedy="Run `tidegate doctor`."
        ) from error
