"""Names in queries → models, tables of the lake and landing zones."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.compiler.drafts import Draft, Rendering, Workspace
from tidegate.compiler.outside import landing_read, zone_names
from tidegate.compiler.sql.queries import Reference
from tidegate.compiler.values import Diagnostic
from tidegate.names import nearest
from tidegate.project.problems import did_you_mean
from tidegate.project.templates.names import LandingCall

__all__ = ["resolve_names"]

_FILE_FORMATS = {"csv", "json", "parquet", "orc", "text", "avro", "delta", "iceberg", "binaryfile", "xml"}


def resolve_names(work: Workspace, draft: Draft) -> Iterator[Diagnostic]:
    yield from _resolve_declared(work, draft)
    for rendering, facts in draft.facts:
        calls = {call.placeholder: call for call in facts.landings}
        for reference in facts.references:
            if len(reference.parts) == 1 and (call := calls.get(reference.parts[0])):
                yield from _resolve_zone(work, draft, rendering, reference, call)
            else:
                yield from _resolve(work, draft, rendering, reference)


def _resolve_zone(
    work: Workspace, draft: Draft, rendering: Rendering, reference: Reference, call: LandingCall
) -> Iterator[Diagnostic]:
    draft.add_input(("", call.zone))
    draft.content.landing_reads.append(landing_read(call, work.settings))
    if not (work.settings.landing.root / call.zone).is_dir() or call.zone not in zone_names(work.settings):
        place = work.place(draft, rendering.later, reference.start)
        suggestion = did_you_mean(nearest(call.zone, zone_names(work.settings)))
        folder = work.settings.landing.root / call.zone
        message, fix = f"there is no landing zone '{call.zone}': no folder {folder}", "make the folder"
        if folder.is_file():
            message = f"landing zone '{call.zone}' is a file, not a folder: {folder}"
            fix = (
                f"move the file into a folder, as {folder.parent / 'ZONE' / folder.name}, and read landing_zone('ZONE')"
            )
        yield work.error(draft, "UnknownLandingZone", message, place, suggestion or fix)


def _resolve(work: Workspace, draft: Draft, rendering: Rendering, reference: Reference) -> Iterator[Diagnostic]:
    draft.add_input(reference.parts)
    table = work.tables.find(reference.parts)
    if table is None:
        yield _unknown(work, draft, rendering, reference)
    elif table in work.tables.models:
        draft.add_table(table, (rendering.later, reference.start))
    else:
        draft.content.sources.add(table)
        if table in work.quarantines:
            draft.add_table(work.quarantines[table], (rendering.later, reference.start))


def _resolve_declared(work: Workspace, draft: Draft) -> Iterator[Diagnostic]:
    """`depends_on` orders what no query shows."""
    for name in draft.model.settings.depends_on if draft.test is None else ():
        draft.add_input(tuple(name.split(".")))
        place = work.project.origin(draft.model, "depends_on")
        table = work.tables.find(name.split("."))
        if table is None:
            suggestion = did_you_mean(work.tables.near(name.split(".")))
            yield work.error(
                draft, "UnknownDependency", f"depends_on names an unknown table '{name}'", place, suggestion
            )
        elif table in work.tables.models:
            draft.add_table(table, place)


def _unknown(work: Workspace, draft: Draft, rendering: Rendering, reference: Reference) -> Diagnostic:
    name, parts = ".".join(reference.parts), reference.parts
    message = f"unknown table '{name}'"
    own = work.short(draft.model.table)
    suggestion = did_you_mean(tuple(name for name in work.tables.near(parts) if name != own))
    if len(parts) == 1 and "." in name:
        suggestion = "quote each part on its own: " + ".".join(f"`{part}`" for part in name.split("."))
    elif len(parts) == 1 and _is_defined_elsewhere(name, suggestion, rendering):
        suggestion = f"'{name}' is defined in a WITH clause, but not before this place or not around it: move it up"
    elif len(parts) == 1 and suggestion is None:
        suggestion = "write layer.name, or define it in a WITH clause"
    elif len(parts) == 2 and parts[0].lower() in _FILE_FORMATS and suggestion is None:
        suggestion = "files are read through landing_zone('…')"
    elif len(parts) > 3:
        message = f"'{name}' is not a table name: write layer.name or namespace.layer.name"
    place = work.place(draft, rendering.later, reference.start)
    return work.error(draft, "UnknownDependency", message, place, suggestion)


def _is_defined_elsewhere(name: str, suggestion: str | None, rendering: Rendering) -> bool:
    """A CTE that is read before it is defined, unless a table of that name is likely to be meant."""
    known = rendering.facts is not None and name.lower() in rendering.facts.ctes
    return known and f".{name.lower()}" not in (suggestion or "").lower()
