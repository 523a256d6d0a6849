"""Tables that queries may read and no model builds: those of the lake, of declared sources, and of chunked loads."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields

from tidegate.compiler.compiled import LandingRead
from tidegate.config import Settings, ZoneSettings
from tidegate.datatypes import NOTHING_KNOWN, Relation
from tidegate.errors import LakeError, SourceError
from tidegate.lake.branch_catalog import Heads, Pointer
from tidegate.lake.iceberg_types import relation_of
from tidegate.lake.metadata import read_metadata
from tidegate.names import TableName
from tidegate.project.template_names import LandingCall
from tidegate.sources import Discovery, StaleTables
from tidegate.sources.chunk_tables import ChunkTable

__all__ = ["ExternalTables", "landing_read", "zone_names"]


@dataclass(frozen=True, slots=True)
class ExternalTables:
    """The tables, with their columns where they are known."""

    heads: Mapping[TableName, Pointer | None] = field(default_factory=dict)
    """Tables on main, those of models included; the metadata is read when a query reads the table."""
    sources: Mapping[TableName, Relation] = field(default_factory=dict)
    failures: tuple[SourceError, ...] = ()
    """Sources that could not be listed: any table may be in them."""
    warnings: tuple[StaleTables, ...] = ()
    chunk_tables: Mapping[TableName, ChunkTable] = field(default_factory=dict)
    _read: dict[TableName, Relation] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        lake: Heads | Collection[TableName],
        discovery: Discovery,
        chunk_tables: Mapping[TableName, ChunkTable] | None = None,
    ) -> ExternalTables:
        """`lake` may be names alone; then their columns are not known."""
        heads: dict[TableName, Pointer | None] = {}
        for table in lake:
            heads[table] = lake[table] if isinstance(lake, Mapping) else None
        sources = {source.table: source.relation for source in discovery.tables}
        return cls(heads, sources, discovery.failures, discovery.warnings, chunk_tables or {})

    @property
    def unlisted(self) -> frozenset[str]:
        """Namespaces of sources whose tables could not be listed."""
        return frozenset(failure.source for failure in self.failures)

    @property
    def tables(self) -> frozenset[TableName]:
        return frozenset(self.heads) | frozenset(self.sources) | frozenset(self.chunk_tables)

    def relation(self, table: TableName) -> Relation:
        if table in self.chunk_tables:
            return self.chunk_tables[table].relation
        if table in self.sources:
            return self.sources[table]
        if table not in self._read:
            pointer = self.heads.get(table)
            self._read[table] = _published(pointer) if pointer else NOTHING_KNOWN
        return self._read[table]

    def version(self, table: TableName) -> str:
        """Changes whenever the columns of the table may have changed."""
        if table in self.chunk_tables:
            return repr(self.chunk_tables[table].relation)
        pointer = self.heads.get(table)
        location = pointer.location if pointer else str(table in self.heads)
        return location + (repr(self.sources[table]) if table in self.sources else "")


def _published(pointer: Pointer) -> Relation:
    try:
        return relation_of(read_metadata(pointer).fields)
    except LakeError:
        # Reading the rows will report it; unknown columns are no error of the project.
        return NOTHING_KNOWN


def landing_read(call: LandingCall, settings: Settings) -> LandingRead:
    """What tidegate.toml, or a contract, declares for the zone, with the call's own arguments on top."""
    declared = settings.landing.zones.get(call.zone, ZoneSettings())
    chosen = {}
    for item in fields(ZoneSettings):
        own = None if item.name in ZoneSettings.OF_CONTRACTS else getattr(call.settings, item.name)
        chosen[item.name] = own if own is not None else getattr(declared, item.name)
    return LandingRead(call.zone, ZoneSettings(**chosen))


def zone_names(settings: Settings) -> tuple[str, ...]:
    """The zones that are there: folders directly below the landing root."""
    root = settings.landing.root
    if not root.is_dir():
        return ()
    return tuple(sorted(p.name for p in root.iterdir() if p.is_dir() and not p.name.startswith((".", "_"))))
