"""The checks of published tables, as they are now, without building anything."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tidegate.compiler import compile_from_disk
from tidegate.compiler.values import RunValues
from tidegate.config import Settings
from tidegate.errors import ProjectError
from tidegate.lake import open_catalog
from tidegate.lake.port import MAIN
from tidegate.lake.view import BranchView
from tidegate.planner.selection import select as selected_tables
from tidegate.runs.query import NO_COUNTS_FROM_STATISTICS, pinned_heads
from tidegate.runs.result import CheckResult
from tidegate.sources import mentioned
from tidegate.sources.reading import needs_driver, readable
from tidegate.spark.jars import POSTGRES_JAR, ensure_jars
from tidegate.spark.java import find_java
from tidegate.spark.session import child_session, start_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Checkup", "check_project"]


@dataclass(frozen=True, slots=True)
class Checkup:
    """`missing`: models with checks whose tables have not been published."""

    results: tuple[CheckResult, ...]
    models: int
    missing: tuple[str, ...] = ()
    duration_ms: int = 0

    @property
    def passed(self) -> bool:
        return not any(result.blocks for result in self.results)

    def to_dict(self) -> dict[str, Any]:
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
    say: Callable[[str], None] = lambda line: None,
) -> Checkup:
    """All checks of the selected models against main as it is at one moment. The lake stays as it is."""
    started = time.monotonic()
    catalog = open_catalog(settings)
    heads = catalog.head(MAIN)
    project, compiled, _ = compile_from_disk(settings, heads, {})
    if compiled.errors:
        raise ProjectError("The project has errors; nothing was checked", diagnostics=compiled.diagnostics)
    chosen = selected_tables(compiled, tuple(select))
    models = [model for table, model in sorted(compiled.models.items()) if table in chosen and model.checks]
    there = [model for model in models if model.model.table in heads]
    missing = tuple(m.model.table.short(compiled.namespace) for m in models if m.model.table not in heads)
    results: list[CheckResult] = []
    if there:
        # Only here: this room needs pyspark, and a project without checks ends without it.
        from tidegate.runs.answering import Answering

        sources = mentioned(settings.sources, (check.source for model in there for check in model.checks))
        drivers = ensure_jars(find_java(), say, (POSTGRES_JAR,)) if needs_driver(settings, sources) else ()
        session = root or start_session(settings.spark, settings.root / ".tidegate" / "logs", say)
        with readable(settings, sources) as source_conf, pinned_heads(catalog) as branch:
            conf = {**catalog.spark_conf(branch), **source_conf, **dict([NO_COUNTS_FROM_STATISTICS])}
            child = child_session(session, conf, catalog.spark_catalog(branch), drivers)
            values = RunValues(datetime.now(UTC).isoformat(), vars={})
            answering = Answering(compiled, settings, project, BranchView(catalog, branch), child, values)
            for model in there:
                results += answering.answer(model, model.checks)
    took = round((time.monotonic() - started) * 1000)
    return Checkup(tuple(results), len(there), missing, took)
