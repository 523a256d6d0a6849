"""full_refresh: the table becomes the result, in one commit."""

from __future__ import annotations

from tidegate.errors import EmptyResultError
from tidegate.write.columns import Columns
from tidegate.write.drift import replacement_drift
from tidegate.write.request import WriteOutcome, WriteRequest
from tidegate.write.staging import RESULT
from tidegate.write.tables import replace_table

__all__ = ["write_full_refresh"]


def write_full_refresh(request: WriteRequest, columns: Columns) -> WriteOutcome:
    before = request.lake.pointer(request.table)
    drift = replacement_drift(request, columns)
    rows = replace_table(request, f"SELECT * FROM {RESULT}", columns)
    if rows == 0 and request.settings.on_empty == "fail":
        raise EmptyResultError(
            "the result has no rows, and on_empty is fail",
            where=str(request.table),
            remedy="Look at the inputs; set on_empty to keep (the old rows stay) or replace if no rows are right.",
        )
    if rows == 0 and request.settings.on_empty == "keep" and before is not None:
        request.lake.restore(request.table, before)
        kept = "the result has no rows; on_empty: keep left the table as it was"
        return WriteOutcome(0, 0, changed=False, warnings=(kept,))
    return WriteOutcome(rows, 0, changed=True, drift=drift)
