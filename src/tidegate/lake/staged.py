"""Tables that live for one write, and what is left of them where a process that wrote main itself was killed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from tidegate.lake.view import BranchView
from tidegate.names import TableName

__all__ = ["STAGED", "StagedTable", "staged_tables"]

STAGED = "tidegate.staging"
"""A property of such tables; anything else of such a name is a user's."""


@dataclass(frozen=True, slots=True)
class StagedTable:
    """`run_id`: the run that made it, None where it does not say."""

    table: TableName
    made_at: datetime
    run_id: str | None


def staged_tables(lake: BranchView) -> Iterator[StagedTable]:
    """Their names end in `__staging` or the like, so few metadata files are read."""
    for table in sorted(table for table in lake.heads() if "__" in table.name and not table.beside_quarantine):
        found = lake.table(table)
        if found is None or found.current is None or found.properties.get(STAGED) != "true":
            continue
        made_at = datetime.fromtimestamp(found.current.timestamp_ms / 1000, UTC)
        yield StagedTable(table, made_at, found.current.summary.get("tidegate.run-id"))
