"""Tables of any database that has a JDBC driver."""

from __future__ import annotations

from tidegate.config import DatabaseSource
from tidegate.ingest.connectors.sql_table import SqlTableConnector
from tidegate.ingest.jdbc_reader import database_source
from tidegate.ingest.port import SourceRequest
from tidegate.ingest.sql_dialects import POSTGRES, TRANSACT_SQL, SqlDialect, generic_dialect

__all__ = ["JdbcConnector"]


class JdbcConnector(SqlTableConnector):
    def __init__(self, request: SourceRequest) -> None:
        super().__init__(request)
        rules = request.ingestion.source
        source = database_source(request.settings, rules.source, rules.connector.name)
        self.dialect = POSTGRES if isinstance(source, DatabaseSource) else _dialect_of(source.url)


def _dialect_of(url: str) -> SqlDialect:
    """Where the database has a dialect of its own, that is more exact."""
    if url.lower().startswith("jdbc:sqlserver:"):
        return TRANSACT_SQL
    return POSTGRES if url.lower().startswith("jdbc:postgresql:") else generic_dialect(url)
