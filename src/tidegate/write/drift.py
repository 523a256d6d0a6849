"""Schema drift: how a table follows a query that returns other columns, or other types, than it has.

A column that the query returns in a narrower type keeps the type of the table. This is reported once: the reported
types are stored in a table property.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from tidegate.datatypes import BIGINT, DOUBLE, VOID
from tidegate.errors import DriftRefusedError
from tidegate.lake.metadata import TableMetadata
from tidegate.widening import join_types
from tidegate.write.commits import existing_columns, partly_written
from tidegate.write.replace_table import PartitionField, is_rebuilt, refuse_untyped, replace_table
from tidegate.write.request import DriftChange, WriteOutcome, WriteRequest
from tidegate.write.spark_sql import alterations, conversion, quote
from tidegate.write.write_columns import TableColumn, TableColumns

__all__ = [
    "NARROWER_COLUMNS",
    "Drift",
    "aligned",
    "aligned_values",
    "apply_drift",
    "compare_columns",
    "narrower_columns",
    "replacement_drift",
    "with_narrower",
]


@dataclass(frozen=True, slots=True)
class Drift:
    columns: TableColumns
    """The table's, once `clauses` and `rewrites` are applied."""

    changes: tuple[DriftChange, ...] = ()
    dropped_columns: Mapping[str, str] = field(default_factory=dict)

    clauses: tuple[str, ...] = ()
    """Of ALTER TABLE."""

    rewrites: tuple[TableColumn, ...] = ()
    """Columns with a new type that needs their rows to be rewritten."""

    rebuild: bool = False
    """The types cannot be reconciled: the table is rebuilt from the result."""

    @property
    def alters(self) -> bool:
        return bool(self.clauses or self.rewrites)


def compare_columns(request: WriteRequest, batch: TableColumns, bookkeeping: Collection[str] = ()) -> Drift:
    """The difference between the columns of the result and of the table, and how to apply it. Nothing is changed yet.

    `bookkeeping` columns are the strategy's own; no query gives them.
    """
    existing = existing_columns(request).without(bookkeeping)
    reconciled = [_reconcile(column, batch.get(column.name)) for column in existing]
    added = [column for column in batch if column.name not in existing]
    hopeless = [(old, batch.get(old.name)) for old, new in zip(existing, reconciled, strict=True) if new is None]
    if hopeless:
        return _incompatible(request, existing, batch, [(old, new) for old, new in hopeless if new is not None])
    refuse_untyped(request.table, TableColumns(tuple(added)))
    changes, clauses, rewrites, columns = [], [], [], []
    for old, new in zip(existing, reconciled, strict=True):
        assert new is not None
        columns.append(new)
        if new.type == old.type:
            continue
        steps = alterations(old.quoted, old.type, new.type)
        clauses += steps or []
        if steps is None:
            rewrites.append(new)
        changes.append(_widened(old, new, rewritten=steps is None))
    if added:
        clauses.append(f"ADD COLUMNS ({', '.join(f'{column.quoted} {column.type_sql}' for column in added)})")
        reason = "new in the query; NULL in earlier rows"
        changes += [DriftChange(column.name, "added", None, column.type_text, reason) for column in added]
    gone = _gone(request, existing, batch)
    clauses += [f"DROP COLUMN {quote(name)}" for name in gone.drop]
    after = TableColumns((*columns, *added)).without(gone.drop)
    return Drift(after, (*changes, *gone.changes), gone.since, tuple(clauses), tuple(rewrites))


def replacement_drift(request: WriteRequest, batch: TableColumns) -> tuple[DriftChange, ...]:
    """What a replacement of the whole table does to its columns: it follows the query."""
    if request.lake.table(request.table) is None:
        return ()
    existing = existing_columns(request)
    changes = []
    for old in existing:
        new = batch.get(old.name)
        if new is None:
            changes.append(DriftChange(old.name, "dropped", old.type_text, None, "the query no longer returns it"))
        elif new.type != old.type:
            changes.append(DriftChange(old.name, "rebuilt", old.type_text, new.type_text, "the table was rebuilt"))
    added = [c for c in batch if c.name not in existing]
    return (*changes, *(DriftChange(c.name, "added", None, c.type_text, "new in the query") for c in added))


def apply_drift(request: WriteRequest, drift: Drift, default_partitions: tuple[PartitionField, ...] = ()) -> None:
    for clause in drift.clauses:
        request.session.sql(f"ALTER TABLE {request.table.quoted} {clause}")
    if not drift.rewrites:
        return
    rewritten = {column.name: column for column in drift.rewrites}
    columns = existing_columns(request)
    after = TableColumns(tuple(rewritten.get(column.name, column) for column in columns))
    values = (
        f"{conversion(old.quoted, old.type, new.type)} AS {new.quoted}" for old, new in zip(columns, after, strict=True)
    )
    query = f"SELECT {', '.join(values)} FROM {request.table.quoted}"
    if request.in_order and _has_row_ids(request):
        query += " ORDER BY _last_updated_sequence_number, _row_id"
    with partly_written(request.session):
        replace_table(request, query, after, default_partitions)


def _has_row_ids(request: WriteRequest) -> bool:
    metadata = request.lake.table(request.table)
    return metadata is not None and metadata.format_version >= 3


def aligned(table: TableColumns, batch: TableColumns) -> str:
    """The SELECT list that gives the batch the table's columns, names, types and order; what it lacks is NULL."""
    return ", ".join(aligned_values(table, batch))


