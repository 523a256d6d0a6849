"""A project → what is to be built and everything that is wrong with it, before any Spark job."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from tidegate.compiler.assemble import assemble_models
from tidegate.compiler.drafts import Workspace
from tidegate.compiler.passes.graph import find_cycles, order_tests, waves_of
from tidegate.compiler.passes.parse import parse_queries
from tidegate.compiler.passes.problems import report_problems
from tidegate.compiler.passes.reading import check_reading
from tidegate.compiler.passes.render import render_templates
from tidegate.compiler.passes.resolve import resolve_names
from tidegate.compiler.passes.rules import check_rules
from tidegate.compiler.values import Compiled, Diagnostic
from tidegate.config import Settings
from tidegate.names import TableName
from tidegate.project import Project

__all__ = ["PASSES", "compile_project"]

Pass = Callable[[Workspace], Iterator[Diagnostic]]

PASSES: tuple[Pass, ...] = (
    report_problems,
    render_templates,
    parse_queries,
    resolve_names,
    check_rules,
    check_reading,
    find_cycles,
)


def compile_project(
    project: Project, settings: Settings, lake_tables: Collection[TableName], cli_vars: Mapping[str, object]
) -> Compiled:
    """All diagnostics together; a file that fails in one pass is left aside by the later ones."""
    work = Workspace.of(project, settings, lake_tables, cli_vars)
    found = {diagnostic for each in PASSES for diagnostic in each(work)}
    models = assemble_models(work)
    built = {t: set(m.depends_on) for t, m in models.items() if m.model.settings.materialized != "ephemeral"}
    order_tests(work, built)
    return Compiled(models, waves_of(built), tuple(sorted(found, key=_order)), settings.project.namespace)


def _order(diagnostic: Diagnostic) -> tuple[str, int, int, str, str]:
    span = diagnostic.span
    place = (span.file, span.line, span.col) if span else ("", 0, 0)
    return (*place, diagnostic.code, diagnostic.message)
