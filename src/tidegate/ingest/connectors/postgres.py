"""Tables of PostgreSQL."""

from __future__ import annotations

from tidegate.ingest.connectors.sql_table import SqlTableConnector
from tidegate.ingest.sql_dialects import POSTGRES

__all__ = ["PostgresConnector"]


class PostgresConnector(SqlTableConnector):
    dialect = POSTGRES
