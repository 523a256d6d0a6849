"""What the readers of a table can rely on, as a project defines it now or as the lake last published it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tidegate.compiler.compiled import Compiled, CompiledModel
from tidegate.compiler.table_columns import table_columns
from tidegate.datatypes import Relation
from tidegate.lake.branch_catalog import Heads
from tidegate.lake.iceberg_types import relation_of
from tidegate.lake.metadata import TableMetadata, ViewMetadata, read_metadata
from tidegate.names import TableName
from tidegate.project import DEFAULT_STRATEGY, STRATEGIES, Materialized, ModelSettings

__all__ = ["Interface", "Interfaces", "interfaces", "published_interfaces"]

_TRANSFORM = re.compile(r"(?P<name>\w+)\s*\(\s*(?:(?P<width>\d+)\s*,\s*)?(?P<column>.+?)\s*\)")
_STORED_TRANSFORM = re.compile(r"(?P<name>\w+)(?:\[(?P<width>\d+)\])?")
_SAME_TRANSFORM = {"date": "day", "date_hour": "hour"}


@dataclass(frozen=True, slots=True)
class Interface:
    """`unique_key`: the columns that identify rows; None, as in `partitioning`: not known."""

    table: TableName
    columns: Relation
    strategy: str
    unique_key: tuple[str, ...] | None = None
    materialized: Materialized = Materialized.TABLE
    partitioning: tuple[str, ...] | None = None

    @property
    def is_ordered(self) -> bool:
        """Whether the table's columns follow the order of the query; a merge leaves the table's own order."""
        traits = STRATEGIES.get(self.strategy)
        return self.materialized is Materialized.VIEW or (traits is not None and traits.replaces_table)


Interfaces = Mapping[TableName, Interface]


def interfaces(compiled: Compiled) -> Interfaces:
    return {table: _defined(table, model) for table, model in compiled.models.items()}


def published_interfaces(heads: Heads, namespaces: Collection[str] | None = None) -> Interfaces:
    """Of the tables and views that Tidegate made, in `namespaces` or (None) in all. Raises LakeError.

    A column that the query no longer gives is not part of it, though the table may still hold it for a while.
    """
    interfaces = {}
    for table, pointer in heads.items():
        if namespaces is None or table.namespace in namespaces:
            interface = _published(table, read_metadata(pointer))
            if interface is not None:
                interfaces[table] = interface
    return interfaces


def _defined(table: TableName, model: CompiledModel) -> Interface:
    settings = model.model.settings
    columns = table_columns(settings, model.relation)
    partitioning = tuple(_canonical(term) for term in settings.partitioned_by)
    if settings.traits.replaces_partitions and settings.partition_column and not partitioning:
        partitioning = (settings.partition_column.lower(),)
    return Interface(table, columns, str(settings.strategy), _key(settings), settings.materialized, partitioning)


def _published(table: TableName, metadata: TableMetadata | ViewMetadata) -> Interface | None:
    progress = metadata.progress
    if progress is None:
        return None
    dropped = {name.lower() for name in progress.dropped_columns}
    columns = relation_of([field for field in metadata.fields if field.name.lower() not in dropped])
    if isinstance(metadata, ViewMetadata):
        return Interface(table, columns, str(DEFAULT_STRATEGY), (), Materialized.VIEW, ())
    return Interface(table, columns, progress.strategy, partitioning=_stored_partitioning(metadata))


def _key(settings: ModelSettings) -> tuple[str, ...]:
    required = settings.traits.required_settings
    key: str | tuple[str, ...] | None = getattr(settings, required[0]) if required else None
    return (key,) if isinstance(key, str) else key or ()


def _canonical(term: str) -> str:
    """`days(ts)`, `day( ts )` and `date(ts)` are one: `day(ts)`."""
    match = _TRANSFORM.fullmatch(term.strip())
    if match is None:
        return _plain(term)
    name = match["name"].lower()
    name = _SAME_TRANSFORM.get(name, name.removesuffix("s"))
    width = f"{match['width']}, " if match["width"] else ""
    return f"{name}({width}{_plain(match['column'])})"


def _stored_partitioning(metadata: TableMetadata) -> tuple[str, ...] | None:
    names = {field.id: field.name.lower() for field in metadata.fields}
    terms = []
    for entry in metadata.partition_fields:
        match = _STORED_TRANSFORM.fullmatch(entry["transform"])
        column = names.get(entry["source-id"])
        if match is None or column is None:
            # By a field inside a struct, or a transform of another engine.
            return None
        if match["name"] == "void":
            continue
        width = f"{match['width']}, " if match["width"] else ""
        terms.append(column if match["name"] == "identity" else f"{match['name']}({width}{column})")
    return tuple(terms)


def _plain(name: str) -> str:
    return name.strip().replace("`", "").lower()
