"""A project → what is to be built and everything that is wrong with it, before any Spark job."""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from tidegate.compiler.assemble import CompiledModels
from tidegate.compiler.cache import CompileCache
from tidegate.compiler.drafts import Workspace
from tidegate.compiler.outside import Outside
from tidegate.compiler.passes.archives import check_archives
from tidegate.compiler.passes.checks import check_other_tables
from tidegate.compiler.passes.graph import find_cycles, order_tests, waves_of
from tidegate.compiler.passes.lints import lint
from tidegate.compiler.passes.problems import report_problems
from tidegate.compiler.passes.quarantine import check_quarantine_names
from tidegate.compiler.passes.sources import report_sources
from tidegate.compiler.passes.unit_tests import check_unit_tests
from tidegate.compiler.understand import understand
from tidegate.compiler.values import Compiled, Diagnostic, in_order
from tidegate.config import Settings
from tidegate.lake.port import Heads
from tidegate.names import TableName
from tidegate.project import Project, Severity
from tidegate.sources import Discovery

__all__ = ["PROJECT_PASSES", "compile_project", "without_collecting"]

ProjectPass = Callable[[Workspace], Iterator[Diagnostic]]

PROJECT_PASSES: tuple[ProjectPass, ...] = (
    report_problems,
    report_sources,
    check_archives,
    check_other_tables,
    check_quarantine_names,
    find_cycles,
    check_unit_tests,
)


def compile_project(
    project: Project,
    settings: Settings,
    lake: Heads | Collection[TableName],
    cli_vars: Mapping[str, object],
    discovery: Discovery | None = None,
    cache: CompileCache | None = None,
) -> Compiled:
    """All diagnostics of all passes together."""
    work = Workspace.of(project, settings, Outside.of(lake, discovery or Discovery()), cli_vars)
    with without_collecting():
        work.circular = understand(work, CompileCache() if cache is None else cache)
        found = {diagnostic for draft in work.drafts for diagnostic in draft.diagnostics}
        found |= {diagnostic for each in PROJECT_PASSES for diagnostic in each(work)}
        models = CompiledModels(work)
        built = models.edges()
        order_tests(work, built)
        broken = frozenset(work.models) - frozenset(models) | project.unread
        # What could not be read may have had tags.
        tagged = any(model.settings.column_tags for model in project.models) or any(
            problem.severity is Severity.ERROR for problem in project.problems
        )
        compiled = Compiled(models, waves_of(built), (), settings.project.namespace, broken, tagged)
        found |= set(lint(compiled, settings, models.around_stars()))
        return replace(compiled, diagnostics=in_order(found))


@contextmanager
def without_collecting() -> Iterator[None]:
    """A compilation makes many objects and few circles; looking for those takes a third of its time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            # What there is now counts as old from here on, and is not looked through as soon as anything is made.
            gc.freeze()
            gc.unfreeze()
            gc.enable()
