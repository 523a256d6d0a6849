"""Whether a model can be updated from changes alone: the obstacle, or the query for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tidegate.compiler.compiled import BoundQuery, CompiledModel
from tidegate.lake.changes import TableChange, Untraceable
from tidegate.lake.delta_log import DeltaState
from tidegate.lake.iceberg_types import iceberg_word
from tidegate.lake.metadata import Snapshot, TableMetadata
from tidegate.names import TableName
from tidegate.planner.deltas.delta_query import LINEAGE, DeltaQuery, DeltaRefusal, InputTable
from tidegate.planner.inputs import Inputs
from tidegate.planner.model_traits import result_is_complete
from tidegate.project.strategies import Deltas

__all__ = ["delta_query", "has_foreign_rows", "input_tables", "obstacle", "skips_unreached", "used_columns"]


def obstacle(model: CompiledModel, inputs: Inputs) -> str | None:
    """Why all rows are read; empty where the description of the change explains it. None: there is no obstacle."""
    settings = model.model.settings
    if settings.traits.deltas is Deltas.NONE:
        return f"{settings.strategy} takes all rows as they are"
    if settings.deltas == "never":
        return "deltas: never"
    if not model.deterministic:
        return "the query is not deterministic"
    if model.manual:
        return "the query decides itself what it reads"
    if model.reads_itself:
        return "the query reads its own table"
    if model.zones:
        return f"{', '.join(model.zones)} is read whole"
    if inputs.views:
        return f"{inputs.views[0]} is a view"
    if model.model.stage is not None:
        return "its rows go through the stages of a contract"
    if settings.quarantine and (settings.traits.replaces_table or result_is_complete(model)):
        return "it quarantines rows"
    if settings.traits.replaces_table and settings.on_empty != "replace":
        return f"on_empty: {settings.on_empty} needs the whole result"
    return "" if inputs.untracked or not inputs.traceable else None


def skips_unreached(model: CompiledModel, inputs: Inputs) -> bool:
    """Whether the model may be skipped where no changed row reaches its query. Call only where there is no obstacle."""
    settings = model.model.settings
    return settings.skip != "never" and not (settings.quarantine or model.functions or inputs.delta)


def delta_query(
    model: CompiledModel, own: TableMetadata | None, inputs: Inputs, bound: Callable[[], BoundQuery]
) -> DeltaQuery | DeltaRefusal:
    """The model's query rewritten for what changed. Call only where there is no obstacle. `own`: the model's table."""
    # Imported here: a run in which nothing changed ends without a parser.
    from tidegate.planner.arrival_order import Arrival, by_arrival
    from tidegate.planner.deltas.rewrite import NO_KEY, rewrite

    settings = model.model.settings
    query, tables = bound(), input_tables(inputs)
    arrival = by_arrival(model, inputs, lambda: query)
    if isinstance(arrival, Arrival):
        query, tables = arrival.query, {name: _with_lineage(facts) for name, facts in tables.items()}
    delta = rewrite(query.sql, tables, settings.key, settings.traits.key_required, settings.traits.replaces_table)
    if isinstance(delta, DeltaRefusal) and delta.construct.startswith(NO_KEY):
        foreign = next((name for name, metadata in inputs.metadata.items() if _is_distrusted(metadata)), None)
        return DeltaRefusal(f"{foreign} has rows that no run wrote, so its key is not trusted") if foreign else delta
    if isinstance(delta, DeltaQuery) and delta.reads_own and own is not None:
        rounded = next((field.name for field in own.fields if field.type in ("float", "double")), None)
        if rounded is not None:
            return DeltaRefusal(f"the former {rounded}, which is a floating number")
    masked = {mask.column.lower() for mask in model.model.masks}
    if masked and isinstance(delta, DeltaQuery):
        # The table holds masked values, not the keys that a change touches.
        hidden = next((column for column in delta.region if column.lower() in masked), None)
        return delta if hidden is None else DeltaRefusal(f"{hidden} is masked, so rows cannot be found by it")
    return delta


def used_columns(inputs: Inputs, query: BoundQuery) -> Mapping[TableName, frozenset[str] | None]:
    """The columns that a model's query reads of each table; None: all."""
    from tidegate.planner.deltas.rewrite import needed_columns

    return needed_columns(query.sql, input_tables(inputs))


def input_tables(inputs: Inputs) -> Mapping[TableName, InputTable]:
    tables = {name: _input_table(metadata, inputs.changed.get(name)) for name, metadata in inputs.metadata.items()}
    tables |= {name: _delta_table(state, inputs.changed.get(name)) for name, state in inputs.delta.items()}
    return {TableName.parse(name, ""): table for name, table in tables.items()}


def _input_table(metadata: TableMetadata, change: TableChange | Untraceable | None) -> InputTable:
    columns = metadata.column_names
    keyed_by = None
    if isinstance(change, TableChange):
        if change.insert_only:
            keyed_by = frozenset(columns)
        elif change.keyed_by and (change.columns is not None or not change.may_delete):
            keyed_by = change.keyed_by
    types = {field.name.lower(): str(field.type) for field in metadata.fields}
    return InputTable(columns, _unique(metadata), change is not None, keyed_by, types=types)


def _delta_table(state: DeltaState, change: TableChange | Untraceable | None) -> InputTable:
    """Nothing but its loads holds its rows to a key, so none is relied on."""
    columns = tuple(column.name for column in state.relation.columns)
    keyed_by = frozenset(columns) if isinstance(change, TableChange) and change.insert_only else None
    words = {column.name.lower(): iceberg_word(column.type) for column in state.relation.columns}
    types = {name: word for name, word in words.items() if word is not None}
    return InputTable(columns, (), change is not None, keyed_by, types=types, all_versions=True)


def _with_lineage(facts: InputTable) -> InputTable:
    return replace(facts, columns=(*facts.columns, *LINEAGE), lineage=True)


def _unique(metadata: TableMetadata) -> tuple[frozenset[str], ...]:
    """The key that the table's own model enforces, unless another program wrote rows into the table."""
    progress = metadata.progress
    names = {name.lower(): name for name in metadata.column_names}
    key = [names.get(name.lower()) for name in progress.unique] if progress else []
    if not key or None in key or has_foreign_rows(metadata):
        return ()
    return (frozenset(name for name in key if name),)


def _is_distrusted(metadata: TableMetadata) -> bool:
    return metadata.progress is not None and bool(metadata.progress.unique) and has_foreign_rows(metadata)


def has_foreign_rows(metadata: TableMetadata, state: Snapshot | None = None) -> bool:
    """Whether anything but a run has written rows into the table, as far back as its history goes.

    `state`: a snapshot to look back from; None: the current one.
    """
    return any(map(_is_foreign, metadata.ancestors(state)))


def _is_foreign(snapshot: Snapshot) -> bool:
    """Rows that no run wrote. Deletes do not count: some of Iceberg's own have no run id."""
    return snapshot.changed_rows and snapshot.count("added-records") > 0 and "tidegate.run-id" not in snapshot.summary
