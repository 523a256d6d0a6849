"""Rules that hold by what Iceberg noted of each file that it wrote: no NULL, no NaN, all numbers within limits."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from tidegate.checks.check_values import ValueRange
from tidegate.errors import LakeError
from tidegate.lake.metadata import TableMetadata, ViewMetadata

if TYPE_CHECKING:
    from tidegate.lake.manifests import ColumnBounds

__all__ = ["FileProof"]

WORTH_IT = 1_000_000
"""Rows from which reading a column takes longer than reading the manifests."""

_MOST_FILES = 1_000


class FileProof:
    """Of the table as that metadata has it."""

    def __init__(self, metadata: TableMetadata | ViewMetadata | None, least_rows: int = WORTH_IT) -> None:
        self._metadata = metadata
        self._least_rows = least_rows

    def proves(self, within: ValueRange) -> bool:
        """False: it may hold or not. The metrics of the files also cover deleted rows."""
        spread = self._spreads.get(within.column.lower())
        if spread is None or (spread.nulls and not within.nulls) or (spread.nans and not within.nans):
            return False
        if within.low is None and within.high is None:
            return True
        if spread.least is None or spread.most is None:
            return False
        if within.low is not None and (spread.least < within.low or (within.inside and spread.least == within.low)):
            return False
        return within.high is None or not (spread.most > within.high or (within.inside and spread.most == within.high))

    @cached_property
    def _spreads(self) -> dict[str, ColumnBounds]:
        table = self._metadata
        if not isinstance(table, TableMetadata) or table.current is None or table.total_records < self._least_rows:
            return {}
        if not 0 < table.current.count("total-data-files") <= _MOST_FILES:
            return {}
        from tidegate.lake.manifests import column_bounds

        try:
            by_id = column_bounds(table.current, table.fields)
        except LakeError:
            return {}  # the check reads the rows instead, and reports what is wrong
        return {field.name.lower(): by_id[field.id] for field in table.fields if field.id in by_id}
