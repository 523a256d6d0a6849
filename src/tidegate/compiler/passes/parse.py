"""A model's file → SQL text, its syntax tree and facts, and the models, tables and landing zones that it names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tidegate.compiler.compiled import Diagnostic, DiagnosticSeverity
from tidegate.compiler.drafts import CompilationState, Draft, Rendering
from tidegate.compiler.external_tables import landing_read, zone_names
from tidegate.compiler.passes.lib_calls import resolve_calls
from tidegate.compiler.query_facts import facts_of
from tidegate.compiler.sql.queries import SqlFault, TableReference, check_permissions, parse_query
from tidegate.compiler.sql.row_by_row import Obstacle, read_row_query
from tidegate.names import nearest
from tidegate.problems import did_you_mean
from tidegate.project import Materialized, Place
from tidegate.project.template_names import LandingCall, TemplateProblem

__all__ = ["check_zone", "parse_text", "render_template", "resolve_names", "suggested_name"]


def render_template(work: CompilationState, draft: Draft) -> Iterator[Diagnostic]:
    draft.content.names = work.templates.names_used(draft.source)
    for later in (False, True) if draft.test is None else (False,):
        result = work.templates.render(draft.source, draft.file, work.context(draft, later))
        if isinstance(result, TemplateProblem):
            yield work.error(draft, "TemplateError", result.message, result.place, result.suggestion)
            return
        draft.environment = tuple(dict.fromkeys((*draft.environment, *result.environment)))
        first = draft.content.renderings[0] if draft.content.renderings else None
        if first is None or (first.text, first.landings) != (result.text, result.landings):
            draft.content.renderings.append(Rendering(later, result.landings, result.text))


def parse_text(work: CompilationState, draft: Draft) -> Iterator[Diagnostic]:
    for rendering in draft.content.renderings:
        permissions = work.permissions(draft)
        parsed = parse_query(rendering.text or "", permissions.tables)
        if isinstance(parsed, SqlFault):
            place = work.place(draft, rendering.later, parsed.offset)
            yield work.error(draft, parsed.code, parsed.message, place, parsed.suggestion)
            return
        is_model = draft.test is None
        refused, rendering.unlisted = check_permissions(parsed, permissions, model=is_model)
        for fault in (*parsed.faults, *refused):
            place = work.place(draft, rendering.later, fault.offset)
            yield work.error(draft, fault.code, fault.message, place, fault.suggestion)
        rendering.query, rendering.facts = parsed, facts_of(parsed, rendering.landings)
        draft.star = draft.star or rendering.facts.star
        if _needs_row_query(draft):
            rows = read_row_query(parsed)
            rendering.obstacle = rows if isinstance(rows, Obstacle) else None


def _needs_row_query(draft: Draft) -> bool:
    """Only where needed: a WITH in the query has to be written out and parsed again for it."""
    settings = draft.model.settings
    return draft.test is None and (
        settings.materialized is Materialized.EPHEMERAL
        or (settings.on_duplicate == "latest" and settings.watermark_column is None)
    )


_FILE_FORMATS = {"csv", "json", "parquet", "orc", "text", "avro", "delta", "iceberg", "binaryfile", "xml"}


def resolve_names(work: CompilationState, draft: Draft) -> Iterator[Diagnostic]:
    yield from _resolve_declared(work, draft)
    for rendering, facts in draft.facts:
        calls = {call.placeholder: call for call in facts.landings}
        for reference in facts.references:
            if len(reference.parts) == 1 and (call := calls.get(reference.parts[0])):
                yield from _resolve_zone(work, draft, rendering, reference, call)
            else:
                yield from _resolve(work, draft, rendering, reference)
        if facts.calls:
            yield from resolve_calls(work, draft, rendering, facts.calls)


def _resolve_zone(
    work: CompilationState, draft: Draft, rendering: Rendering, reference: TableReference, call: LandingCall
) -> Iterator[Diagnostic]:
    yield from check_zone(work, draft, call, lambda: work.place(draft, rendering.later, reference.start))


def check_zone(
    work: CompilationState, draft: Draft, call: LandingCall, at: Callable[[], Place]
) -> Iterator[Diagnostic]:
    """Adds it to what the draft reads; reports a zone that is not there."""
    zone = call.zone
    draft.add_input(("", zone))
    draft.content.landing_reads.append(landing_read(call, work.settings))
    folder = work.settings.landing.root / zone
    if zone in work.project.zones and (folder.is_dir() or _is_filled_by_connector(draft)):
        return
    if zone in work.project.zones and draft.model.stage is not None and not folder.exists():
        place = at()
        message = f"nothing was delivered into landing zone '{zone}' yet: there is no folder {folder}"
        fix = "check 'landing_directory' of the contract if files are there; the first delivery makes the folder"
        yield work.diagnostic(DiagnosticSeverity.INFO, draft, "NothingDelivered", message, place, fix)
        return
    if not folder.is_dir() or zone not in zone_names(work.settings):
        place = at()
        suggestion = did_you_mean(nearest(zone, zone_names(work.settings)))
        message, fix = f"there is no landing zone '{zone}': no folder {folder}", "make the folder"
        if folder.is_file():
            message = f"landing zone '{zone}' is a file, not a folder: {folder}"
            fix = (
                f"move the file into a folder, as {folder.parent / 'ZONE' / folder.name}, and read landing_zone('ZONE')"
            )
        yield work.error(draft, "UnknownLandingZone", message, place, suggestion or fix)


def _is_filled_by_connector(draft: Draft) -> bool:
    """The first ingest makes the folder."""
    stage = draft.model.stage
    return stage is not None and stage.ingestion.source.connector.reads_source


def _resolve(
    work: CompilationState, draft: Draft, rendering: Rendering, reference: TableReference
) -> Iterator[Diagnostic]:
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


def _resolve_declared(work: CompilationState, draft: Draft) -> Iterator[Diagnostic]:
    """`depends_on` declares dependencies that the query does not show."""
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


def _unknown(work: CompilationState, draft: Draft, rendering: Rendering, reference: TableReference) -> Diagnostic:
    name, parts = ".".join(reference.parts), reference.parts
    message = f"unknown table '{name}'"
    suggestion = suggested_name(work, draft, parts)
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


def suggested_name(work: CompilationState, draft: Draft, parts: Sequence[str]) -> str | None:
    own = work.short(draft.model.table)
    return did_you_mean(tuple(name for name in work.tables.near(parts) if name != own))


def _is_defined_elsewhere(name: str, suggestion: str | None, rendering: Rendering) -> bool:
    """A CTE that is read before it is defined, unless a table of that name is the likely meaning."""
    is_cte = rendering.facts is not None and name.lower() in rendering.facts.ctes
    return is_cte and f".{name.lower()}" not in (suggestion or "").lower()
