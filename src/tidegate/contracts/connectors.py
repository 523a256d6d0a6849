"""The kinds of sources that a contract can name as its `connector`, and what each asks of the contract."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CONNECTORS", "READ_STRATEGIES", "Connector"]

READ_STRATEGIES = ("full_snapshot", "incremental")


@dataclass(frozen=True, slots=True)
class Connector:
    name: str
    needs: tuple[str, ...] = ()
    """Custom properties that a contract with it must have, besides those that every ingestion needs."""
    reads_sql: bool = False
    """It reads a table by queries: extraction mode, filtering and ordering columns have a meaning."""
    reads_log: bool = False
    """It reads a log of changes, which tells inserts, updates and deletes apart. It is never a full snapshot."""


CONNECTORS = {
    connector.name: connector
    for connector in (
        Connector("rest", needs=("endpoint", "content_path", "json_multiline")),
        Connector("sqlserver", needs=("sql_extraction_mode",), reads_sql=True),
        Connector("sqlserver_cdc", reads_log=True),
        Connector("postgres", needs=("sql_extraction_mode",), reads_sql=True),
        Connector("jdbc", needs=("sql_extraction_mode",), reads_sql=True),
        Connector("landing_push"),
        Connector("files", needs=("endpoint",)),
    )
}
