"""`[sources.<name>]` of kinds `sqlserver` and `jdbc`: databases that contracts read through a JDBC driver."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

from tidegate.config.credential_keys import read_secret
from tidegate.config.section_reader import Section, dotted
from tidegate.redaction import Secret

__all__ = ["JdbcSource", "SqlServerSource", "read_jdbc_source"]

_TIMEOUT = timedelta(seconds=30)
_SQL_SERVER = "jdbc:sqlserver:"
_DRIVERS = {
    "jdbc:db2:": "com.ibm.db2.jcc.DB2Driver",
    "jdbc:h2:": "org.h2.Driver",
    "jdbc:mariadb:": "org.mariadb.jdbc.Driver",
    "jdbc:mysql:": "com.mysql.cj.jdbc.Driver",
    "jdbc:oracle:": "oracle.jdbc.OracleDriver",
    "jdbc:postgresql:": "org.postgresql.Driver",
    "jdbc:sqlite:": "org.sqlite.JDBC",
    _SQL_SERVER: "com.microsoft.sqlserver.jdbc.SQLServerDriver",
}
_CREDENTIALS = re.compile(r"[?&;]\s*(user|username|user name|uid|password|pwd)\s*=|//[^/?;]*@", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class JdbcSource:
    """`url` holds neither user nor password."""

    kind: ClassVar[str] = "jdbc"
    name: str
    url: str
    driver: str
    """The class of the driver."""

    user: str | None = None
    password: Secret | None = None
    timeout: timedelta = _TIMEOUT
    """Of the query for the columns of a table, and of a ping."""


@dataclass(frozen=True, slots=True)
class SqlServerSource(JdbcSource):
    kind: ClassVar[str] = "sqlserver"


def read_jdbc_source(
    section: Section, name: str, written: Mapping[str, Any], source: type[JdbcSource]
) -> JdbcSource | None:
    is_sql_server = source is SqlServerSource
    example = f"{_SQL_SERVER}//host:1433;databaseName=shop" if is_sql_server else "jdbc:mysql://host:3306/shop"
    where = f"in [{dotted(section.path)}]"
    if "url" not in section.table:
        section.report("url", f"[{dotted(section.path)}] needs 'url': the database, as in {example}")
    url = section.text("url", "")
    if url and not url.lower().startswith("jdbc:"):
        section.report("url", f"'url' {where} must begin with jdbc:, as in {example}")
    if _CREDENTIALS.search(url):
        section.report("url", f"'url' {where} must hold neither user nor password: use the keys 'user' and 'password'")
    known_driver = next((driver for prefix, driver in _DRIVERS.items() if url.lower().startswith(prefix)), None)
    driver = section.text("driver", known_driver or (_DRIVERS[_SQL_SERVER] if is_sql_server else ""))
    if url and not driver:
        section.report("driver", f"[{dotted(section.path)}] needs 'driver': the class of the JDBC driver")
    user, password = section.text("user", None), read_secret(section, written, "password")
    timeout = section.duration("timeout", _TIMEOUT)
    if timeout < timedelta(seconds=1):
        section.report("timeout", f"'timeout' {where} must be 1s or more")
    section.finish()
    return source(name, url, driver, user, password, timeout) if url and driver else None
