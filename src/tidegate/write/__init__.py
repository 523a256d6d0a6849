"""Writes a result to its table on the branch, with the model's strategy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from tidegate.project.strategies import Strategy
from tidegate.write.drift import narrower_columns, with_narrower
from tidegate.write.replace_table import write_view
from tidegate.write.request import (
    DELETED,
    DeleteRequest,
    DeletionCounts,
    DriftChange,
    SourceSnapshot,
    Touched,
    WriteOutcome,
    WriteRequest,
)
from tidegate.write.spark_sql import quote
from tidegate.write.strategies.append_only import write_append_only
from tidegate.write.strategies.current_state import write_current_state
from tidegate.write.strategies.full_refresh import write_full_refresh
from tidegate.write.strategies.groups import write_groups
from tidegate.write.strategies.incremental import write_incremental
from tidegate.write.strategies.scd2 import write_scd2
from tidegate.write.strategies.snapshot import write_snapshot
from tidegate.write.strategies.time_interval import write_time_interval
from tidegate.write.write_columns import TableColumns, result_columns

__all__ = [
    "DELETED",
    "WRITERS",
    "DeleteRequest",
    "DeletionCounts",
    "DriftChange",
    "SourceSnapshot",
    "Touched",
    "WriteOutcome",
    "WriteRequest",
    "write",
    "write_view",
]

WRITERS: Mapping[Strategy, Callable[[WriteRequest, TableColumns], WriteOutcome]] = {
    Strategy.FULL_REFRESH: write_full_refresh,
    Strategy.INCREMENTAL: write_incremental,
    Strategy.APPEND_ONLY: write_append_only,
    Strategy.DELETE_INSERT: write_groups,
    Strategy.TRACKED: write_groups,
    Strategy.SCD2: write_scd2,
    Strategy.SNAPSHOT: write_snapshot,
    Strategy.TIME_INTERVAL: write_time_interval,
    Strategy.CURRENT_STATE: write_current_state,
}


def write(request: WriteRequest) -> WriteOutcome:
    """Write one result with its strategy. If anything is raised, the table on the branch is restored."""
    before = request.lake.pointer(request.table)
    request = _without_unused_signals(request)
    columns = result_columns(request.table, request.result).without((DELETED,))
    try:
        narrower = narrower_columns(request, columns)
        request.stamp()
        outcome = WRITERS[request.settings.strategy](request, columns)
        return with_narrower(replace(outcome, counted=request.observed.counted), request, narrower)
    except BaseException:
        if request.lake.pointer(request.table) != before:
            request.lake.restore(request.table, before)
        raise


def _without_unused_signals(request: WriteRequest) -> WriteRequest:
    """Rows that only say that their key is deleted are no data where no deletes are applied."""
    applied = request.deletion is not None and request.settings.traits.applies_deletes
    if applied or DELETED not in request.result.columns:
        return request
    rows = request.result.where(f"NOT coalesce({quote(DELETED)}, false)")
    return replace(request, result=rows.drop(DELETED))