def aligned_values(table: TableColumns, batch: TableColumns) -> list[str]:
    values = []
    for column in table:
        source = batch.get(column.name)
        missing = f"CAST(NULL AS {column.type_sql})"
        value = missing if source is None else conversion(source.quoted, source.type, column.type)
        values.append(f"{value} AS {column.quoted}")
    return values


def _reconcile(old: TableColumn, new: TableColumn | None) -> TableColumn | None:
    """The column as it must be to hold both; None: no type does."""
    if new is None:
        return old
    joined = join_types(old.type, new.type)
    return None if joined is None else TableColumn(old.name, joined)


def _widened(old: TableColumn, new: TableColumn, *, rewritten: bool) -> DriftChange:
    if rewritten:
        reason = "every value fits the new type, which the format cannot widen in place: its rows were written again"
        return DriftChange(old.name, "rewritten", old.type_text, new.type_text, reason)
    return DriftChange(old.name, "widened", old.type_text, new.type_text, "every value fits the new type")


@dataclass(frozen=True, slots=True)
class _Gone:
    changes: tuple[DriftChange, ...]
    drop: tuple[str, ...]
    since: Mapping[str, str]


def _gone(request: WriteRequest, existing: TableColumns, batch: TableColumns) -> _Gone:
    missing_since = {name.lower(): since for name, since in request.dropped_columns.items()}
    metadata = request.lake.table(request.table)
    needed = _layout_columns(metadata) if metadata else frozenset()
    changes, drop, since = [], [], {}
    for column in existing:
        if column.name in batch:
            continue
        missed = missing_since.get(column.name.lower())
        if missed is None:
            missed = _utc(request.run_started_at).isoformat()
            reason = f"the query no longer returns it: NULL in new rows, dropped {_days(request)} from now"
            changes.append(DriftChange(column.name, "kept", column.type_text, column.type_text, reason))
        over = _utc(datetime.fromisoformat(missed)) + request.dropped_column_grace <= _utc(request.run_started_at)
        if over and column.name not in needed:
            drop.append(column.name)
            changes = [change for change in changes if change.column != column.name]
            reason = f"the query has not returned it since {missed}"
            changes.append(DriftChange(column.name, "dropped", column.type_text, None, reason))
        else:
            since[column.name] = missed
    return _Gone(tuple(changes), tuple(drop), since)


def _layout_columns(metadata: TableMetadata) -> frozenset[str]:
    """Columns by which the table is partitioned or sorted: the format cannot drop them."""
    ids = {entry.get("source-id") for entry in (*metadata.partition_fields, *metadata.sort_fields)}
    return frozenset(f.name for f in metadata.fields if f.id in ids)


def _days(request: WriteRequest) -> str:
    days = request.dropped_column_grace.days
    return f"{days} day{'s' if days != 1 else ''}" if days else str(request.dropped_column_grace)


def _utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _incompatible(
    request: WriteRequest, existing: TableColumns, batch: TableColumns, pairs: list[tuple[TableColumn, TableColumn]]
) -> Drift:
    traits = request.settings.traits
    if request.complete and traits.complete_result and not traits.keeps_history:
        return Drift(existing, replacement_drift(request, batch), rebuild=True)
    which = "; ".join(f"'{o.name}' is {o.type_text} in the table and {n.type_text} in the result" for o, n in pairs)
    old = pairs[0][0]
    raise DriftRefusedError(
        f"column {which}, and the rows that the table keeps cannot all become the new type",
        where=str(request.table),
        remedy=(
            f"Cast it in the query (CAST({old.quoted} AS {old.type_sql})), give the new column another name, "
            "or run with --full-refresh to rebuild the table from its current inputs."
        ),
    )


NARROWER_COLUMNS = "tidegate.narrower-columns"
"""A JSON object: column → the type in which the query gave it last."""
_AS_TEXT_WRITES_IT = (DOUBLE, BIGINT)


def narrower_columns(request: WriteRequest, batch: TableColumns) -> Mapping[str, DriftChange]:
    """Before the write. Empty where the table is rebuilt, and so takes the query's types."""
    if is_rebuilt(request) or request.settings.traits.replaces_table:
        return {}
    changes = {}
    for column in existing_columns(request):
        result_column = batch.get(column.name)
        if (
            result_column is None
            or result_column.type in (column.type, VOID)
            or (column.type, result_column.type) == _AS_TEXT_WRITES_IT
        ):
            continue
        if join_types(column.type, result_column.type) != column.type:
            continue
        reason = "the query returns a narrower type; the table keeps its own, which holds every value"
        changes[column.name] = DriftChange(column.name, "narrowed", column.type_text, result_column.type_text, reason)
    return changes


def with_narrower(outcome: WriteOutcome, request: WriteRequest, changes: Mapping[str, DriftChange]) -> WriteOutcome:
    """The outcome with what had not been reported, unless the write replaced the table's columns by the query's."""
    table = request.lake.table(request.table)
    reported_types = _reported_types(table.properties if table else {})
    changed = {change.column for change in outcome.drift}
    now = {name: change.after or "" for name, change in changes.items() if name not in changed}
    if now == reported_types:
        return outcome
    fresh = [change for name, change in changes.items() if name in now and reported_types.get(name) != now[name]]
    properties = {**outcome.properties, NARROWER_COLUMNS: json.dumps(now, sort_keys=True)}
    return replace(outcome, drift=(*outcome.drift, *fresh), properties=properties)


def _reported_types(properties: Mapping[str, str]) -> dict[str, str]:
    try:
        types = json.loads(properties.get(NARROWER_COLUMNS, "{}"))
    except ValueError:
        return {}
    return types if isinstance(types, dict) else {}
