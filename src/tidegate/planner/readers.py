"""Who reads a table, and whether they gain by finding only the rows that differ in it."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.compiler.values import Compiled, CompiledModel
from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.planner.decide import RunType
from tidegate.planner.estimate import touched_share, worth_a_difference
from tidegate.planner.plan import Facts
from tidegate.project.model import Materialized

__all__ = ["as_difference", "readers_of"]


def readers_of(compiled: Compiled) -> Mapping[TableName, tuple[CompiledModel, ...]]:
    """The models that read each table, itself left out."""
    found: dict[TableName, list[CompiledModel]] = {}
    for wave in compiled.waves:
        for table in wave:
            model = compiled.models[table]
            for upstream in (*model.depends_on, *model.sources):
                found.setdefault(upstream, []).append(model)
    return {table: tuple(models) for table, models in found.items()}


def as_difference(model: CompiledModel, facts: Facts, readers: tuple[CompiledModel, ...], lake: BranchView) -> bool:
    """Whether a keyed model that is computed from all rows had better be written as the rows that differ."""
    settings, own = model.model.settings, lake.table(model.model.table)
    if facts.decision.run_type is not RunType.FULL or not settings.traits.replaces_table:
        return False
    if own is None or not settings.unique_key or not facts.inputs.changed:
        return False
    if not facts.inputs.traceable:
        return False
    touched = touched_share(facts.inputs, facts.inputs.traced, own.total_records)
    progress = [lake.progress(reader.model.table) for reader in readers if _takes_deltas(reader)]
    return worth_a_difference(own, touched, filter(None, progress))


def _takes_deltas(reader: CompiledModel) -> bool:
    settings = reader.model.settings
    if settings.materialized is not Materialized.TABLE or not settings.traits.gains_from_differences:
        return False
    return reader.deterministic and not reader.manual and settings.deltas != "never"
