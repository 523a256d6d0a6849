"""How Spark reads the tables of sources: catalogs beside the lake's own, each under its source's name.

Another Iceberg catalog is pinned: its pointers, as they are in one moment, are copied to a file of the run's own, so
that all models of a run read one state of it and nobody else's catalog is ever opened by Spark.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

from tidegate.config import CatalogSource, DatabaseSource, Settings
from tidegate.lake.database import CatalogDatabase
from tidegate.lake.port import Pointer
from tidegate.names import TableName
from tidegate.sources.catalog import CatalogDiscoverer
from tidegate.sources.sqlite_catalog import SqliteCatalog

__all__ = ["is_outside", "needs_driver", "readable"]


def is_outside(settings: Settings, table: TableName) -> bool:
    """Whether Spark reads the table through a catalog of its source; a table named by hand is the lake's."""
    return isinstance(settings.sources.get(table.namespace), CatalogSource | DatabaseSource)


def needs_driver(settings: Settings, names: Collection[str]) -> bool:
    return any(isinstance(settings.sources.get(name), DatabaseSource) for name in names)


@contextmanager
def readable(settings: Settings, names: Collection[str]) -> Iterator[Mapping[str, str]]:
    """Session settings that make the named sources known to Spark, good until the end of the block."""
    conf: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="tidegate-sources-") as folder:
        for name in sorted(names):
            source = settings.sources.get(name)
            if isinstance(source, CatalogSource):
                conf |= _catalog(source, Path(folder) / f"{name}.db")
            elif isinstance(source, DatabaseSource):
                conf |= _database(source)
        yield conf


def _catalog(source: CatalogSource, file: Path) -> dict[str, str]:
    _pin(source.name, CatalogDiscoverer(source, SqliteCatalog(source)).pointers(), file)
    prefix = f"spark.sql.catalog.{source.name}"
    return {
        prefix: "org.apache.iceberg.spark.SparkCatalog",
        f"{prefix}.catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
        f"{prefix}.uri": f"jdbc:sqlite:{file}",
        f"{prefix}.jdbc.schema-version": "V1",
        f"{prefix}.warehouse": f"file:{source.warehouse}",
        f"{prefix}.cache-enabled": "false",
    }


def _pin(catalog: str, pointers: Mapping[TableName, Pointer], file: Path) -> None:
    with CatalogDatabase(file).write() as db:
        for table, pointer in pointers.items():
            row = (catalog, table.layer, table.name, pointer.location, pointer.kind)
            db.execute("INSERT INTO iceberg_tables VALUES (?, ?, ?, ?, NULL, ?)", row)


def _database(source: DatabaseSource) -> dict[str, str]:
    prefix = f"spark.sql.catalog.{source.name}"
    parameters = f"?{urlencode(source.parameters)}" if source.parameters else ""
    conf = {
        prefix: "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
        f"{prefix}.url": f"jdbc:{source.address}{parameters}",
        f"{prefix}.driver": "org.postgresql.Driver",
    }
    if source.user is not None:
        conf[f"{prefix}.user"] = source.user
    if source.password is not None:
        conf[f"{prefix}.password"] = source.password.reveal()
    return conf
