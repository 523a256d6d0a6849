"""The checks of published tables, as they are now, without building anything."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from tidegate.compiler import compile_from_disk
from tidegate.compiler.compiled import Compiled, CompiledModel, RunValues
from tidegate.config import Settings
from tidegate.errors import ProjectError
from tidegate.hooks.events import Emit
from tidegate.hooks.run_hooks import check_hooks
from tidegate.lake import open_catalog
from tidegate.lake.branch_catalog import MAIN, BranchCatalog
from tidegate.lake.view import BranchView
from tidegate.operations.query import NO_COUNTS_FROM_STATISTICS, pinned_heads
from tidegate.planner.plan_size import work_on_tables
from tidegate.planner.selection import read_states
from tidegate.planner.selection import select as selected_tables
from tidegate.python_models.run_sandbox import RunSandbox
from tidegate.quality import OwnFunctions
from tidegate.results import CheckResult
from tidegate.runs.checks import check_not_run
from tidegate.runs.source_availability import CheckedSources
from tidegate.sources.source_catalogs import readable
from tidegate.spark.session import child_session, open_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.runs.build.check_runner import CheckRunner

__all__ = ["Checkup", "check_project"]


@dataclass(frozen=True, slots=True)
class Checkup:
    results: tuple[CheckResult, ...]
    models: int
    """How many models were checked."""

    missing: tuple[str, ...] = ()
    """Models with checks whose tables have not been published."""

    duration_ms: int = 0

    @property
    def passed(self) -> bool:
        return not any(result.blocks for result in self.results)

    @property
    def exit_code(self) -> int:
        return 0 if self.passed else 1

    def document(self) -> dict[str, Any]:
        return {
            "status": "passed" if self.passed else "failed",
            "check_results": [asdict(result) for result in self.results],
            "missing": list(self.missing),
            "duration_ms": self.duration_ms,
        }


def check_project(
    settings: Settings,
    select: Sequence[str] = (),
    root: SparkSession | None = None,
    notify: Callable[[str], None] = lambda line: None,
    exclude: Sequence[str] = (),
) -> Checkup:
    """Run all checks of the selected models against main, pinned to one moment. The lake is not changed."""
    started = time.monotonic()
    catalog = open_catalog(settings)
    heads = catalog.head(MAIN)
    compiled, _ = compile_from_disk(settings, heads, {})
    if compiled.project_errors:
        raise ProjectError("The project has errors; nothing was checked", diagnostics=compiled.diagnostics)
    selected = selected_tables(compiled, select, exclude, partial(read_states, compiled, heads))
    models = [model for table, model in sorted(compiled.models.items()) if table in selected and model.checks]
    published = [model for model in models if model.model.table in heads]
    results: list[CheckResult] = []
    if published:
        sources = CheckedSources.ping(settings, (check for model in published for check in model.checks))
        with ExitStack() as stack:
            runner = None
            if any(sources.failure(check) is None for model in published for check in model.checks):
                work = work_on_tables(heads, (model.model.table for model in published))
                session = open_spark(settings, notify, root, work)
                runner = _check_runner(stack, compiled, catalog, session, sources.answering)
                heads = runner.lake.heads()  # main may have moved since the project was compiled
                published = [model for model in models if model.model.table in heads]
            emit = stack.enter_context(check_hooks(settings, partial(_names, compiled), notify))
            for model in published:
                results += _checked(model, model.model.table.short(compiled.namespace), runner, sources, emit)
    missing = tuple(m.model.table.short(compiled.namespace) for m in models if m.model.table not in heads)
    took = round((time.monotonic() - started) * 1000)
    return Checkup(tuple(results), len(published), missing, took)


def _check_runner(
    stack: ExitStack,
    compiled: Compiled,
    catalog: BranchCatalog,
    root: SparkSession,
    sources: Collection[str],
) -> CheckRunner:
    """Main as it is now, until `stack` is closed."""
    # Only here: this room needs pyspark, and a project without checks ends without it.
    from tidegate.python_models.check_conditions import SandboxedConditions
    from tidegate.runs.build.check_runner import CheckRunner

    settings = compiled.settings
    source_conf = stack.enter_context(readable(settings, sources))
    branch = stack.enter_context(pinned_heads(catalog))
    conf = {**catalog.spark_conf(branch), **source_conf, **dict([NO_COUNTS_FROM_STATISTICS])}
    child = child_session(root, conf, catalog.spark_catalog(branch))
    values = RunValues(datetime.now(UTC).isoformat(), vars={})
    sandbox = stack.enter_context(closing(RunSandbox(settings)))
    functions = OwnFunctions(settings.root, SandboxedConditions(settings, sandbox, values.run_started_at))
    return CheckRunner(compiled, BranchView(catalog, branch), child, values, functions)


def _checked(
    model: CompiledModel, name: str, runner: CheckRunner | None, sources: CheckedSources, emit: Emit
) -> list[CheckResult]:
    """A result per check, in their order. `runner`: None where none of them can be run."""
    emit("before_checks", name, {"checks": len(model.checks)})
    failures = [sources.failure(check) for check in model.checks]
    runnable = [check for check, failure in zip(model.checks, failures, strict=True) if failure is None]
    answers = iter(runner.answer(model, runnable) if runner is not None else ())
    results = [
        next(answers) if failure is None else check_not_run(name, check, str(failure), failure.remedy)
        for check, failure in zip(model.checks, failures, strict=True)
    ]
    for result in results:
        emit("check_result", name, {"result": result})
    emit("after_checks", name, {})
    return results


def _names(compiled: Compiled, patterns: Sequence[str]) -> frozenset[str]:
    return frozenset(table.short(compiled.namespace) for table in selected_tables(compiled, patterns))
