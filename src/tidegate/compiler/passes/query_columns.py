"""The columns of each query, their types and origins; errors in names and types."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tidegate.compiler.analysis.analyze import analyze
from tidegate.compiler.analysis.scoping import Analysis, QueryFinding, QuerySource
from tidegate.compiler.compiled import Diagnostic, DiagnosticSeverity, Span
from tidegate.compiler.drafts import CompilationState, Draft, Rendering
from tidegate.compiler.external_tables import landing_read
from tidegate.compiler.inlining import reads_bad_records
from tidegate.compiler.passes.code_names import place_in_query
from tidegate.compiler.sql.queries import ParsedQuery, parse_query
from tidegate.compiler.table_columns import (
    ABOUT_DELIVERED,
    judged_columns,
    quarantine_columns,
    visible_columns,
)
from tidegate.datatypes import ANY, NOTHING_KNOWN, STRING, Column, Relation, parse_type
from tidegate.names import TableName
from tidegate.project import Place
from tidegate.project.template_names import LandingCall

__all__ = ["check_code_queries", "type_columns"]


def type_columns(work: CompilationState, draft: Draft) -> Iterator[Diagnostic]:
    """A first and a later run give the same table, so the first one's columns are the model's."""
    analyses: list[Analysis] = []
    reported: set[tuple[str, Place]] = set()
    for rendering in draft.content.renderings:
        if rendering.query is None or any(fault.code == "HiddenDependency" for fault in rendering.query.faults):
            continue
        sources = _sources(work, draft, rendering, rendering.query)
        analysis = analyze(rendering.query.tree, sources, work.own_functions, work.project.function_names)
        for finding in analysis.findings:
            if _does_not_count(work, draft, finding):
                continue
            place = work.place(draft, rendering.later, finding.offset)
            if (finding.code, place) in reported:
                continue
            reported.add((finding.code, place))
            if finding.severity is DiagnosticSeverity.ERROR:
                draft.failed = True
            yield work.diagnostic(finding.severity, draft, finding.code, finding.message, place, finding.suggestion)
        for fault in rendering.unlisted:
            place = work.place(draft, rendering.later, fault.offset)
            if not {(fault.code, place), ("MisplacedFunction", place)} & reported:
                reported.add((fault.code, place))
                yield work.error(draft, fault.code, fault.message, place, fault.suggestion)
        analyses.append(analysis)
        if rendering.facts is not None and not analysis.taken_apart.isdisjoint(rendering.facts.aliases):
            # `a.b` may be a field of column `a` where a table is called `a` as well.
            rendering.facts = replace(rendering.facts, words=rendering.facts.written)
    if analyses:
        draft.content.relation = analyses[0].relation
        draft.content.edges = tuple(dict.fromkeys(edge for analysis in analyses for edge in analysis.edges))
        draft.content.conditions = tuple(
            dict.fromkeys(origin for analysis in analyses for origin in analysis.conditions)
        )


def check_code_queries(work: CompilationState, draft: Draft) -> Iterator[Diagnostic]:
    """Columns and types in the SQL texts of a Python model. What it does with their rows is not known."""
    reported = {(diagnostic.code, diagnostic.span) for diagnostic in draft.diagnostics}
    for query in draft.python.queries if draft.python is not None else ():
        parsed = parse_query(query.text) if query.text is not None and not query.has_values else None
        if not isinstance(parsed, ParsedQuery) or parsed.faults:
            continue
        analysis = analyze(parsed.tree, _sources(work, draft, Rendering(later=False), parsed), work.own_functions)
        for finding in analysis.findings:
            place = place_in_query(query, finding.offset)
            if finding.severity is not DiagnosticSeverity.ERROR or finding.code == "DuplicateColumn":
                continue
            if (
                _does_not_count(work, draft, finding)
                or (finding.code, Span(place.file, place.line, place.col)) in reported
            ):
                continue
            yield work.error(draft, finding.code, finding.message, place, finding.suggestion)


def _does_not_count(work: CompilationState, draft: Draft, finding: QueryFinding) -> bool:
    """The rows of a test are counted, not written, so its columns may share a name."""
    if finding.code == "DuplicateColumn":
        return draft.test is not None
    return work.is_lenient and finding.code == "TypeMismatch"


def _sources(work: CompilationState, draft: Draft, rendering: Rendering, query: ParsedQuery) -> dict[int, QuerySource]:
    calls = {call.placeholder: call for call in rendering.landings}
    sources = {}
    for reference in query.references:
        if len(reference.parts) == 1 and (call := calls.get(reference.parts[0])):
            sources[id(reference.node)] = QuerySource(f"landing:{call.zone}", _zone(work, call), open=True)
        elif (table := work.tables.find(reference.parts)) is not None:
            in_project = table in work.models or table in work.project.unread
            open_ = in_project or table.namespace in work.external.unlisted
            sources[id(reference.node)] = QuerySource(str(table), _table(work, draft, table), open_)
    for own in query.calls:
        function = work.project.functions[own.name.lower()]
        known = function.relation is not NOTHING_KNOWN
        sources[id(own.node)] = QuerySource(f"lib:{function.name}", function.relation, open=not known)
    return sources


def _table(work: CompilationState, draft: Draft, table: TableName) -> Relation:
    """The published table fills in columns that its query leaves open; those of the model's own table are not known."""
    upstream = work.models.get(table)
    if upstream is None and table in work.quarantines:
        beside = work.models[work.quarantines[table]]
        if beside.model.is_silver:
            return judged_columns(beside.relation)
        return quarantine_columns(beside.relation, work.external.relation(table), reads_bad_records(work, beside))
    if upstream is None:
        return work.external.relation(table)
    if upstream is draft and draft.test is None:
        return NOTHING_KNOWN
    return visible_columns(upstream.model, upstream.relation, work.external.relation(table))


def _zone(work: CompilationState, call: LandingCall) -> Relation:
    """The declared columns of a zone, and no others; without any, they depend on its files, as in every raw zone."""
    settings = landing_read(call, work.settings).settings
    declared = settings.columns
    if settings.raw:
        columns = (Column(name, STRING) for name in declared or ())
        return Relation((*columns, *ABOUT_DELIVERED), complete=False)
    if not declared:
        return NOTHING_KNOWN
    return Relation(tuple(Column(name, parse_type(kind) or ANY) for name, kind in declared.items()))
