"""A PostgreSQL database: the tables that the user may read, from its own catalog, without a JVM.

information_schema would not do: it has no materialized views, and of an array neither dimensions nor precision.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import groupby
from typing import TYPE_CHECKING, Any

from tidegate.config import DatabaseSource, Secret
from tidegate.datatypes import (
    ANY,
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    Column,
    DataType,
    Relation,
    array,
    decimal,
)
from tidegate.errors import FailureKind, SourceError
from tidegate.names import TableName, nearest
from tidegate.sources.discoverer import PING_SECONDS, Ping, SourceTable, timeout_remedy
from tidegate.sources.source_errors import ping_source

if TYPE_CHECKING:
    import psycopg

__all__ = ["DatabaseDiscoverer", "TimeLimit", "spark_type_of_postgres"]

_MAX_DIGITS = 38
_SYSTEM_DEFAULT = decimal(_MAX_DIGITS, 18)
_NAMES = {
    "bool": BOOLEAN,
    "bytea": BINARY,
    "date": DATE,
    "float4": FLOAT,
    "float8": DOUBLE,
    "int2": SMALLINT,
    "int4": INT,
    "int8": BIGINT,
    "time": TIMESTAMP,
    "timestamp": TIMESTAMP,
    "timestamptz": TIMESTAMP,
    "timetz": TIMESTAMP,
}


def spark_type_of_postgres(name: str, modifier: int, dimensions: int | None = None) -> DataType:
    """`name` and `modifier` as in pg_type and pg_attribute, of the element where it is an array.

    `dimensions`: None where it is no array. Whatever has no type of its own (json, uuid, enums, ranges…) is a string.
    """
    if dimensions is None:
        return _scalar(name, modifier)
    kind = _element(name, modifier)
    if kind is ANY:
        return ANY
    for _ in range(max(1, dimensions)):
        kind = array(kind)
    return kind


def _scalar(name: str, modifier: int) -> DataType:
    if name == "numeric":
        return _numeric(modifier)
    if name == "oid":
        return decimal(20, 0)
    return _bits(modifier) if name == "bit" else _NAMES.get(name, STRING)


def _element(name: str, modifier: int) -> DataType:
    if name == "numeric":
        precision, scale = _digits(modifier)
        if scale < 0:
            return ANY
        return decimal(min(precision, _MAX_DIGITS), min(scale, _MAX_DIGITS)) if precision else _SYSTEM_DEFAULT
    if name == "oid":
        return BIGINT
    if name == "money":
        return ANY  # Spark refuses to read it.
    return _bits(modifier) if name == "bit" else _NAMES.get(name, STRING)


def _numeric(modifier: int) -> DataType:
    precision, scale = _digits(modifier)
    if scale < 0:
        return ANY  # The driver reads it as a positive scale, so the result is undefined.
    if not precision:
        return _SYSTEM_DEFAULT
    precision = max(precision, scale)
    too_many = max(0, precision - _MAX_DIGITS)
    return decimal(precision - too_many, max(0, scale - too_many))


def _digits(modifier: int) -> tuple[int, int]:
    """Precision and scale; 0 and 0 where none is declared."""
    if modifier < 4:
        return 0, 0
    packed = modifier - 4
    return (packed >> 16) & 0xFFFF, ((packed & 0x7FF) ^ 1024) - 1024


def _bits(modifier: int) -> DataType:
    return BOOLEAN if modifier == 1 else BINARY


class TimeLimit:
    """Ends a connection after so many seconds: a server that hangs does not enforce its own limits.

    `over`: this limit ended the connection.
    """

    def __init__(self, seconds: float) -> None:
        self.over = False
        self._seconds = seconds

    @contextmanager
    def on(self, descriptor: int) -> Iterator[None]:
        """The descriptor is of an open socket. Its number may be used for another one later, so a copy is held."""
        with socket.socket(fileno=os.dup(descriptor)) as line:
            timer = threading.Timer(self._seconds, self._end, (line,))
            timer.daemon = True
            timer.start()
            try:
                yield
            finally:
                timer.cancel()
                timer.join()

    def _end(self, line: socket.socket) -> None:
        self.over = True
        with suppress(OSError):
            line.shutdown(socket.SHUT_RDWR)


_SHOWN = 5
_MAX_CONNECT_SECONDS = 10
_SCHEMAS = """
SELECT nspname FROM pg_catalog.pg_namespace
WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' AND has_schema_privilege(oid, 'USAGE')
ORDER BY nspname
"""
# Drivers receive the base type of a domain, so that is what Spark reads.
_COLUMNS = """
WITH RECURSIVE domains(domain, type, modifier, required) AS (
  SELECT oid, typbasetype, typtypmod, typnotnull FROM pg_catalog.pg_type WHERE typtype = 'd'
  UNION ALL
  SELECT d.domain, t.typbasetype, CASE WHEN d.modifier = -1 THEN t.typtypmod ELSE d.modifier END,
         d.required OR t.typnotnull
  FROM domains d JOIN pg_catalog.pg_type t ON t.oid = d.type AND t.typtype = 'd'
)
SELECT n.nspname, c.relname, a.attname,
       CASE WHEN coalesce(e.typnamespace, t.typnamespace) = 'pg_catalog'::regnamespace
            THEN coalesce(e.typname, t.typname) ELSE '' END,
       CASE WHEN d.domain IS NULL THEN a.atttypmod ELSE d.modifier END,
       CASE WHEN e.oid IS NOT NULL THEN a.attndims::int END,
       NOT (a.attnotnull OR coalesce(d.required, false))
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN (SELECT d.* FROM domains d JOIN pg_catalog.pg_type b ON b.oid = d.type AND b.typtype <> 'd') d
  ON d.domain = a.atttypid
