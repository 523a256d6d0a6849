"""Databases that Spark reads through a JDBC driver. Their tables are read by contracts, and are not listed."""

from __future__ import annotations

import re
import socket
from urllib.parse import urlencode

from tidegate.config import DatabaseSource, JdbcSource, Secret
from tidegate.errors import FailureKind, SourceError
from tidegate.sources.database_source import DatabaseDiscoverer
from tidegate.sources.discoverer import PING_SECONDS, Ping, SourceTable
from tidegate.sources.source_errors import ping_source

__all__ = ["JdbcDiscoverer", "jdbc_options"]

_SERVER = re.compile(r"jdbc:(?P<kind>\w+):(?:\w+:)*//(?P<host>\[[^\]]+\]|[^:;/?\\,]+)(?::(?P<port>\d+))?(?=[;/?]|$)")
_PORTS = {"sqlserver": 1433, "mysql": 3306, "mariadb": 3306, "db2": 50000, "postgresql": 5432}


def jdbc_options(source: DatabaseSource | JdbcSource) -> dict[str, str]:
    """What Spark needs to connect; the password is among it."""
    if isinstance(source, JdbcSource):
        return _options(source.url, source.driver, source.user, source.password)
    parameters = f"?{urlencode(source.parameters)}" if source.parameters else ""
    user, password = source.user, source.password
    if user is None or password is None:
        # The JDBC driver has other defaults than libpq, and Spark would read as another user than discovery.
        user, password = DatabaseDiscoverer(source).credentials()
    url = f"jdbc:{source.address}{parameters}"
    return _options(url, "org.postgresql.Driver", user, password)


def _options(url: str, driver: str, user: str | None, password: Secret | None) -> dict[str, str]:
    secret = None if password is None else password.reveal()
    options = {"url": url, "driver": driver, "user": user, "password": secret}
    return {key: value for key, value in options.items() if value is not None}


class JdbcDiscoverer:
    def __init__(self, source: JdbcSource) -> None:
        self._source = source

    def discover(self) -> tuple[SourceTable, ...]:
        return ()

    def ping(self) -> Ping:
        return ping_source(self._source, self._answer)

    def _answer(self) -> str:
        """Whether a server listens at the address. Its driver runs in Spark, so the password is not tried."""
        server = _SERVER.match(self._source.url)
        port = server and (server["port"] or _PORTS.get(server["kind"]))
        if not server or not port:
            return "not tried: only a run connects to it"
        host, seconds = server["host"].strip("[]"), min(self._source.timeout.total_seconds(), PING_SECONDS)
        try:
            socket.create_connection((host, int(port)), timeout=seconds).close()
        except OSError as error:
            raise SourceError(
                f"no server answers at {host}:{port}: {error.strerror or error}",
                source=self._source.name,
                kind=FailureKind.TIMEOUT if isinstance(error, TimeoutError) else FailureKind.CONNECTION_FAILED,
                remedy="check host and port in 'url', that the server runs, and that this machine may reach it",
            ) from error
        return f"a server listens at {host}:{port}"
