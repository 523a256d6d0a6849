"""The readers of a table: who they are, and what it costs them if all of its rows change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from tidegate.compiler.compiled import Compiled, CompiledModel
from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.planner.cost_rule import ReaderTimes, saved_below
from tidegate.planner.decide import RunType
from tidegate.planner.estimate import reader_times, touched_share, worth_a_difference
from tidegate.planner.inputs import Inputs
from tidegate.project.model import Materialized

if TYPE_CHECKING:
    from tidegate.planner.make_plan import ModelPlan

__all__ = ["Readers", "as_difference", "readers_of", "seconds_below"]

Readers: TypeAlias = Mapping[TableName, tuple[CompiledModel, ...]]


def readers_of(compiled: Compiled) -> Readers:
    """The models that read each table, without the table's own model."""
    readers: dict[TableName, list[CompiledModel]] = {}
    for wave in compiled.waves:
        for table in wave:
            model = compiled.models[table]
            for upstream in (*model.depends_on, *model.sources):
                readers.setdefault(upstream, []).append(model)
    return {table: tuple(models) for table, models in readers.items()}


def as_difference(model: CompiledModel, facts: ModelPlan, readers: tuple[CompiledModel, ...], lake: BranchView) -> bool:
    """Whether to write a keyed model that is computed from all rows as the rows that differ."""
    if facts.decision.run_type is not RunType.FULL:
        return False
    return _is_worth_a_difference(model, facts.inputs, readers, lake)


def seconds_below(model: CompiledModel, readers: Callable[[], Readers], lake: BranchView, inputs: Inputs) -> float:
    """What everything below the model saves if its table is not rebuilt."""
    if not model.model.settings.traits.replaces_table:
        return 0.0
    found = readers()
    own = found.get(model.model.table, ())
    if not own or _is_worth_a_difference(model, inputs, own, lake):
        return 0.0

    def times(table: TableName) -> Iterator[ReaderTimes]:
        for reader in filter(_takes_deltas, found.get(table, ())):
            progress = lake.progress(reader.model.table)
            if progress is not None:
                yield reader_times(reader.model.table, progress)

    return saved_below(model.model.table, times)


def _is_worth_a_difference(
    model: CompiledModel, inputs: Inputs, readers: tuple[CompiledModel, ...], lake: BranchView
) -> bool:
    settings, own = model.model.settings, lake.table(model.model.table)
    if not settings.traits.replaces_table or own is None or not settings.unique_key:
        return False
    if not inputs.changed or inputs.delta or not inputs.traceable:
        return False
    touched = touched_share(inputs, inputs.traced, own.total_records)
    progress = [lake.progress(reader.model.table) for reader in readers if _takes_deltas(reader)]
    return worth_a_difference(own, touched, filter(None, progress))


def _takes_deltas(reader: CompiledModel) -> bool:
    settings = reader.model.settings
    if settings.materialized is not Materialized.TABLE or not settings.traits.gains_from_differences:
        return False
    if reader.code is not None and not reader.code.changes:
        return False
    return reader.deterministic and not reader.manual and settings.deltas != "never"
