"""Which sources answer, and which models and checks cannot run because one of them does not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from tidegate.checks.check_values import Check
from tidegate.compiler.compiled import Compiled, CompiledModel
from tidegate.config import Settings
from tidegate.errors import SourceError
from tidegate.lake.branch_catalog import MAIN, BranchCatalog
from tidegate.names import TableName
from tidegate.planner.decide import RunType
from tidegate.planner.make_plan import Plan
from tidegate.runs.damage import missing_file, tables_read_or_written
from tidegate.sources import mentioned, ping_all
from tidegate.sources.source_catalogs import missing_table, must_be_in_lake

__all__ = [
    "CheckedSources",
    "failed_pings",
    "models_to_build",
    "require_one_readable",
    "sources_of",
    "sources_of_check",
    "unreadable_models",
]


def models_to_build(plan: Plan) -> tuple[TableName, ...]:
    return tuple(step.table for step in plan.steps if step.decision.run_type is not RunType.SKIP)


def sources_of(settings: Settings, model: CompiledModel, builds: bool = True) -> frozenset[str]:
    """The sources that its query reads, if it is built, and those that its tests read."""
    read = {table.namespace for table in model.sources} if builds else set()
    checked = (sources_of_check(settings.sources, check) for check in model.checks)
    return frozenset(settings.sources.keys() & read).union(*checked)


def require_one_readable(plan: Plan, compiled: Compiled, catalog: BranchCatalog, full_refresh: bool) -> None:
    """Raise where a metadata file is missing of all that would be read or written: Spark need not start for that."""
    if full_refresh or not plan.steps or not all(step.unplannable for step in plan.steps):
        return
    failures = {step.table: step.unreadable for step in plan.steps if step.unreadable is not None}
    tables = tables_read_or_written((compiled.models[table] for table in failures), compiled)
    raise missing_file(catalog.head(MAIN), tables, compiled.namespace) or next(iter(failures.values()))


def unreadable_models(
    settings: Settings, compiled: Compiled, plan: Plan, catalog: BranchCatalog
) -> tuple[frozenset[str], Mapping[TableName, SourceError]]:
    """The sources that can be read, and why each of some models cannot be built.

    Raises the first of these errors where no model is left to build: Spark need not start for that.
    """
    built = models_to_build(plan)
    checked = [step.table for step in plan.steps if step.decision.check_again]
    needs = {table: sources_of(settings, compiled.models[table], table in built) for table in {*built, *checked}}
    sources = frozenset(name for names in needs.values() for name in names)
    down = failed_pings(settings, sources)
    failures = {table: down[name] for table, names in needs.items() for name in sorted(names) if name in down}
    if sources:
        failures |= _missing(settings, compiled, [table for table in built if table not in failures], catalog)
    if failures and not _others(compiled, needs, failures):
        raise failures[min(failures)]
    return sources - down.keys(), failures


def _missing(
    settings: Settings, compiled: Compiled, tables: Collection[TableName], catalog: BranchCatalog
) -> dict[TableName, SourceError]:
    """Of tables that are named by hand, and are not in the lake."""
    heads = catalog.head(MAIN)
    return {
        table: missing_table(settings, source)
        for table in tables
        for source in compiled.models[table].sources
        if source not in heads and must_be_in_lake(settings, source)
    }


def _others(
    compiled: Compiled, candidates: Collection[TableName], failures: Mapping[TableName, SourceError]
) -> set[TableName]:
    """Those that are neither unreadable nor built from one that is."""
    lost = set(failures)
    for wave in compiled.waves:
        lost |= {table for table in wave if not lost.isdisjoint(compiled.models[table].depends_on)}
    return set(candidates) - lost


def sources_of_check(names: Collection[str], check: Check) -> frozenset[str]:
    """Those of the named sources that its query reads. A table among arguments is always one of the lake."""
    return mentioned(names, (check.source,))


@dataclass(frozen=True, slots=True)
class CheckedSources:
    """The sources that some checks read: those that answer, and why each of the others does not."""

    answering: frozenset[str] = frozenset()
    failures: Mapping[str, SourceError] = field(default_factory=dict)

    @classmethod
    def ping(cls, settings: Settings, checks: Iterable[Check]) -> CheckedSources:
        names = frozenset(name for check in checks for name in sources_of_check(settings.sources, check))
        failures = failed_pings(settings, names)
        return cls(names - failures.keys(), failures)

    def failure(self, check: Check) -> SourceError | None:
        """Why it cannot be run."""
        silent = sources_of_check(self.failures.keys(), check) if self.failures else ()
        return self.failures[min(silent)] if silent else None


def failed_pings(settings: Settings, names: Collection[str]) -> dict[str, SourceError]:
    """Why each of these sources does not answer; those that do are left out."""
    pings = ping_all(settings, names) if names else ()
    return {failure.source: failure for ping in pings if isinstance(failure := ping.failure, SourceError)}
