"""The tables that a run or a branch moved, each with its state before and after; read from metadata alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tidegate.config import Settings
from tidegate.errors import SelectionError
from tidegate.lake.branch_catalog import BranchCatalog, Change, Pointer
from tidegate.lake.metadata import Snapshot, TableMetadata, ViewMetadata, read_metadata
from tidegate.names import TableName, nearest
from tidegate.state import ModelRunRecord, RunRecord, StateReader

__all__ = ["MovedTable", "choose_tables", "moved_by_branch", "moved_by_run"]

_RUN_ID = "tidegate.run-id"


@dataclass(frozen=True, slots=True)
class MovedTable:
    """One table or view that a run or a branch moved."""

    table: TableName
    change: str
    """new, changed, dropped, recreated, expired or view."""

    pointer: Pointer | None = None
    """To read; where `change` is changed, its metadata has both snapshots."""

    metadata: TableMetadata | None = None
    before: Snapshot | None = None
    after: Snapshot | None = None
    rows_before: int = 0
    note: str = ""


def moved_by_branch(catalog: BranchCatalog, branch: str) -> tuple[MovedTable, ...]:
    """What the branch changed since it left main."""
    return tuple(moved for change in catalog.changed_tables(branch) if (moved := _of_branch(change)) is not None)


def _of_branch(change: Change) -> MovedTable | None:
    before = read_metadata(change.before) if change.before else None
    after = read_metadata(change.after) if change.after else None
    rows = before.total_records if isinstance(before, TableMetadata) else 0
    if after is None:
        was = "view" if isinstance(before, ViewMetadata) else "table"
        return MovedTable(change.table, "dropped", rows_before=rows, note=f"the {was} is not there any more")
    if isinstance(after, ViewMetadata):
        return _view_of_branch(change, before, after)
    if before is None or isinstance(before, ViewMetadata):
        note = "it was a view" if before is not None else ""
        return MovedTable(change.table, "new", change.after, after, None, after.current, note=note)
    if before.uuid != after.uuid:
        note = "dropped and created again: its rows have nothing in common with those before"
        return MovedTable(change.table, "recreated", change.after, after, None, after.current, rows, note)
    if before.current_snapshot_id == after.current_snapshot_id:
        return None
    if before.current is None:
        return MovedTable(change.table, "changed", change.after, after, None, after.current)
    return _checked(MovedTable(change.table, "changed", change.after, after, before.current, after.current, rows))


def _view_of_branch(
    change: Change, before: TableMetadata | ViewMetadata | None, after: ViewMetadata
) -> MovedTable | None:
    if isinstance(before, ViewMetadata) and before.columns_digest == after.columns_digest:
        return None
    word = "new view" if before is None else "it was a table" if isinstance(before, TableMetadata) else "view redefined"
    return MovedTable(change.table, "view", change.after, note=word)


def _checked(moved: MovedTable) -> MovedTable:
    assert moved.metadata is not None
    if moved.before is None or moved.before.id in moved.metadata.snapshots:
        return moved
    return MovedTable(moved.table, "expired", note="the snapshot that it started from has expired")


def moved_by_run(
    catalog: BranchCatalog, state: StateReader, run: RunRecord, settings: Settings
) -> tuple[MovedTable, ...]:
    """What the run moved on main, whatever moved main since: each commit records the run that made it."""
    namespace = settings.project.namespace
    heads = catalog.head()
    models = {TableName.parse(model.model, namespace): model for model in state.model_runs(run.run_id)}
    names = ((run.result or {}).get("publish") or {}).get("tables") or ()
    published = {TableName.parse(name, namespace) for name in names}
    moved_tables = []
    for table in sorted({*heads, *published}):
        moved = _of_run(table, heads.get(table), run.run_id, models.get(table), table in published)
        if moved is not None:
            moved_tables.append(moved)
    return tuple(moved_tables)


def _of_run(
    table: TableName, pointer: Pointer | None, run_id: str, model: ModelRunRecord | None, published: bool
) -> MovedTable | None:
    metadata = read_metadata(pointer) if pointer else None
    if metadata is None:
        return MovedTable(table, "dropped", note="published by this run, and dropped from main since")
    if isinstance(metadata, ViewMetadata):
        defined = published and metadata.progress is not None and metadata.progress.run_id == run_id
        return MovedTable(table, "view", pointer, note="view defined by this run") if defined else None
    own = sorted(
        (s for s in metadata.snapshots.values() if s.summary.get(_RUN_ID) == run_id), key=lambda s: s.sequence_number
    )
    if not own:
        rows = model.rows_written + model.rows_deleted if model and published else 0
        return MovedTable(table, "expired", note="its snapshots of this run have expired") if rows else None
    first, last = own[0], own[-1]
    before, retained = _predecessor(metadata, first)
    if not retained:
        return MovedTable(table, "expired", note="the snapshot before this run has expired")
    if before is None:
        return MovedTable(table, "new", pointer, metadata, None, last)
    return MovedTable(table, "changed", pointer, metadata, before, last, before.rows)


def _predecessor(metadata: TableMetadata, snapshot: Snapshot) -> tuple[Snapshot | None, bool]:
    """The snapshot before this one, and whether it is known. A replacement of the whole table names no parent."""
    if snapshot.parent_id is not None:
        parent = metadata.snapshots.get(snapshot.parent_id)
        return parent, parent is not None
    earlier = [s for s in metadata.snapshots.values() if s.sequence_number < snapshot.sequence_number]
    if earlier:
        return max(earlier, key=lambda s: s.sequence_number), True
    return None, snapshot.sequence_number <= 1


def choose_tables(
    moved: Iterable[MovedTable], names: Iterable[str], namespace: str, what: str
) -> tuple[MovedTable, ...]:
    """Those of `names`, or all. A name of which nothing moved is an error: there is no diff to show."""
    by_name: Mapping[str, MovedTable] = {table.table.short(namespace): table for table in moved}
    chosen = []
    for name in names:
        short = _short(name, namespace)
        if short not in by_name:
            close = nearest(short, by_name)
            meant = f"Did you mean {' or '.join(close)}?" if close else f"It changed {', '.join(by_name) or 'nothing'}."
            raise SelectionError(f"{what} changed no row of '{name}'", remedy=meant)
        chosen.append(by_name[short])
    return tuple(chosen) or tuple(by_name.values())


def _short(name: str, namespace: str) -> str:
    try:
        return TableName.parse(name, namespace).short(namespace)
    except ValueError as error:
        raise SelectionError(str(error), remedy="Name a table as layer.name.") from error
