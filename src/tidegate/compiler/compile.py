"""A project → what is to be built and everything that is wrong with it, before any Spark job."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from tidegate.compiler.assemble import assemble_models
from tidegate.compiler.drafts import Draft, Progress, Workspace
from tidegate.compiler.outside import Outside, OutsideTable
from tidegate.compiler.passes.archives import check_archives
from tidegate.compiler.passes.graph import find_cycles, order_tests, waves_of
from tidegate.compiler.passes.parse import parse_text
from tidegate.compiler.passes.problems import report_problems
from tidegate.compiler.passes.reading import check_reading
from tidegate.compiler.passes.render import render_template
from tidegate.compiler.passes.resolve import resolve_names
from tidegate.compiler.passes.rules import check_query, check_settings
from tidegate.compiler.values import Compiled, Diagnostic
from tidegate.config import Settings
from tidegate.lake.port import Heads
from tidegate.names import TableName
from tidegate.project import Project

__all__ = ["FILE_PASSES", "MODEL_PASSES", "PROJECT_PASSES", "compile_project"]

ModelPass = Callable[[Workspace, Draft], Iterator[Diagnostic]]
ProjectPass = Callable[[Workspace], Iterator[Diagnostic]]

FILE_PASSES: tuple[ModelPass, ...] = (render_template, parse_text, check_settings, resolve_names)
"""What can be asked of one file whatever else there is."""

MODEL_PASSES: tuple[ModelPass, ...] = (check_query, check_reading)
"""What is asked of one model or test once those that it reads are understood."""

PROJECT_PASSES: tuple[ProjectPass, ...] = (report_problems, check_archives, find_cycles)


def compile_project(
    project: Project,
    settings: Settings,
    lake: Heads | Collection[TableName],
    cli_vars: Mapping[str, object],
    sources: Collection[OutsideTable] = (),
) -> Compiled:
    """All diagnostics of all passes together."""
    work = Workspace.of(project, settings, Outside.of(lake, sources), cli_vars)
    for draft in work.drafts:
        _understand(work, draft)
    found = {diagnostic for draft in work.drafts for diagnostic in draft.diagnostics}
    found |= {diagnostic for each in PROJECT_PASSES for diagnostic in each(work)}
    models = assemble_models(work)
    built = {t: set(m.depends_on) for t, m in models.items() if m.model.settings.materialized != "ephemeral"}
    order_tests(work, built)
    return Compiled(models, waves_of(built), tuple(sorted(found, key=_order)), settings.project.namespace)


def _understand(work: Workspace, draft: Draft) -> None:
    """Put the draft through its passes, those that it reads before it. In a circle someone must begin."""
    waiting = [draft]
    while waiting:
        at = waiting[-1]
        if at.progress is Progress.UNREAD:
            at.diagnostics += [found for each in FILE_PASSES for found in each(work, at)]
            at.progress = Progress.READ
            waiting += [d for table in at.tables if (d := work.models[table]).progress is Progress.UNREAD]
            continue
        waiting.pop()
        if at.progress is Progress.READ:
            at.progress = Progress.UNDERSTOOD
            at.diagnostics += [found for each in MODEL_PASSES for found in each(work, at)]
            at.forget_trees()


def _order(diagnostic: Diagnostic) -> tuple[str, int, int, str, str]:
    span = diagnostic.span
    place = (span.file, span.line, span.col) if span else ("", 0, 0)
    return (*place, diagnostic.code, diagnostic.message)
