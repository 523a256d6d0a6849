"""What a model would read now: heads of lake tables and the files in its landing zones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidegate.compiler.values import Compiled, CompiledModel
from tidegate.config import Settings
from tidegate.lake.consumed import Consumed, read_consumed
from tidegate.lake.metadata import TableMetadata, ViewMetadata
from tidegate.lake.progress import Progress, TableInput
from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.project.landing import NewFiles, ZoneFile, list_zone, unconsumed
from tidegate.sources.reading import has_own_catalog, is_outside

__all__ = ["Inputs", "ZoneState", "read_inputs"]


@dataclass(frozen=True, slots=True)
class ZoneState:
    """The files of a zone as listed now, what the table consumed of it before, and the difference."""

    zone: str
    files: tuple[ZoneFile, ...]
    consumed: Consumed | None
    fresh: NewFiles


@dataclass(frozen=True, slots=True)
class Inputs:
    """Names are full names. `lost`: tables whose recorded snapshot is not there any more.

    `silent`: tables of sources outside the lake, which do not say whether they changed.
    """

    tables: Mapping[str, TableInput] = field(default_factory=dict)
    zones: Mapping[str, ZoneState] = field(default_factory=dict)
    lost: frozenset[str] = frozenset()
    silent: frozenset[str] = frozenset()
    namespace: str = ""

    @property
    def any(self) -> bool:
        return bool(self.tables or self.zones or self.silent)

    def expired(self, progress: Progress) -> str | None:
        return next((self.short(name) for name in sorted(self.lost) if name in progress.tables), None)

    def changes(self, progress: Progress) -> tuple[str, ...]:
        """What differs from what `progress` recorded, in words; empty if nothing does."""
        found = []
        for name, now in sorted(self.tables.items()):
            before = progress.tables.get(name)
            if before is None:
                found.append(f"new input {self.short(name)}")
            elif before.uuid != now.uuid:
                found.append(f"{self.short(name)} was recreated")
            elif before.columns != now.columns:
                found.append(f"columns of {self.short(name)} changed")
            elif before.snapshot_id != now.snapshot_id:
                found.append(f"{self.short(name)} changed")
        found += [f"{self.short(name)} does not say whether it changed" for name in sorted(self.silent)]
        for zone, state in sorted(self.zones.items()):
            for files, what in ((state.fresh.new, "new"), (state.fresh.replaced, "replaced")):
                if files:
                    found.append(f"{len(files)} {what} file{'s' if len(files) > 1 else ''} in {zone}")
        return tuple(found)

    def short(self, name: str) -> str:
        return name.removeprefix(self.namespace + ".")


def read_inputs(
    model: CompiledModel, compiled: Compiled, lake: BranchView, settings: Settings, progress: Progress | None
) -> Inputs:
    """The facts about everything that `model` reads, views looked through to the tables behind them."""
    tables: dict[str, TableInput] = {}
    lost: set[str] = set()
    silent: set[str] = set()
    for name in _tables_behind(model, compiled):
        # What Spark reads elsewhere may have a namesake in the lake, which says nothing of it.
        elsewhere = is_outside(settings, name) or has_own_catalog(settings, name.namespace)
        metadata = None if elsewhere else lake.metadata(name)
        if metadata is None:
            if name.namespace in settings.sources:
                silent.add(str(name))
            continue
        tables[str(name)] = metadata.table_input()
        seen = progress.tables.get(str(name)) if progress else None
        if isinstance(metadata, TableMetadata) and seen and _is_lost(metadata, seen):
            lost.add(str(name))
    zones = {zone: _zone_state(zone, model, lake, settings, progress) for zone in model.zones}
    return Inputs(tables, zones, frozenset(lost), frozenset(silent), settings.project.namespace)


def _is_lost(metadata: TableMetadata, seen: TableInput) -> bool:
    return seen.uuid == metadata.uuid and seen.snapshot_id is not None and seen.snapshot_id not in metadata.snapshots


def _tables_behind(model: CompiledModel, compiled: Compiled) -> tuple[TableName, ...]:
    found: dict[TableName, None] = {}
    pending = [*model.depends_on, *model.sources]
    while pending:
        name = pending.pop()
        if name in found:
            continue
        found[name] = None
        upstream = compiled.models.get(name)
        if upstream and upstream.model.settings.materialized == "view":
            pending += [*upstream.depends_on, *upstream.sources]
    return tuple(sorted(found))


def _zone_state(
    zone: str, model: CompiledModel, lake: BranchView, settings: Settings, progress: Progress | None
) -> ZoneState:
    files = list_zone(settings.landing.root, zone)
    own = lake.metadata(model.model.table)
    consumed = None
    if progress and zone in progress.zones and own is not None and not isinstance(own, ViewMetadata):
        consumed = read_consumed(own.table_location, progress.zones[zone])
    fresh = unconsumed(files, consumed.files if consumed else ())
    return ZoneState(zone, files, consumed, fresh)
