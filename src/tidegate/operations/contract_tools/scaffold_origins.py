"""What a contract can be scaffolded from: a file, a table of a source, a table of the lake."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tidegate.config import DatabaseSource, Settings, ZoneSettings
from tidegate.datatypes import Column
from tidegate.errors import SelectionError
from tidegate.lake.iceberg_types import relation_of
from tidegate.names import nearest
from tidegate.operations.contract_tools.file_columns import columns_of_file
from tidegate.operations.workspace import Workspace
from tidegate.sources import known_tables

__all__ = ["ScaffoldOrigin", "origin_of_file", "origin_of_table"]


@dataclass(frozen=True, slots=True)
class ScaffoldOrigin:
    title: str
    """For people."""

    name: str
    """Of the table that the contract is to have, as the origin is called."""

    columns: tuple[Column, ...]
    connector: str
    """That goes with it, unless another is chosen."""

    format: str | None = None
    """Of its files."""

    zone: str | None = None
    source: str | None = None
    """The `[sources.NAME]` that has it."""

    physical_name: str | None = None
    endpoint: str | None = None
    content_path: str = ""
    document: bool = False
    records: int | None = None
    """How many its types were found from; None: they are declared."""

    distinct: frozenset[str] | None = None
    """Columns whose values differ in all of these records; None: no record was looked at."""


def origin_of_file(path: Path, settings: Settings | None) -> ScaffoldOrigin:
    """A file in a landing zone is delivered there by others; one elsewhere is to be copied from its folder."""
    zone = _zone_of(path, settings)
    file = columns_of_file(path, _settings_of(zone, settings))
    stem = path.name.removesuffix(".gz").rpartition(".")[0] or path.name
    return ScaffoldOrigin(
        title=path.name,
        name=zone.rpartition("/")[2] if zone else stem,
        columns=file.columns,
        connector="landing_push",
        format=file.format,
        zone=zone,
        endpoint=None,
        content_path=file.content_path,
        document=file.document,
        records=file.records if file.distinct is not None else None,
        distinct=file.distinct,
    )


def _zone_of(path: Path, settings: Settings | None) -> str | None:
    root = settings.landing.root.resolve() if settings else None
    folder = path.resolve().parent
    if root is None or not folder.is_relative_to(root) or folder == root:
        return None
    return folder.relative_to(root).as_posix()


def _settings_of(zone: str | None, settings: Settings | None) -> ZoneSettings:
    return settings.landing.zones.get(zone, ZoneSettings()) if settings and zone else ZoneSettings()


def origin_of_table(settings: Settings, name: str) -> ScaffoldOrigin:
    """`source.schema.table` where the project has that source, else a published table of the lake."""
    source, _, rest = name.partition(".")
    if source in settings.sources and rest:
        return _origin_in_source(settings, source, name)
    workspace = Workspace(settings)
    table = workspace.published(name)
    metadata = workspace.metadata(table)
    assert metadata is not None
    columns = tuple(column for column in relation_of(metadata.fields).columns if not column.name.startswith("_"))
    return ScaffoldOrigin(
        title=f"table {table.short(settings.project.namespace)}",
        name=table.name,
        columns=columns,
        connector="landing_push",
    )


def _origin_in_source(settings: Settings, source: str, name: str) -> ScaffoldOrigin:
    discovery = known_tables(settings, refresh=True, names=[source])
    if discovery.failures:
        raise discovery.failures[0]
    tables = {str(table.table).lower(): table for table in discovery.tables}
    found = tables.get(name.lower())
    if found is None:
        near = nearest(name, [str(table.table) for table in discovery.tables])
        remedy = f"Did you mean {' or '.join(near)}?" if near else "`tidegate ls --sources` lists the tables."
        raise SelectionError(f"source '{source}' has no table '{name.partition('.')[2]}'", remedy=remedy)
    if not found.relation.columns:
        why = found.problem or f"[sources.{source}.tables] names none"
        raise SelectionError(f"the columns of '{name}' are not known: {why}", remedy="Name them in its tables.")
    return ScaffoldOrigin(
        title=f"table {found.table}",
        name=found.table.name,
        columns=found.relation.columns,
        connector="postgres" if isinstance(settings.sources[source], DatabaseSource) else "jdbc",
        source=source,
        physical_name=f"{found.table.layer}.{found.table.name}",
    )
