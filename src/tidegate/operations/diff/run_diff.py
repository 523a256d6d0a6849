"""What a run or a branch changed: rows inserted, updated and deleted in each table, in which columns, with samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from tidegate.compiler.hidden_columns import hidden_in_table
from tidegate.config import Settings
from tidegate.errors import FailureKind, LakeError, SelectionError, SnapshotMissingError, TidegateError
from tidegate.lake import is_initialized, open_catalog
from tidegate.lake.branch_catalog import BranchCatalog
from tidegate.names import TableName, nearest
from tidegate.operations.diff.moved_tables import MovedTable, choose_tables, moved_by_branch, moved_by_run
from tidegate.operations.diff.table_diff import TableDiff, compare_snapshots
from tidegate.operations.query import NO_COUNTS_FROM_STATISTICS, pinned_heads
from tidegate.quality.check_answers import redact_row
from tidegate.spark.session import child_session, open_spark
from tidegate.spark.spark_errors import read_failure
from tidegate.spark.work import work_of
from tidegate.state import open_reader

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.compiler.compiled import Compiled

__all__ = ["Diff", "diff"]


@dataclass(frozen=True, slots=True)
class Diff:
    name: str
    of: str
    """run or branch."""

    tables: tuple[TableDiff, ...]

    def document(self) -> dict[str, Any]:
        return {"name": self.name, "of": self.of, "tables": [asdict(table) for table in self.tables]}


def diff(
    settings: Settings,
    name: str,
    tables: Sequence[str] = (),
    limit: int = 5,
    root: SparkSession | None = None,
    notify: Callable[[str], None] = lambda line: None,
) -> Diff:
    """`name` is a run (or `latest`) or an existing branch. At most `limit` samples of each kind and table."""
    if not is_initialized(settings):
        raise SelectionError("There is no run yet", remedy="`tidegate run` makes the first.")
    catalog = open_catalog(settings)
    name, of, moved = _moved(settings, catalog, name)
    namespace = settings.project.namespace
    chosen = choose_tables(moved, tables, namespace, f"{of} {name}")
    if chosen and all(change.change == "expired" for change in chosen):
        names = ", ".join(change.table.short(namespace) for change in chosen)
        raise SnapshotMissingError(
            f"the snapshots from before or after {of} {name} have expired, so what it changed in {names} is not known",
            remedy="[maintenance] keep_days and keep_snapshots say how long they are kept.",
        )
    if any(change.metadata is not None for change in chosen):
        read = sum(change.metadata.total_bytes for change in chosen if change.metadata is not None)
        session = open_spark(settings, notify, root, work_of(2 * read))
        compiled = _compiled(settings, catalog)
        keys = _declared_keys(compiled)
        if compiled is not None and not tables:
            order = [table for wave in compiled.waves for table in wave]
            chosen = tuple(
                sorted(
                    chosen,
                    key=lambda change: order.index(change.table) if change.table in order else len(order),
                )
            )
        with pinned_heads(catalog) as branch:
            for change in chosen:
                catalog.restore(branch, change.table, change.pointer)
            child = child_session(session, catalog.spark_conf(branch), catalog.spark_catalog(branch))
            child.conf.set(*NO_COUNTS_FROM_STATISTICS)
            table_diffs = [
                _redact_samples(
                    _diff_table(child, change, keys.get(change.table, ()), namespace, limit),
                    compiled,
                    change.table,
                )
                for change in chosen
            ]
    else:
        table_diffs = [_without_rows(change, namespace) for change in chosen]
    return Diff(name, of, tuple(table_diffs))


def _moved(settings: Settings, catalog: BranchCatalog, name: str) -> tuple[str, str, tuple[MovedTable, ...]]:
    branches = {branch.name for branch in catalog.list_branches()}
    if name in branches:
        return name, "branch", moved_by_branch(catalog, name)
    with open_reader(settings.state.url) as state:
        newest = state.runs(200)
        run = (newest[0] if newest else None) if name == "latest" else state.run(name)
        if run is None:
            close = nearest(name, (*branches, *(other.run_id for other in newest)), most=1)
            meant = f"Did you mean {close[0]}? " if close else ""
            raise SelectionError(
                f"There is no run or branch '{name}'",
                remedy=f"{meant}See `tidegate history` for all runs and `tidegate branches` for branches.",
            )
        if run.run_id in branches:
            return run.run_id, "branch", moved_by_branch(catalog, run.run_id)
        return run.run_id, "run", moved_by_run(catalog, state, run, settings)


def _compiled(settings: Settings, catalog: BranchCatalog) -> Compiled | None:
    from tidegate.compiler import compile_from_disk

    try:
        return compile_from_disk(settings, catalog.head(), {})[0]
    except TidegateError:
        return None


def _declared_keys(compiled: Compiled | None) -> Mapping[TableName, tuple[str, ...]]:
    """The columns that the models declare as keys; none where the project cannot be read."""
    keys = {}
    for table, model in compiled.models.items() if compiled is not None else ():
        own = model.model.settings
        more = (own.scd_valid_from,) if own.traits.keeps_versions and own.unique_key else ()
        keys[table] = (*own.unique_key, *more)
    return keys


def _redact_samples(table_diff: TableDiff, compiled: Compiled | None, table: TableName) -> TableDiff:
    """Hide the values of hidden columns in the samples."""
    if not table_diff.samples:
        return table_diff
    names = {name for change in table_diff.samples for row in (change.before, change.after) for name in row or ()}
    hidden = {*hidden_in_table(compiled, table, names)}
    hidden |= {before.lower() for before, now in table_diff.columns_renamed.items() if now.lower() in hidden}
    if compiled is None or compiled.tagged:
        # The tags of a dropped column are not known any more.
        hidden |= {name.lower() for name in table_diff.columns_dropped}

    def redact(row: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        return None if row is None else redact_row(row, hidden)

    samples = (
        replace(change, before=redact(change.before), after=redact(change.after)) for change in table_diff.samples
    )
    return replace(table_diff, samples=tuple(samples))


def _without_rows(moved: MovedTable, namespace: str) -> TableDiff:
    return TableDiff(moved.table.short(namespace), moved.change, deleted=moved.rows_before, note=moved.note)


def _diff_table(
    session: SparkSession, moved: MovedTable, key: tuple[str, ...], namespace: str, limit: int
) -> TableDiff:
    if moved.metadata is None or moved.after is None:
        return _without_rows(moved, namespace)
    try:
        return compare_snapshots(session, moved, key, moved.table.short(namespace), limit)
    except TidegateError:
        raise
    except Exception as error:
        failure = read_failure(error)
        damage = _damage(moved, namespace) if failure.kind is FailureKind.NOT_FOUND else None
        raise damage or LakeError(failure.message, where=str(moved.table), remedy=failure.remedy) from error


def _damage(moved: MovedTable, namespace: str) -> LakeError | None:
    """What is missing of the two snapshots that are compared."""
    # Only here: it brings PyIceberg, which takes a second to load.
    from tidegate.lake.missing_files import snapshot_damage

    for snapshot in (moved.after, moved.before):
        if moved.metadata is not None and snapshot is not None:
            try:
                damage = snapshot_damage(moved.table, moved.metadata, snapshot)
            except (LakeError, OSError):
                return None
            if damage is not None:
                return damage.error(namespace)
    return None
