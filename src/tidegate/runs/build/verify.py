"""Compares a table that was updated from changes with what a full build gives.

Nothing is written for it: the full query runs once more and both sides are reduced to an order-free number. Only where
those differ are rows compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tidegate.compiler.compiled import CompiledModel
from tidegate.jsontext import json_text
from tidegate.planner.decide import keeps_history, result_is_complete
from tidegate.project.model import Materialized
from tidegate.quality import plain
from tidegate.quality.check_answers import redact_row
from tidegate.runs.build.row_diff_sql import AFTER, BEFORE, KIND, matched_rows, pair_columns
from tidegate.write import WriteRequest
from tidegate.write.commits import existing_columns
from tidegate.write.drift import aligned
from tidegate.write.key_columns import deduplicated_rows, key_columns
from tidegate.write.observed_rows import content_of
from tidegate.write.staging import RESULT, result_view
from tidegate.write.write_columns import TableColumns, result_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Verified", "can_be_verified", "verification_due", "verify"]

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Verified:
    """`rows` and `full_rows` are the numbers of rows; the next two how many only one side has, with samples of them."""

    equal: bool
    rows: int
    full_rows: int
    only_table: int = 0
    only_full: int = 0
    table_samples: tuple[Mapping[str, Any], ...] = ()
    full_samples: tuple[Mapping[str, Any], ...] = ()

    @property
    def message(self) -> str:
        """The warning of the run where they are not equal."""
        sides = (
            ("built from changes it has", self.only_table, self.table_samples),
            ("built from all rows it has", self.only_full, self.full_samples),
        )
        differences = [
            f"{words} {count} row{'s' if count != 1 else ''} that the other has not"
            + (f", such as {', '.join(json_text(dict(row)) for row in samples[:_SHOWN])}" if samples else "")
            for words, count, samples in sides
            if count
        ]
        return f"verification failed: {'; '.join(differences) or 'its columns are others'}; the full build was taken"


def can_be_verified(model: CompiledModel) -> bool:
    """Whether the table depends only on its query and the current inputs: no history, no time, no randomness."""
    return (
        model.model.settings.materialized is Materialized.TABLE
        and result_is_complete(model)
        and not keeps_history(model)
        and model.deterministic
    )


def verification_due(requested: bool, every: int | None, deltas: int) -> bool:
    """`deltas`: how often the table was brought up to date from changes since it was last whole, this time included."""
    return requested or (every is not None and deltas >= every)


def verify(request: WriteRequest, limit: int = 5) -> Verified:
    """Compare the table with the full result. `request` is the one that would write that result."""
    columns = result_columns(request.table, request.result)
    table = existing_columns(request)
    # A column that the query no longer returns stays for a while; a full build does not have it.
    compared = TableColumns(tuple(column for column in table if column.name in columns))
    with result_view(request):
        current = f"(SELECT {compared.sql()} FROM {request.table.quoted})"
        full = f"(SELECT {aligned(compared, columns)} FROM ({_full_rows(request, columns)}))"
        table_content, full_content = (content_of(request.session, side, compared) for side in (current, full))
        if table_content == full_content and len(compared) == len(columns):
            return Verified(True, table_content.rows, full_content.rows)
        # A merge leaves the key as it is, and 0.0 is the same key as -0.0.
        merged = request.settings.key if request.settings.traits.merges_by_key else ()
        keys = {name.lower() for name in merged}
        pairs = [replace(pair, is_key=pair.name.lower() in keys) for pair in pair_columns(compared, compared)]
        exact = [pair for pair in pairs if not pair.floating]
        changes = request.session.sql(matched_rows(current, full, pairs, exact, loosely=True)).persist()
        try:
            counts = {row[KIND]: int(row["count"]) for row in changes.groupBy(KIND).count().collect()}
            both = counts.get("updated", 0)
            only_table, only_full = counts.get("deleted", 0) + both, counts.get("inserted", 0) + both
            return Verified(
                equal=not counts and len(compared) == len(columns),
                rows=table_content.rows,
                full_rows=full_content.rows,
                only_table=only_table,
                only_full=only_full,
                table_samples=_samples(changes, BEFORE, limit, request.hidden),
                full_samples=_samples(changes, AFTER, limit, request.hidden),
            )
        finally:
            changes.unpersist()


def _full_rows(request: WriteRequest, columns: TableColumns) -> str:
    """As the strategy would write them: of several rows with a key, a merge may take the newest."""
    if request.settings.traits.merges_by_key:
        return deduplicated_rows(request, RESULT, columns, key_columns(request, columns))
    return f"SELECT * FROM {RESULT}"


def _samples(changes: DataFrame, side: str, limit: int, hidden: frozenset[str]) -> tuple[Mapping[str, Any], ...]:
    rows = changes.where(f"{side} IS NOT NULL").select(side).limit(limit).collect()
    return tuple(redact_row(plain(row[side]), hidden) for row in rows)