JOIN pg_catalog.pg_type t ON t.oid = coalesce(d.type, a.atttypid)
LEFT JOIN pg_catalog.pg_type e ON e.oid = t.typelem AND t.typinput = 'pg_catalog.array_in'::regproc
WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND n.nspname = ANY(%s)
  AND has_column_privilege(c.oid, a.attnum, 'SELECT')
ORDER BY n.nspname, c.relname, a.attnum
"""

_CANCELED = "57014"
_ENCRYPTION = "correct 'sslmode' in 'url', or switch on encryption at the server"
_PERMISSION = "correct 'user' and 'password' of the source; the server's pg_hba.conf says who may connect"
_REFUSALS = (  # The first that is found counts: the words of the later ones are in messages of the earlier.
    ("does not support SSL", FailureKind.CONNECTION_FAILED, _ENCRYPTION),
    ("SSL error", FailureKind.CONNECTION_FAILED, _ENCRYPTION),
    ("sslmode", FailureKind.CONNECTION_FAILED, _ENCRYPTION),
    ("certificate", FailureKind.CONNECTION_FAILED, _ENCRYPTION),
    ("starting up", FailureKind.TRANSIENT, "try again in a moment"),
    ("shutting down", FailureKind.TRANSIENT, "try again in a moment"),
    ("too many", FailureKind.QUOTA_EXCEEDED, "try again later, or allow more connections at the server"),
    ("connection slots", FailureKind.QUOTA_EXCEEDED, "try again later, or allow more connections at the server"),
    ("authentication", FailureKind.AUTH_FAILED, _PERMISSION),
    ("no password supplied", FailureKind.AUTH_FAILED, _PERMISSION),
    ("pg_hba.conf", FailureKind.AUTH_FAILED, _PERMISSION),
    ("permission denied", FailureKind.AUTH_FAILED, _PERMISSION),
    ("role ", FailureKind.AUTH_FAILED, _PERMISSION),
    ("database ", FailureKind.NOT_FOUND, "correct the name of the database at the end of 'url'"),
)


class DatabaseDiscoverer:
    def __init__(self, source: DatabaseSource) -> None:
        self._source = source

    def discover(self) -> tuple[SourceTable, ...]:
        source = self._source
        with self._connection(source.timeout.total_seconds()) as connection:
            schemas = self._schemas([name for (name,) in connection.execute(_SCHEMAS)])
            rows = connection.execute(_COLUMNS, (schemas,)).fetchall()
        return tuple(
            SourceTable(TableName(source.name, schema, table), _relation(columns), source.name, source.kind)
            for (schema, table), columns in groupby(rows, key=lambda row: (row[0], row[1]))
        )

    def ping(self) -> Ping:
        return ping_source(self._source, self._answer)

    def credentials(self) -> tuple[str, Secret | None]:
        """The user and password of the connection; libpq takes what the settings leave open from its own variables."""
        with self._connection(min(self._source.timeout.total_seconds(), PING_SECONDS)) as connection:
            user, password = connection.info.user, connection.info.password
        return user, Secret(password) if password else None

    def _answer(self) -> str:
        with self._connection(min(self._source.timeout.total_seconds(), PING_SECONDS)) as connection:
            row = connection.execute("SELECT current_setting('server_version'), current_user").fetchone()
            self._schemas([name for (name,) in connection.execute(_SCHEMAS)])
        version, user = row or ("", "")
        return f"PostgreSQL {version} at {self._source.address} as {user}"

    def _schemas(self, schemas: list[str]) -> list[str]:
        missing = [schema for schema in self._source.schemas if schema not in schemas]
        if missing:
            hint = nearest(missing[0], schemas, 1)
            suggestion = f"did you mean '{hint[0]}'? " if hint else ""
            raise self._error(
                f"there is no schema '{missing[0]}', or this user may not use it",
                FailureKind.NOT_FOUND,
                f"{suggestion}correct 'schemas' or grant USAGE; this user sees {', '.join(schemas[:_SHOWN]) or 'none'}",
            )
        return list(self._source.schemas) or schemas

    @contextmanager
    def _connection(self, seconds: float) -> Iterator[psycopg.Connection[Any]]:
        """One read-only transaction, all of which must fit into so many seconds."""
        import psycopg

        source, limit = self._source, TimeLimit(seconds)
        arguments: dict[str, Any] = {
            "application_name": "tidegate",
            **source.parameters,
            "host": source.host,
            "port": source.port,
            "dbname": source.database,
            "user": source.user,
            "password": source.password.reveal() if source.password else None,
            "connect_timeout": max(2, min(round(seconds), _MAX_CONNECT_SECONDS)),
            "tcp_user_timeout": round(seconds * 1000),
        }
        try:
            with psycopg.connect(**arguments) as connection, limit.on(connection.fileno()):
                connection.read_only = True
                connection.execute("SELECT set_config('statement_timeout', %s, true)", (str(round(seconds * 1000)),))
                yield connection
        except psycopg.Error as error:
            raise (self._too_slow(seconds) if limit.over else self._meaning(error, seconds)) from error

    def _meaning(self, error: psycopg.Error, seconds: float) -> SourceError:
        """Where no session was established there is no SQLSTATE, only the server's message."""
        first = (str(error).strip().splitlines() or [""])[0]
        reason = first.rpartition(" failed: ")[2].removeprefix("FATAL:").strip()
        if error.sqlstate == _CANCELED or "timeout expired" in reason:
            return self._too_slow(seconds)
        if error.sqlstate is not None:
            return self._error(
                f"the database refused: {reason}", FailureKind.QUERY_REJECTED, "see the database's log for the reason"
            )
        for sign, kind, remedy in _REFUSALS:
            if sign in reason:
                return self._error(f"the database refused: {reason}", kind, remedy)
        return self._error(
            f"the database cannot be reached: {reason}",
            FailureKind.CONNECTION_FAILED,
            "check host and port in 'url', that the server runs, and that this machine may reach it",
        )

    def _too_slow(self, seconds: float) -> SourceError:
        return self._error(
            "the database did not answer in time",
            FailureKind.TIMEOUT,
            f"check that this machine may reach the host; {timeout_remedy(seconds, self._source.timeout)}",
        )

    def _error(self, message: str, kind: FailureKind, remedy: str) -> SourceError:
        where = f"{self._source.address} ([sources.{self._source.name}])"
        return SourceError(message, source=self._source.name, kind=kind, where=where, remedy=remedy)


def _relation(rows: Iterable[tuple[Any, ...]]) -> Relation:
    return Relation(
        tuple(
            Column(name, spark_type_of_postgres(kind, modifier, dimensions), nullable)
            for _schema, _table, name, kind, modifier, dimensions, nullable in rows
        )
    )
