"""A project → what is to be built and everything that is wrong with it, before any Spark job."""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from tidegate.checks.check_registry import digest_of, row_constraints
from tidegate.compiler.code_facts import code_definition
from tidegate.compiler.compile_cache import CompileCache
from tidegate.compiler.compiled import CodeReads, Compiled, CompiledModel, Diagnostic, in_order
from tidegate.compiler.digests import resolved_checks
from tidegate.compiler.drafts import CompilationState, Draft
from tidegate.compiler.external_tables import ExternalTables
from tidegate.compiler.fingerprints import fingerprint
from tidegate.compiler.inlining import (
    ephemeral_through,
    functions_through,
    is_deterministic,
    reads_bad_records,
    sources_through,
    tables_through,
    template_names_through,
    zones_through,
)
from tidegate.compiler.passes.check_rules import check_other_tables
from tidegate.compiler.passes.contract_sources import check_contract_sources
from tidegate.compiler.passes.graph import find_cycles, order_tests, waves_of
from tidegate.compiler.passes.incremental_reads import check_archives
from tidegate.compiler.passes.lib_calls import check_function_names
from tidegate.compiler.passes.lints import lint
from tidegate.compiler.passes.project_problems import report_problems, report_sources
from tidegate.compiler.passes.settings_rules import check_quarantine_names
from tidegate.compiler.passes.unit_test_rules import check_unit_tests
from tidegate.compiler.passes.untrusted_code import check_code_files
from tidegate.compiler.run_passes import run_passes
from tidegate.config import Settings
from tidegate.datatypes import NOTHING_KNOWN
from tidegate.lake.branch_catalog import Heads
from tidegate.names import TableName
from tidegate.project import LoadedProject, Materialized, Model, Severity
from tidegate.project.template_names import WATERMARK_NAMES
from tidegate.sources import Discovery
from tidegate.sources.chunk_tables import chunk_tables

__all__ = ["PROJECT_PASSES", "compile_project", "gc_paused"]


class CompiledModels(Mapping[TableName, CompiledModel]):
    """The models without errors, also in the models inlined into them; each is assembled on first access."""

    def __init__(self, work: CompilationState) -> None:
        self._work = work
        self._drafts = {
            table: draft
            for table, draft in sorted(work.models.items())
            if not draft.failed and not (work.ephemeral and any(d.failed for d in ephemeral_through(work, draft)))
        }
        self._assembled: dict[TableName, CompiledModel] = {}

    def __getitem__(self, table: TableName) -> CompiledModel:
        if table not in self._assembled:
            self._assembled[table] = _assemble(self._work, self._drafts[table])
        return self._assembled[table]

    def __iter__(self) -> Iterator[TableName]:
        return iter(self._drafts)

    def __len__(self) -> int:
        return len(self._drafts)

    def around_stars(self) -> list[TableName]:
        """The models that use `*` of a table, and those that read them."""
        stars = {table for table, draft in self._drafts.items() if draft.star}
        return [t for t, d in self._drafts.items() if d.star or not stars.isdisjoint(d.tables)] if stars else []

    def edges(self) -> dict[TableName, set[TableName]]:
        """The models that each model with a table or view depends on."""
        return {
            table: set(tables_through(self._work, draft)) - {table}
            for table, draft in self._drafts.items()
            if draft.model.settings.materialized is not Materialized.EPHEMERAL
        }


def _assemble(work: CompilationState, draft: Draft) -> CompiledModel:
    table, reads = draft.model.table, tables_through(work, draft)
    inlined = ephemeral_through(work, draft)
    names = template_names_through(work, draft)
    functions, repeatable = functions_through(work, draft), is_deterministic(work, draft)
    checks = resolved_checks(work, draft) if draft.model.checks else ()
    return CompiledModel(
        model=draft.model,
        depends_on=tuple(sorted(reads - {table})),
        sources=tuple(sorted(sources_through(work, draft))),
        zones=tuple(sorted(zones_through(work, draft))),
        fingerprint=_fingerprint(work, draft, {str(other.model.table): _fingerprint(work, other) for other in inlined}),
        deterministic=repeatable and not functions,
        manual=bool(names & WATERMARK_NAMES),
        uses_watermark="watermark_value" in names,
        reads_itself=table in reads,
        inlined=tuple(other.model.table for other in inlined),
        relation=draft.relation or NOTHING_KNOWN,
        edges=draft.content.edges,
        conditions=draft.content.conditions,
        star=draft.star,
        checks=checks,
        checks_digest=digest_of(checks) if checks else "",
        bad_records=reads_bad_records(work, draft),
        functions=functions,
        repeatable=repeatable,
        code=_code(work, draft),
    )


