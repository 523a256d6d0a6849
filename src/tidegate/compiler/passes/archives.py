"""Landing zones whose files are moved away while someone else has yet to read them, or reads them with every run."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.compiler.drafts import Draft, Workspace
from tidegate.compiler.inlining import zones_through
from tidegate.compiler.passes.reading import looked_up_zones
from tidegate.compiler.values import Diagnostic

__all__ = ["check_archives"]


def check_archives(work: Workspace) -> Iterator[Diagnostic]:
    archiving = [d for d in work.sound if d.is_table and d.model.settings.archive_landing_zones]
    if not archiving:
        return
    readers = [(draft, zones) for draft in work.sound if draft.is_table and (zones := zones_through(work, draft))]
    looked_up = {zone for draft, _ in readers for zone in looked_up_zones(work, draft)}
    for draft in archiving:
        zones = zones_through(work, draft)
        yield from _shared(work, draft, readers)
        if needed := zones & looked_up:
            message = f"landing zone '{min(needed)}' is looked up by every run, so its files cannot be archived"
            place = work.project.origin(draft.model, "archive_landing_zones")
            fix = "read the zone with a model of its own, and that model here"
            yield work.error(draft, "ArchivedLookup", message, place, fix)


def _shared(work: Workspace, draft: Draft, readers: list[tuple[Draft, frozenset[str]]]) -> Iterator[Diagnostic]:
    for zone in sorted(zones_through(work, draft)):
        others = [other for other, zones in readers if other is not draft and zone in zones]
        if others:
            name, at = work.short(others[0].model.table), work.project.origin(draft.model, "archive_landing_zones")
            message = f"landing zone '{zone}' is also read by {name}: its files stay until both have read them"
            yield work.warning(draft, "SharedArchivedZone", message, at)
