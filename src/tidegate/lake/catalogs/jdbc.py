"""Iceberg's JDBC catalog on PostgreSQL: the embedded catalog's behaviour for a lake that many machines write."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlencode

from tidegate.config import DatabaseUrl
from tidegate.lake.catalogs.postgres_database import PostgresDatabase
from tidegate.lake.catalogs.relational import RelationalCatalog

__all__ = ["JdbcCatalog"]

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
        # The driver would look elsewhere than libpq for what is left open, and write as someone else than publishes.
        session, parameters = self._server.session(), self._url.parameters
        shared = {key: value for key, value in parameters.items() if key in _OF_DRIVER}
        options = [parameters["options"]] if "options" in parameters else []
        if session.version >= _ENDS_IDLE_SESSIONS:
            # Each model's catalog has a connection, and Spark closes no catalog: the server does.
            options.append(f"-c idle_session_timeout={_IDLE_MS}")
        return {
            "uri": f"jdbc:{self._url.address}?{urlencode({'ApplicationName': 'tidegate', **shared})}",
            "jdbc.user": session.user,
            **({"jdbc.password": session.password.reveal()} if session.password else {}),
            **({"jdbc.options": " ".join(options)} if options else {}),
            "jdbc.tcpKeepAlive": "true",
            "jdbc.init-catalog-tables": "false",
            # A session that was ended while it was idle is opened again; what it was about to do, it had not begun.
            "retryable_status_codes": "57P01,57P05",
        }
