"""Tables of SQL Server."""

from __future__ import annotations

from tidegate.ingest.connectors.sql_table import SqlTableConnector
from tidegate.ingest.sql_dialects import TRANSACT_SQL

__all__ = ["SqlServerConnector"]


class SqlServerConnector(SqlTableConnector):
    dialect = TRANSACT_SQL