def _code(work: CompilationState, draft: Draft) -> CodeReads | None:
    """With the tables that it reads whole through ephemeral models."""
    code = draft.content.code
    if code is None:
        return None
    parts = ephemeral_through(work, draft)
    inner = frozenset[TableName]().union(*(part.tables for part in parts), *(p.content.sources for p in parts))
    named = (frozenset(draft.tables) | draft.content.sources) - frozenset(code.changes)
    return replace(code, whole=tuple(sorted((inner | named | frozenset(code.refs)) - work.ephemeral)))


def _fingerprint(work: CompilationState, draft: Draft, inlined: dict[str, str] | None = None) -> str:
    queries = [facts for _, facts in draft.facts]
    model, conf = draft.model, work.settings.spark.conf
    return fingerprint(
        queries,
        draft.content.landing_reads,
        model.settings,
        inlined or {},
        model.masks,
        _quarantine_digest(model),
        conf,
        (*_code_definition(work, draft), *_functions_definition(work, draft)),
    )


def _code_definition(work: CompilationState, draft: Draft) -> tuple[str, ...]:
    return code_definition(draft.python, work.vars) if draft.python is not None else ()


def _functions_definition(work: CompilationState, draft: Draft) -> Iterator[str]:
    for name in sorted({read.name.lower() for read in draft.content.functions}):
        yield f"{name} {work.project.functions[name].digest}"


def _quarantine_digest(model: Model) -> str:
    """Independent of the columns: the fingerprint must not change with what is known of them."""
    if model.stage is not None and model.is_silver:
        return model.stage.ingestion.digest
    if not model.settings.quarantine or not model.checks:
        return ""
    return digest_of(constraint.check for constraint in row_constraints(model.checks, NOTHING_KNOWN))


ProjectPass = Callable[[CompilationState], Iterator[Diagnostic]]

PROJECT_PASSES: tuple[ProjectPass, ...] = (
    report_problems,
    report_sources,
    check_contract_sources,
    check_archives,
    check_other_tables,
    check_quarantine_names,
    find_cycles,
    check_unit_tests,
    check_code_files,
    check_function_names,
)


def compile_project(
    project: LoadedProject,
    settings: Settings,
    lake: Heads | Collection[TableName],
    cli_vars: Mapping[str, object],
    discovery: Discovery | None = None,
    cache: CompileCache | None = None,
) -> Compiled:
    """All diagnostics of all passes together."""
    settings = project.with_zones(settings)
    delta = chunk_tables(settings)
    external = ExternalTables.of(lake, discovery or Discovery(), delta)
    work = CompilationState.of(project, settings, external, cli_vars)
    with gc_paused():
        work.circular = run_passes(work, CompileCache() if cache is None else cache)
        diagnostics = {diagnostic for draft in work.drafts for diagnostic in draft.diagnostics}
        diagnostics |= {diagnostic for each in PROJECT_PASSES for diagnostic in each(work)}
        models = CompiledModels(work)
        upstreams = models.edges()
        order_tests(work, upstreams)
        broken = frozenset(work.models) - frozenset(models) | project.unread
        # Files that could not be read may have tags.
        tagged = any(model.settings.column_tags for model in project.models) or any(
            problem.severity is Severity.ERROR for problem in project.problems
        )
        compiled = Compiled(
            models,
            waves_of(upstreams),
            project,
            settings,
            broken=broken,
            upstreams=upstreams,
            tagged=tagged,
            chunk_tables=delta,
        )
        diagnostics |= set(lint(compiled, models.around_stars()))
        return replace(compiled, diagnostics=in_order(_in_its_language(work, diagnostics)))


def _in_its_language(work: CompilationState, diagnostics: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """A directive that is suggested for a Python file begins as comments do there."""
    in_python = {work.short(model.table) for model in work.project.models if model.python is not None}
    for diagnostic in diagnostics:
        fix, span = diagnostic.suggestion, diagnostic.span
        if fix and "-- @" in fix and diagnostic.model in in_python and not (span and span.file.endswith(".sql")):
            yield replace(diagnostic, suggestion=fix.replace("-- @", "# @"))
        else:
            yield diagnostic


@contextmanager
def gc_paused() -> Iterator[None]:
    """A compilation creates many objects and few cycles; collecting those takes a third of its time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            # Existing objects move to the oldest generation, so the next collection does not scan them.
            gc.freeze()
            gc.unfreeze()
            gc.enable()
