"""Which landing files are done with, from what main has consumed: safe to repeat after any crash."""

from __future__ import annotations

from tidegate.compiler.values import Compiled, CompiledModel
from tidegate.config import Settings
from tidegate.lake.consumed import ConsumedFile, read_consumed
from tidegate.lake.metadata import TableMetadata
from tidegate.lake.view import BranchView
from tidegate.runs.archive import archive_zone

__all__ = ["archive_consumed"]


def archive_consumed(compiled: Compiled, settings: Settings, main: BranchView) -> tuple[int, tuple[str, ...]]:
    """Move the files that every reader of a zone has published; gives how many, and what a person should know."""
    zones = {
        zone for model in compiled.models.values() if model.model.settings.archive_landing_zones for zone in model.zones
    }
    moved, notes = 0, []
    for zone in sorted(zones):
        readers = [m for m in compiled.models.values() if zone in m.zones and m.model.settings.materialized == "table"]
        whole = [m for m in readers if m.model.settings.traits.reads_all_files]
        if whole:
            name, strategy = whole[0].model.table.short(compiled.namespace), whole[0].model.settings.strategy
            notes.append(f"landing zone {zone} is not archived: {name} ({strategy}) reads all of its files every time")
            continue
        done = _consumed_by_all(zone, readers, main)
        if done:
            report = archive_zone(settings.landing.root / zone, done)
            moved += len(report.moved)
            notes += [f"landing zone {zone}: {line}" for line in report.skipped]
    return moved, tuple(notes)


def _consumed_by_all(zone: str, readers: list[CompiledModel], main: BranchView) -> tuple[ConsumedFile, ...]:
    common: dict[tuple[str, str], ConsumedFile] | None = None
    for reader in readers:
        metadata = main.metadata(reader.model.table)
        progress = metadata.progress if isinstance(metadata, TableMetadata) else None
        if not isinstance(metadata, TableMetadata) or progress is None or zone not in progress.zones:
            return ()
        consumed = read_consumed(metadata.table_location, progress.zones[zone])
        files = {(file.path, file.digest or f"{file.size} {file.mtime_ns}"): file for file in consumed.files}
        common = files if common is None else {key: common[key] for key in common.keys() & files.keys()}
    return tuple((common or {})[key] for key in sorted(common or {}))
