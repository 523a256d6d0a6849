"""What queries may read that the project does not make: tables of the lake and of declared sources."""

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

__all__ = ["ExternalTables", "landing_read", "zone_names"]


@dataclass(frozen=True, slots=True)
class ExternalTables:
    """`heads`: tables that main holds, models' own included; a pointer is followed when a query reads the table.

    `failures` and `warnings`: sources that could not be asked; of the first, any table may be there.
    """

    heads: Mapping[TableName, Pointer | None] = field(default_factory=dict)
    sources: Mapping[TableName, Relation] = field(default_factory=dict)
    failures: tuple[SourceError, ...] = ()
    warnings: tuple[StaleTables, ...] = ()
    _read: dict[TableName, Relation] = field(default_factory=dict)

    @classmethod
    def of(cls, lake: Heads | Collection[TableName], discovery: Discovery) -> ExternalTables:
        """`lake` may be names alone; then nothing is known of their columns."""
        heads: dict[TableName, Pointer | None] = {}
        for table in lake:
            heads[table] = lake[table] if isinstance(lake, Mapping) else None
        sources = {found.table: found.relation for found in discovery.tables}
        return cls(heads, sources, discovery.failures, discovery.warnings)

    @property
    def unlisted(self) -> frozenset[str]:
        """Sources of which nothing is known."""
        return frozenset(failure.source for failure in self.failures)

    @property
    def tables(self) -> frozenset[TableName]:
        return frozenset(self.heads) | frozenset(self.sources)

    def relation(self, table: TableName) -> Relation:
        if table in self.sources:
            return self.sources[table]
        if table not in self._read:
            pointer = self.heads.get(table)
            self._read[table] = _published(pointer) if pointer else NOTHING_KNOWN
        return self._read[table]

    def version(self, table: TableName) -> str:
        """Changes whenever the relation may have."""
        pointer = self.heads.get(table)
        location = pointer.location if pointer else str(table in self.heads)
        return location + (repr(self.sources[table]) if table in self.sources else "")


def _published(pointer: Pointer) -> Relation:
    try:
        return relation_of(read_metadata(pointer).fields)
    except LakeError:
        # Whoever reads the rows will be told; not knowing the columns is no mistake of the project's.
        return NOTHING_KNOWN


def landing_read(call: LandingCall, settings: Settings) -> LandingRead:
    """What tidegate.toml declares for the zone, with the call's own arguments on top."""
    declared = settings.landing.zones.get(call.zone, ZoneSettings())
    chosen = {}
    for item in fields(ZoneSettings):
        own = getattr(call.settings, item.name)
        chosen[item.name] = own if own is not None else getattr(declared, item.name)
    return LandingRead(call.zone, ZoneSettings(**chosen))


def zone_names(settings: Settings) -> tuple[str, ...]:
    """The zones that are there: folders directly below the landing root."""
    root = settings.landing.root
    if not root.is_dir():
        return ()
    return tuple(sorted(p.name for p in root.iterdir() if p.is_dir() and not p.name.startswith((".", "_"))))
