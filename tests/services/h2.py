"""H2 on loopback, which answers as a SQL Server would; `python -m tests.services.h2` fetches its jar.

Change data capture is a schema of our own in it: tables that look like SQL Server's, and functions over them.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import create_connection
from typing import TYPE_CHECKING, Any

from tests.services.jars import fetched
from tests.services.ports import free_port
from tidegate.spark.java import find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_JAR = (
    "com/h2database/h2/2.3.232/h2-2.3.232.jar",
    "8dae62d22db8982c3dcb3826edb9c727c5d302063a67eef7d63d82de401f07d3",
    2651157,
)
_MODE = "MODE=MSSQLServer;DATABASE_TO_UPPER=FALSE;CASE_INSENSITIVE_IDENTIFIERS=TRUE;DB_CLOSE_DELAY=-1"
_START_SECONDS = 60
PASSWORD = "h2-hunter22"


def h2_jar() -> Path:
    return fetched(*_JAR)


@dataclass(frozen=True)
class H2Database:
    """`session`: its JVM has H2's driver, through which statements go."""

    url: str
    session: SparkSession

    def execute(self, *statements: str) -> None:
        connection = self.session._jvm.java.sql.DriverManager.getConnection(self.url, "sa", PASSWORD)
        try:
            for statement in statements:
                running = connection.createStatement()
                running.execute(statement)
                running.close()
        finally:
            connection.close()


@dataclass(frozen=True)
class H2Server:
    port: int

    def database(self, name: str, session: SparkSession) -> H2Database:
        """It is in memory, and there as long as the server."""
        database = H2Database(f"jdbc:h2:tcp://127.0.0.1:{self.port}/mem:{name};{_MODE}", session)
        database.execute("CREATE SCHEMA dbo", "CREATE SCHEMA sys", "CREATE SCHEMA cdc")
        return database


@contextmanager
def running_h2() -> Iterator[H2Server]:
    port, java = free_port(), shutil.which("java") if shutil.which("javac") else None
    command = [java or str(find_java().home / "bin" / "java"), "-Xmx256m", "-cp", str(h2_jar()), "org.h2.tools.Server"]
    with tempfile.TemporaryDirectory(prefix="tidegate-h2-") as folder, tempfile.TemporaryFile() as log:
        options = ["-tcp", "-tcpPort", str(port), "-ifNotExists", "-baseDir", folder]
        process = subprocess.Popen(
            [*command[:1], "-Dh2.bindAddress=127.0.0.1", *command[1:], *options], stdout=log, stderr=log
        )
        try:
            _wait_for(port, process, log)
            yield H2Server(port)
        finally:
            process.kill()
            process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Any) -> None:
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    log.seek(0)
    raise RuntimeError(f"H2 did not start: {log.read().decode(errors='replace')[-2000:]}")


CAPTURED = (
    """
    CREATE TABLE cdc.lsn_time_mapping (
        start_lsn VARBINARY(10) PRIMARY KEY, tran_begin_time DATETIME2, tran_end_time DATETIME2(7),
        tran_id VARBINARY(10)
    )
    """,
    "CREATE TABLE cdc.change_tables (capture_instance NVARCHAR(100), start_lsn VARBINARY(10))",
    """
    CREATE ALIAS sys.fn_cdc_get_min_lsn AS $$
    byte[] oldest(java.sql.Connection c, String instance) throws Exception {
        var s = c.prepareStatement("SELECT start_lsn FROM cdc.change_tables WHERE capture_instance = ?");
        s.setString(1, instance);
        var r = s.executeQuery();
        return r.next() ? r.getBytes(1) : new byte[10];
    } $$
    """,
    """
    CREATE ALIAS sys.fn_cdc_get_max_lsn AS $$
    byte[] newest(java.sql.Connection c) throws Exception {
        var r = c.createStatement().executeQuery("SELECT MAX(start_lsn) FROM cdc.lsn_time_mapping");
        r.next();
        return r.getBytes(1);
    } $$
    """,
    """
    CREATE ALIAS sys.fn_cdc_map_time_to_lsn AS $$
    byte[] map(java.sql.Connection c, String operator, java.sql.Timestamp time) throws Exception {
        String query = switch (operator) {
            case "smallest greater than" -> "SELECT MIN(start_lsn) FROM cdc.lsn_time_mapping WHERE tran_end_time > ?";
            case "largest less than or equal" ->
                "SELECT MAX(start_lsn) FROM cdc.lsn_time_mapping WHERE tran_end_time <= ?";
            default -> throw new IllegalArgumentException(operator);
        };
        var s = c.prepareStatement(query);
        s.setTimestamp(1, time);
        var r = s.executeQuery();
        r.next();
        return r.getBytes(1);
    } $$
    """,
)


def capture(table: str, columns: str) -> tuple[str, ...]:
    """What enabling change data capture for a table of schema `dbo` makes; `columns` as in CREATE TABLE."""
    instance = f"dbo_{table}"
    return (
        f"""
        CREATE TABLE cdc.[{instance}_CT] ([__$start_lsn] VARBINARY(10), [__$end_lsn] VARBINARY(10),
            [__$seqval] VARBINARY(10), [__$operation] INT, [__$update_mask] VARBINARY(128), {columns})
        """,
        f"INSERT INTO cdc.change_tables VALUES ('{instance}', 0x00000000000000000001)",
        f"""
        CREATE ALIAS cdc.fn_cdc_get_all_changes_{instance} AS $$
        java.sql.ResultSet changes(java.sql.Connection c, byte[] first, byte[] last, String option) throws Exception {{
            if (first != null) {{
                var r = c.createStatement().executeQuery(
                    "SELECT start_lsn FROM cdc.change_tables WHERE capture_instance = '{instance}'");
                r.next();
                if (java.util.Arrays.compareUnsigned(first, r.getBytes(1)) < 0 || !option.equals("all"))
                    throw new java.sql.SQLException("An insufficient number of arguments were supplied", "S0001", 313);
            }}
            var s = c.prepareStatement("SELECT * FROM cdc.[{instance}_CT] WHERE [__$start_lsn] >= ? "
                + "AND [__$start_lsn] <= ? AND [__$operation] <> 3");
            s.setBytes(1, first);
            s.setBytes(2, last);
            return s.executeQuery();
        }} $$
        """,
    )


if __name__ == "__main__":
    h2_jar()
