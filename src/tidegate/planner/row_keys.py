"""Which columns tell the rows of a table apart, however it was written: declared, or proven from its query."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tidegate.compiler.values import BoundQuery, CompiledModel
from tidegate.lake.metadata import TableMetadata
from tidegate.planner.delta_rule import has_foreign_rows, input_tables
from tidegate.planner.inputs import Inputs
from tidegate.planner.kinds import declared_key
from tidegate.project.model import Materialized

__all__ = ["is_enforced", "row_key"]


def row_key(
    model: CompiledModel, inputs: Inputs, table: TableMetadata, bound: Callable[[], BoundQuery]
) -> tuple[str, ...]:
    """The key that `table` has once the model has been written. Empty: none is known."""
    settings = model.model.settings
    if settings.materialized is not Materialized.TABLE:
        return ()
    if key := declared_key(model):
        return key
    if not settings.traits.holds_result_as_is or model.manual or model.zones or model.reads_itself or inputs.views:
        return ()
    from tidegate.planner.deltas.rewrite import unique_columns

    names = {name.lower(): name for name in table.column_names}
    masked = {mask.column.lower() for mask in model.model.masks}
    for columns in unique_columns(bound().sql, input_tables(inputs)):
        low = [column.lower() for column in columns]
        if masked.isdisjoint(low) and names.keys() >= set(low):
            return tuple(names[name] for name in low)
    return ()


def is_enforced(metadata: TableMetadata, key: Sequence[str]) -> bool:
    """Whether every write saw to it that no two rows of the table have this key."""
    progress = metadata.progress
    return progress is not None and progress.unique == tuple(key) and not has_foreign_rows(metadata)
