"""Which class reads which kind of source. Classes are imported when they are used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from tidegate.contracts.connectors import own_connector_class

if TYPE_CHECKING:
    from tidegate.ingest.port import SourceConnector, SourceRequest

__all__ = ["CONNECTOR_CLASSES", "open_connector"]

CONNECTOR_CLASSES = {
    "rest": "tidegate.ingest.rest.rest_connector:RestConnector",
    "files": "tidegate.ingest.files_connector:FilesConnector",
    "sqlserver": "tidegate.ingest.sql.sql_table:SqlServerConnector",
    "sqlserver_cdc": "tidegate.ingest.sql.sqlserver_cdc:SqlServerCdcConnector",
    "postgres": "tidegate.ingest.sql.sql_table:PostgresConnector",
    "jdbc": "tidegate.ingest.sql.sql_table:JdbcConnector",
}
"""By the name that contracts give. Others come from the entry point group `tidegate.connectors`. A
kind of source that is not read (`Connector.reads_source`) has no class."""


def open_connector(request: SourceRequest) -> SourceConnector:
    name = request.ingestion.source.connector.name
    if name not in CONNECTOR_CLASSES:
        return cast("SourceConnector", own_connector_class(name)(request))
    module, _, attribute = CONNECTOR_CLASSES[name].partition(":")
    return cast("SourceConnector", getattr(import_module(module), attribute)(request))
