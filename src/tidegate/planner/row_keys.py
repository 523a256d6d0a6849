"""Which columns tell the rows of a table apart, however it was written: declared, or proven from its query."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from tidegate.compiler.values import BoundQuery, CompiledModel
from tidegate.lake.metadata import Snapshot, TableMetadata
from tidegate.lake.progress import Progress
from tidegate.planner.delta_rule import has_foreign_rows, input_tables
from tidegate.planner.inputs import Inputs
from tidegate.planner.kinds import declared_key
from tidegate.project.model import Materialized

__all__ = ["RowKey", "is_enforced", "proven_since", "row_key"]


@dataclass(frozen=True, slots=True)
class RowKey:
    """`columns`: empty where no key is known. `proven`: no two rows of the table can have the same values in them,
    because all its rows are one result of the query."""

    columns: tuple[str, ...] = ()
    proven: bool = False


def row_key(model: CompiledModel, inputs: Inputs, table: TableMetadata, bound: Callable[[], BoundQuery]) -> RowKey:
    """The key that `table` has once the model has been written."""
    if model.model.settings.materialized is not Materialized.TABLE:
        return RowKey()
    unique = tuple(_unique_in_query(model, inputs, table, bound))
    key = declared_key(model) or next(iter(unique), ())
    low = {name.lower() for name in key}
    contained = any(low.issuperset(name.lower() for name in columns) for columns in unique)
    return RowKey(key, contained and _is_one_result(model) and not _is_rounded(table, low))


def _unique_in_query(
    model: CompiledModel, inputs: Inputs, table: TableMetadata, bound: Callable[[], BoundQuery]
) -> Iterator[tuple[str, ...]]:
    """Sets of columns in which no two rows of the query's result have the same values."""
    traits = model.model.settings.traits
    if not traits.holds_result_as_is or model.manual or model.zones or model.reads_itself or inputs.views:
        return
    from tidegate.planner.deltas.rewrite import unique_columns

    names = {name.lower(): name for name in table.column_names}
    masked = {mask.column.lower() for mask in model.model.masks}
    for columns in unique_columns(bound().sql, input_tables(inputs)):
        low = [column.lower() for column in columns]
        if masked.isdisjoint(low) and names.keys() >= set(low):
            yield tuple(names[name] for name in low)


def _is_one_result(model: CompiledModel) -> bool:
    """Other strategies leave rows of earlier results in the table where the query does not give them again."""
    return model.model.settings.traits.replaces_table


def _is_rounded(table: TableMetadata, names: Collection[str]) -> bool:
    """Whole numbers that differ may be the same in a column that has become floating."""
    return any(field.type in ("float", "double") for field in table.fields if field.name.lower() in names)


def proven_since(metadata: TableMetadata, key: RowKey, former: Progress | None, *, whole: bool) -> int | None:
    """From which state on the query has proven the key, for the record of a write. `whole`: it replaced all rows."""
    if not key.proven:
        return None
    if former is not None and former.key == key.columns and not has_foreign_rows(metadata):
        follows = any(snapshot.id == former.snapshot_id for snapshot in metadata.ancestors())
        if former.proven_since is not None and (whole or follows):
            return former.proven_since
    return metadata.table_input().sequence_number if whole else None


def is_enforced(metadata: TableMetadata, key: Sequence[str], *states: Snapshot) -> bool:
    """Whether no two rows of the table have this key, now and in these states: every write saw to it, or its query
    proves it."""
    progress = metadata.progress
    if progress is None or any(has_foreign_rows(metadata, state) for state in (None, *states)):
        return False
    if progress.unique and progress.unique == tuple(key):
        return True
    if progress.proven_since is None or not key or progress.key != tuple(key):
        return False
    sequence_numbers = (metadata.table_input().sequence_number, *(state.sequence_number for state in states))
    return min(sequence_numbers) >= progress.proven_since
