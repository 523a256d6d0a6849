"""Which columns identify the rows of a table, declared or proven from its query; and what an append_only model cannot
read from inputs that did more than gain rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from tidegate.compiler.compiled import BoundQuery, CompiledModel
from tidegate.lake.changes import TableChange, Untraceable
from tidegate.lake.metadata import Snapshot, TableMetadata
from tidegate.lake.progress import Progress
from tidegate.planner.delta_rule import has_foreign_rows, input_tables
from tidegate.planner.inputs import Inputs
from tidegate.planner.model_traits import declared_key
from tidegate.project.model import Materialized

__all__ = [
    "Caution",
    "RowKey",
    "append_cautions",
    "is_enforced",
    "proven_since",
    "repeated_keys_warning",
    "row_key",
]


@dataclass(frozen=True, slots=True)
class RowKey:
    """The columns that identify the rows of a table."""

    columns: tuple[str, ...] = ()
    """Empty where no key is known."""
    proven: bool = False
    """No two rows of the table can have the same values in them, because all its rows are one result of the query."""


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
    if not traits.holds_result_as_is or model.opaque or model.zones or model.reads_itself or inputs.views:
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
    """Different integers may be equal in a column that became a floating type."""
    return any(field.type in ("float", "double") for field in table.fields if field.name.lower() in names)


def proven_since(metadata: TableMetadata, key: RowKey, former: Progress | None, *, whole: bool) -> int | None:
    """The state since which the query proves the key, to be recorded with a write. `whole`: it replaced all rows."""
    if not key.proven:
        return None
    if former is not None and former.key == key.columns and not has_foreign_rows(metadata):
        follows = any(snapshot.id == former.snapshot_id for snapshot in metadata.ancestors())
        if former.proven_since is not None and (whole or follows):
            return former.proven_since
    return metadata.table_input().sequence_number if whole else None


def is_enforced(metadata: TableMetadata, key: Sequence[str], *states: Snapshot) -> bool:
    """Whether no two rows of the table have this key, now and in these states: every write checked it, or its query
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


_AGAIN = "a row whose values differ from all that were there is appended, also where it is the update of one"
_FOLLOW = "To follow updates and deletes, make this model incremental with a unique_key."


@dataclass(frozen=True, slots=True)
class Caution:
    """What an append does not take over from a table."""

    short: str
    """Continues the reason of a decision."""
    warning: str = ""
    """The consequence and what to do; empty where there is nothing to do."""


def append_cautions(inputs: Inputs, bound: Callable[[], BoundQuery] | None) -> tuple[Caution, ...]:
    """One for each table whose rows become rows of the result, and that did more than gain rows."""
    suspects = [
        name for name, change in sorted(inputs.changed.items()) if _did_more(change) and name in inputs.metadata
    ]
    if not suspects:
        return ()
    driving = {str(read.table) for read in bound().reads if read.driving} if bound else set(suspects)
    return tuple(_of_table(inputs, name) for name in suspects if name in driving)


def _did_more(change: TableChange | Untraceable) -> bool:
    return change.rebuilt or change.rolled_back if isinstance(change, Untraceable) else not change.insert_only


def _of_table(inputs: Inputs, name: str) -> Caution:
    table, change, key = inputs.short(name), inputs.changed[name], inputs.keys.get(name, ())
    by_key = f"A row is new where no row had its key ({', '.join(key)}) when {table} was read last"
    if not is_enforced(inputs.metadata[name], key):
        by_key += ", and rows that share a key, which nothing enforces there, are compared by all their values"
    if isinstance(change, Untraceable) and change.rolled_back:
        rule = by_key if key else f"All its rows were compared with those that were read: {_AGAIN}"
        return Caution(
            f"its rows are compared with those that were read{_by(key)}",
            f"{table} was rolled back. {rule}. Rows that were appended before stay. To hold only what {table} has now, "
            "run this model with --full-refresh.",
        )
    if isinstance(change, Untraceable) and key:
        return Caution(f"its rows are compared with those that were read{_by(key)}")
    if key or (isinstance(change, TableChange) and not change.may_delete):
        rule = f" {by_key}." if key else ""
        return Caution(
            f"rows updated or deleted in {table} are not taken",
            f"rows of {table} were updated or deleted, which append_only does not take.{rule} {_FOLLOW}",
        )
    return Caution(
        f"{table} has no key: rows that were replaced by others are taken as new",
        f"rows of {table} were deleted or written again, and it has no key by which they could be recognised: "
        f"{_AGAIN}. Declare @unique_key in {table}, so that a row with a known key is not new. {_FOLLOW}",
    )


def repeated_keys_warning(table: str, key: Sequence[str], count: int) -> str:
    """`count` keys that were declared, or proven once, have several rows in a state of the table that was compared."""
    columns, keys = ", ".join(key), f"{count:,} {'key has' if count == 1 else 'keys have'}"
    rule = f"primary_key({columns})" if len(key) == 1 else f"composite_unique('{columns}')"
    return (
        f"the key ({columns}) of {table} does not identify its rows: {keys} more than one row, now or when {table} "
        f"was read last. Rows of such keys were compared by all their values: "
        f"{_AGAIN}. Set @unique_key in {table} to columns that are unique together; @constraint: {rule} keeps a table "
        "in which they are not from being published."
    )


def _by(key: tuple[str, ...]) -> str:
    return f" by their key ({', '.join(key)})" if key else ""
