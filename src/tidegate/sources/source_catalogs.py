"""How Spark reads the tables of sources: catalogs beside the lake's own, each under its source's name.

Another Iceberg catalog is pinned: its pointers, as they are in one moment, are copied to a file of the run's own, so
that all models of a run read one state of it and Spark never opens the catalog itself.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tidegate.config import CatalogSource, DatabaseSource, Settings
from tidegate.errors import FailureKind, SourceError
from tidegate.lake.branch_catalog import Pointer
from tidegate.lake.catalogs.embedded import CatalogDatabase
from tidegate.names import TableName
from tidegate.sources.catalog_source import CatalogDiscoverer, SqliteCatalog
from tidegate.sources.jdbc_source import jdbc_options
from tidegate.sources.source_errors import as_source_error

__all__ = [
    "has_own_catalog",
    "has_source_catalog",
    "missing_table",
    "must_be_in_lake",
    "readable",
    "services_behind",
]


def has_source_catalog(settings: Settings, table: TableName) -> bool:
    """Whether Spark reads the table through a catalog of its source; a table named by hand is the lake's."""
    return isinstance(settings.sources.get(table.namespace), CatalogSource | DatabaseSource)


def has_own_catalog(settings: Settings, source: str) -> bool:
    """Whether [spark.conf] of the project defines a catalog for the source."""
    return f"spark.sql.catalog.{source}" in settings.spark.conf


def must_be_in_lake(settings: Settings, table: TableName) -> bool:
    """Whether it is a table of a source that Spark can read only if the lake has it."""
    name = table.namespace
    return name in settings.sources and not has_source_catalog(settings, table) and not has_own_catalog(settings, name)


def services_behind(settings: Settings, tables: Iterable[TableName]) -> frozenset[str]:
    """The sources that Spark calls to read these tables. Those of the lake, and those of another Iceberg catalog, which
    is pinned, are files."""
    sources = settings.sources.keys() & {table.namespace for table in tables}
    return frozenset(
        name
        for name in sources
        if isinstance(settings.sources[name], DatabaseSource) or has_own_catalog(settings, name)
    )


def missing_table(settings: Settings, table: TableName) -> SourceError:
    """For a table of a manual or Fivetran source that Spark cannot read."""
    name = table.namespace
    return SourceError(
        f"source '{name}': the table {table} is not in the lake",
        source=name,
        kind=FailureKind.NOT_FOUND,
        where=f"[sources.{name}]",
        remedy=(
            f"sources of kind {settings.sources[name].kind} only list tables: write the table to the "
            f'lake under that name, or define its catalog with "spark.sql.catalog.{name}" in [spark.conf]'
        ),
    )


@contextmanager
def readable(settings: Settings, names: Collection[str]) -> Iterator[Mapping[str, str]]:
    """Session settings that make the named sources known to Spark, good until the end of the block."""
    conf: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="tidegate-sources-") as folder:
        for name in sorted(settings.sources.keys() & set(names)):
            source = settings.sources[name]
            try:
                if isinstance(source, CatalogSource):
                    conf |= _catalog(source, Path(folder) / f"{name}.db")
                elif isinstance(source, DatabaseSource):
                    conf |= _database(source)
            except SourceError as error:
                failure = as_source_error(error, source)
                raise failure from failure.__cause__
        yield conf


def _catalog(source: CatalogSource, file: Path) -> dict[str, str]:
    _pin(source.name, CatalogDiscoverer(source, SqliteCatalog(source)).all_pointers(), file)
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
    options = {f"{prefix}.{key}": value for key, value in jdbc_options(source).items()}
    return {prefix: "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog", **options}
