"""scd2: one version of a key for each state that it had."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace

from tidegate.compiler.table_columns import IS_CURRENT
from tidegate.contracts.ingestion import COMMIT_TIME
from tidegate.errors import StrategyError
from tidegate.write.commits import refuse_mass_delete
from tidegate.write.delete_events import refuse_deletes_of_rebuild, refuse_empty_snapshot, refuse_inferred_deletes
from tidegate.write.drift import Drift, apply_drift, compare_columns, replacement_drift
from tidegate.write.few_rows import for_small_tables
from tidegate.write.key_columns import check_keys, keeps_latest, key_columns, key_examples, latest_rows, match_keys
from tidegate.write.replace_table import is_rebuilt, replace_table
from tidegate.write.request import DeletionCounts, WriteOutcome, WriteRequest
from tidegate.write.snapshot_deletes import without_doubtful_snapshots
from tidegate.write.staging import RESULT, staged_table, with_result_view
from tidegate.write.strategies.scd2_versions import (
    MOVES,
    OP,
    History,
    changes_sql,
    contract_events_sql,
    first_versions_sql,
    version_columns,
)
from tidegate.write.write_columns import TableColumn, TableColumns

__all__ = ["write_scd2"]

_MOST_NAMED = 3


@with_result_view
def write_scd2(request: WriteRequest, columns: TableColumns) -> WriteOutcome:
    """Changed versions are closed and new ones opened, in one MERGE; a batch without changes changes nothing.

    With a watermark a version begins at its row's watermark and a batch may hold several rows of a key; without one it
    begins when the run started. A row that is not newer than the open version is skipped: silently if the history
    already has it, otherwise with a warning.
    """
    if request.deletion is not None:
        # Keys are gone by what the deletion says, never because the events lack them.
        request = replace(request, complete=False)
    keys = key_columns(request, columns)
    watermark = _watermark(request, columns)
    bookkeeping = version_columns(request.settings)
    _refuse_own_columns(request, columns, bookkeeping.names)
    drift = None if is_rebuilt(request) else compare_columns(request, columns, bookkeeping.names)
    identity = TableColumns((*keys, *([watermark] if watermark and watermark.name not in keys else [])))
    latest = keeps_latest(request)
    history = History(request, drift.columns if drift else columns, columns, keys, watermark)
    doubtful: tuple[str, ...] = ()
    rows = latest_rows(request, RESULT, columns, identity) if latest else f"SELECT * FROM {RESULT}"
    if request.deletion is not None:
        _refuse_other_watermarks(request, watermark)
        live = history.live if drift else None
        request, doubtful = without_doubtful_snapshots(request, keys, live)
        history = replace(history, request=request)
        rows = contract_events_sql(history, RESULT, exists=drift is not None)
    profiled = columns if request.deletion is None else None
    with ExitStack() as stack:
        staging = stack.enter_context(staged_table(request, rows, profiled=profiled))
        if request.deletion is None:  # else bronze is read too
            stack.enter_context(for_small_tables(request.session, request.lake, request.table, staging))
        check_keys(request, staging.quoted, keys if latest else identity, unique=not latest)
        _refuse_null_watermarks(request, watermark, staging.quoted)
        history = replace(history, staging=staging.quoted)
        if drift is None:
            every = TableColumns((*columns, *bookkeeping))
            changes = replacement_drift(request, every)
            if request.lake.table(request.table) is not None:
                refuse_empty_snapshot(request, f"SELECT * FROM {request.table.quoted}")
                refuse_deletes_of_rebuild(request, keys)
            deletions = _first_deletions(history) if request.deletion else None
            written = replace_table(request, first_versions_sql(history), every)
            return WriteOutcome(written, 0, True, changes, doubtful, deletions=deletions)
        refuse_empty_snapshot(request, history.live)
        apply_drift(request, drift)
        outcome = _merge(request, drift, history)
        return replace(outcome, warnings=(*outcome.warnings, *doubtful))


def _refuse_other_watermarks(request: WriteRequest, watermark: TableColumn | None) -> None:
    if watermark is None or watermark.name != COMMIT_TIME:
        raise StrategyError(
            f"deletes of a source need watermark_column {COMMIT_TIME}, so that it is known when a version ended",
            where=str(request.table),
            remedy=f"Set watermark_column to {COMMIT_TIME}.",
        )


@dataclass(frozen=True, slots=True)
class _Counts:
    """Changes by their operation."""

    opened: int = 0
    closed: int = 0
    gone: int = 0
    lost: int = 0
    rejected: int = 0
    ended: int = 0
    unknown: int = 0
    late: int = 0
    revived: int = 0

    @property
    def deletions(self) -> DeletionCounts:
        return DeletionCounts(self.gone + self.lost + self.ended, self.late + self.rejected, self.unknown, self.revived)


def _merge(request: WriteRequest, drift: Drift, history: History) -> WriteOutcome:
    with staged_table(request, changes_sql(history), "changes") as changes:
        staged = request.lake.table(changes)
        counts = _count(request, changes.quoted) if staged and staged.total_records else _Counts()
        refuse_inferred_deletes(request, counts.lost, history.live)
        if counts.gone and request.deletion is None and not request.allow_deletes:
            refuse_mass_delete(request, counts.gone, _open_versions(request))
        warnings = _warnings(request, history, changes.quoted, counts.rejected) if counts.rejected else ()
        moves = counts.opened + counts.closed + counts.gone + counts.lost
        if moves:
            request.session.sql(_merge_sql(request, history, changes.quoted))
    return WriteOutcome(
        counts.opened,
        counts.gone + counts.lost,
        moves > 0 or drift.alters,
        drift.changes,
        warnings,
        drift.dropped_columns,
        deletions=counts.deletions if request.deletion else None,
    )


def _first_deletions(history: History) -> DeletionCounts:
    return _count(history.request, f"({changes_sql(history, exists=False)})").deletions


def _merge_sql(request: WriteRequest, history: History, changes: str) -> str:
    is_ended = f"{match_keys(request, history.keys, '__t', '__s')} AND __t.{history.current}"
    ended = f"__t.{history.valid_to} = __s.{history.valid_from}, __t.{history.current} = false"
    moves = ", ".join(f"'{move}'" for move in MOVES)
    inserted = f"({history.written.sql()}) VALUES ({history.written.sql('__s')})"
    return (
        f"MERGE INTO {request.table.quoted} __t USING (SELECT * FROM {changes} WHERE {OP} IN ({moves})) __s"
        f" ON {is_ended} AND __s.{OP} <> 'open'"
        f" WHEN MATCHED THEN UPDATE SET {ended} WHEN NOT MATCHED AND __s.{OP} = 'open' THEN INSERT {inserted}"
    )


def _count(request: WriteRequest, changes: str) -> _Counts:
    rows = request.session.sql(f"SELECT {OP} AS op, count(*) AS n FROM {changes} GROUP BY {OP}").collect()
    counts = {row["op"]: row["n"] for row in rows}
    operations = (*MOVES, "reject", "ended", "unknown", "late", "revived")
    return _Counts(*(counts.get(op, 0) for op in operations))


def _open_versions(request: WriteRequest) -> int:
    query = f"SELECT count(*) AS n FROM {request.table.quoted} WHERE `{IS_CURRENT}`"
    count: int = request.session.sql(query).collect()[0]["n"]
    return count


def _warnings(request: WriteRequest, history: History, changes: str, rejected: int) -> tuple[str, ...]:
    assert history.watermark is not None
    column, many = history.watermark.name, rejected != 1
    remedy = f"Correct '{column}' in the query; or rebuild"
    if history.sequence:
        remedy = "They came too late: rebuild" if many else "It came too late: rebuild"
    examples = key_examples(request, f"(SELECT * FROM {changes} WHERE {OP} = 'reject')", history.keys, _MOST_NAMED)
    warning = (
        f"{rejected} row{'s were' if many else ' was'} not written, because '{column}' is not later than in the open "
        f"version of the key, and the history has other values at that time: {examples}. {remedy} "
        f"the history from all rows that the query gives with --full-refresh"
    )
    return (warning,)


def _watermark(request: WriteRequest, columns: TableColumns) -> TableColumn | None:
    name = request.settings.watermark_column
    if name is None:
        return None
    column = columns.require(name, "watermark_column", request.table)
    if not column.type.is_temporal:
        raise StrategyError(
            f"watermark_column '{column.name}' is {column.type_text}, and scd2 needs a time for valid_from",
            where=str(request.table),
            remedy=f"Cast it in the query: CAST({column.quoted} AS timestamp).",
        )
    return column


def _refuse_own_columns(request: WriteRequest, columns: TableColumns, own: tuple[str, ...]) -> None:
    for name in own:
        if name in columns:
            raise StrategyError(
                f"the result has a column '{name}', which scd2 fills itself",
                where=str(request.table),
                remedy="Leave it out of the query or rename it, or set scd_valid_from and scd_valid_to to other names.",
            )


def _refuse_null_watermarks(request: WriteRequest, watermark: TableColumn | None, staging: str) -> None:
    if watermark is None:
        return
    query = f"SELECT count(*) - count({watermark.quoted}) AS n FROM {staging}"
    missing = request.session.sql(query).collect()[0]["n"]
    if missing:
        raise StrategyError(
            f"{missing} row{'s have' if missing != 1 else ' has'} NULL in watermark_column '{watermark.name}'",
            where=str(request.table),
            remedy="A version must begin at some time: filter these rows out, or fill the column in the query.",
        )
