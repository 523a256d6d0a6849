"""What the models of a publish have read, and whether main still has it: with `isolation = "serializable"` it must."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from tidegate.checks.check_registry import other_tables
from tidegate.checks.check_values import Check, Stage
from tidegate.compiler import bind, bind_test
from tidegate.compiler.compiled import BoundQuery, Compiled, CompiledModel, RunValues
from tidegate.errors import TidegateError
from tidegate.lake.branch_catalog import MAIN, BranchCatalog, Pointer, publish_conflict
from tidegate.lake.metadata import read_metadata
from tidegate.lake.progress import TableInput
from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.planner.inputs import is_elsewhere, tables_behind
from tidegate.runs.context import RunContext
from tidegate.runs.tally import Outcomes

__all__ = [
    "MainComparison",
    "Reads",
    "bound_query",
    "checked_inputs",
    "checked_tables",
    "compare_with_main",
    "downstream_of",
    "owned_tables",
    "owning_models",
    "reads_of",
    "recorded_reads",
    "still_on_main",
    "tables_looked_at",
    "tables_read",
    "tables_read_by_check",
    "tables_read_by_checks",
]

Reads = Mapping[TableName, Mapping[str, TableInput]]
"""By model: the tables and views of the lake that it read, as it read them."""


def reads_of(run: RunContext, outcomes: Outcomes) -> Reads:
    """A model that was built remembers in its table what it read; one that was skipped looked at the same."""
    if not run.settings.run.serializable:
        return {}
    recorded = recorded_reads(run.lake, (table for table, outcome in outcomes.items() if outcome.read is None))
    looked_at = {table: outcome.read for table, outcome in outcomes.items() if outcome.read is not None}
    return {**recorded, **looked_at}


def recorded_reads(lake: BranchView, tables: Iterable[TableName]) -> Reads:
    pairs = ((table, lake.progress(table)) for table in tables)
    return {table: {**progress.checked, **progress.tables} for table, progress in pairs if progress is not None}


@dataclass(frozen=True, slots=True)
class MainComparison:
    unmoved: Mapping[TableName, Pointer]
    """Where main has the tables that are still as they were read."""

    moved: frozenset[TableName]
    """Tables that are not."""


def compare_with_main(catalog: BranchCatalog, branch: str, reads: Reads) -> MainComparison:
    """Compaction moves a table without changing rows. Tables that the branch changed itself are not compared."""
    if not reads:
        return MainComparison({}, frozenset())
    own = {change.table for change in catalog.changed_tables(branch)}
    read_states: dict[TableName, list[TableInput]] = {}
    for read in reads.values():
        for name, state in read.items():
            if (table := TableName.parse(name, "")) not in own:
                read_states.setdefault(table, []).append(state)
    main = catalog.head(MAIN)
    unmoved = {table: main[table] for table, states in read_states.items() if _is_unchanged(main.get(table), states)}
    return MainComparison(unmoved, frozenset(read_states.keys() - unmoved.keys()))


def still_on_main(catalog: BranchCatalog, branch: str, reads: Reads) -> Mapping[TableName, Pointer]:
    """Where main has all that was read; raises PublishConflictError that names what it has otherwise by now."""
    compared = compare_with_main(catalog, branch, reads)
    if compared.moved:
        raise publish_conflict(branch, sorted(compared.moved))
    return compared.unmoved


def _is_unchanged(pointer: Pointer | None, states: Iterable[TableInput]) -> bool:
    if pointer is None:
        return False
    now = read_metadata(pointer).table_input().state
    return all(table.state == now for table in states)


def bound_query(run: RunContext, model: CompiledModel) -> BoundQuery:
    """The query of a model that asks for nothing of a run but its start, as those that read changes alone do."""
    return bind(run.compiled, model.model.table, run.values)


def tables_read(run: RunContext, model: CompiledModel) -> tuple[TableName, ...]:
    """The tables of the lake that its query reads."""
    sources, chunked = run.settings.sources, run.compiled.chunk_tables
    own = (name for name in model.sources if name.namespace not in sources and name not in chunked)
    return (*model.depends_on, *own)


def checked_inputs(run: RunContext, model: CompiledModel, values: RunValues) -> dict[str, TableInput]:
    """The part of `checked_tables` that the publish compares."""
    return checked_tables(run, model, values) if run.settings.run.serializable else {}


def checked_tables(run: RunContext, model: CompiledModel, values: RunValues) -> dict[str, TableInput]:
    """Other tables that the blocking checks of the model read, as the branch has them."""
    inputs = {}
    for table in tables_behind(tables_read_by_checks(run, model, values), run.compiled):
        if table != model.model.table and not is_elsewhere(run.compiled, table):
            metadata = run.lake.metadata(table)
            if metadata is not None:
                inputs[str(table)] = metadata.table_input()
    return inputs


def tables_read_by_checks(run: RunContext, model: CompiledModel, values: RunValues) -> set[TableName]:
    checks = (check for check in model.checks if check.stage is not Stage.AFTER_PUBLISH)
    return {t for check in checks for t in tables_read_by_check(run.compiled, model, check, values)}


def tables_read_by_check(compiled: Compiled, model: CompiledModel, check: Check, values: RunValues) -> set[TableName]:
    """Those that it reads beside the model's own."""
    if check.call is not None:
        return {TableName.parse(other.name, compiled.namespace) for other in other_tables(check)}
    with suppress(TidegateError):  # a test that cannot be parsed reads nothing, and fails when it is run
        query = bind_test(compiled, check, model.model.table, values)
        return {read.table for read in query.reads if read.table is not None}
    return set()


def tables_looked_at(run: RunContext, table: TableName) -> tuple[TableName, ...]:
    """Tables that its query and its checks read, also through views, which may not be selected themselves."""
    model = run.compiled.models[table]
    checks = tables_read_by_checks(run, model, run.values)
    return tables_behind({*model.depends_on, *checks} - {table}, run.compiled)


def downstream_of(run: RunContext, tables: Iterable[TableName], among: Collection[TableName]) -> set[TableName]:
    """`tables` and everything in `among` that reads them, or whose checks do, however far down."""
    downstream = set(tables)
    for wave in run.compiled.waves:
        downstream |= {t for t in wave if t in among and not downstream.isdisjoint(tables_looked_at(run, t))}
    return downstream


def owned_tables(compiled: Compiled, models: Iterable[TableName]) -> set[TableName]:
    tables = set(models)
    return tables | {table.quarantine for table in tables if _quarantines(compiled.models.get(table))}


def owning_models(compiled: Compiled, tables: Iterable[TableName]) -> set[TableName]:
    return {_model_of(compiled, table) for table in tables}


def _model_of(compiled: Compiled, table: TableName) -> TableName:
    beside = table.beside_quarantine
    if beside is None or table in compiled.models or not _quarantines(compiled.models.get(beside)):
        return table
    return beside


def _quarantines(model: CompiledModel | None) -> bool:
    return model is not None and model.quarantines
