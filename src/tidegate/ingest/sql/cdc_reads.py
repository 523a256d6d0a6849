"""The statements of a read of SQL Server's change data capture.

Bounds are commit times, which SQL Server keeps in ticks of 3.33 ms that several transactions may share. They are turned
into log sequence numbers (LSN) by the server itself, and the changes are read between those.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidegate.ingest.sql.sql_dialects import TRANSACT_SQL, ValueKind, name_parts

__all__ = ["ChangesRead", "LsnBounds", "capture_instance", "part_predicates"]

_MAPPING = "[cdc].[lsn_time_mapping]"
_TIME = "[tran_end_time]"


def capture_instance(table: str) -> str:
    """The name that SQL Server gives by default: `dbo_Orders` for `dbo.Orders`."""
    parts = name_parts(table)
    return "_".join(parts[-2:] if len(parts) > 1 else ("dbo", *parts))


@dataclass(frozen=True, slots=True)
class LsnBounds:
    """The answer to `ChangesRead.lsn_bounds`; None is NULL."""

    first: bytes | None
    """The smallest LSN behind the lower bound; of a first read the oldest one that the instance has."""

    last: bytes | None
    oldest: bytes | None
    """The oldest LSN of which the capture instance still has all changes."""

    newest: bytes | None
    retained: bool
    """A commit at or before the lower bound is still known, so none behind it was forgotten."""

    @property
    def is_captured(self) -> bool:
        return self.oldest is not None and any(self.oldest)

    @property
    def are_changes_lost(self) -> bool:
        assert self.oldest is not None
        return not self.retained or (self.first is not None and self.first < self.oldest)

    @property
    def end(self) -> bytes | None:
        ends = [lsn for lsn in (self.last, self.newest) if lsn is not None]
        return min(ends) if len(ends) == 2 else None

    @property
    def is_empty(self) -> bool:
        return self.first is None or self.end is None or self.first > self.end


@dataclass(frozen=True, slots=True)
class ChangesRead:
    instance: str
    lower: str | None = None
    """Exclusive commit time, as the server's clock shows it; None: from the oldest change."""

    upper: str | None = None
    """Inclusive."""

    def newest_commit(self, held_back_ms: int) -> str:
        """The newest commit time, as `bound`, that no further transaction can get: its tick is over for so long."""
        bound = TRANSACT_SQL.as_text(f"MAX({_TIME})", ValueKind.TIMESTAMP)
        clock = f"DATEADD(millisecond, -{held_back_ms}, GETDATE())"
        after = "" if self.lower is None else f" AND {_TIME} > {_time(self.lower)}"
        return f"SELECT {bound} AS [bound] FROM {_MAPPING} WHERE {_TIME} < {clock}{after}"

    def lsn_bounds(self) -> str:
        """One row: first, last, oldest, newest LSN, and whether a commit at or before the lower bound is known."""
        assert self.upper is not None
        instance = TRANSACT_SQL.literal(self.instance, ValueKind.NATIONAL_TEXT)
        oldest = f"sys.fn_cdc_get_min_lsn({instance})"
        first, retained = oldest, "1"
        if self.lower is not None:
            first = f"sys.fn_cdc_map_time_to_lsn('smallest greater than', {_time(self.lower)})"
            exists = f"EXISTS (SELECT 1 FROM {_MAPPING} WHERE {_TIME} <= {_time(self.lower)})"
            retained = f"CASE WHEN {exists} THEN 1 ELSE 0 END"
        last = f"sys.fn_cdc_map_time_to_lsn('largest less than or equal', {_time(self.upper)})"
        newest = "sys.fn_cdc_get_max_lsn()"
        return (
            f"SELECT {first} AS [first], {last} AS [last], {oldest} AS [oldest], {newest} AS [newest], "
            f"{retained} AS [retained]"
        )

    def parts(self, first: bytes, last: bytes, count: int) -> str:
        """The last LSN of each of so many parts, and how many transactions of the whole server it has."""
        numbered = (
            f"SELECT [start_lsn], NTILE({count}) OVER (ORDER BY [start_lsn]) AS [part] FROM {_MAPPING} "
            f"WHERE [start_lsn] >= {_lsn(first)} AND [start_lsn] <= {_lsn(last)}"
        )
        return f"SELECT MAX([start_lsn]) AS [last], COUNT(*) AS [transactions] FROM ({numbered}) r GROUP BY [part]"

    def changes(self, first: bytes, last: bytes) -> str:
        """The changes of both LSN and those between, without images of rows before an update."""
        function = f"[cdc].{TRANSACT_SQL.quoted(f'fn_cdc_get_all_changes_{self.instance}')}"
        return (
            f"SELECT c.*, m.{_TIME} AS [_commit_time] FROM {function}({_lsn(first)}, {_lsn(last)}, N'all') c "
            f"LEFT JOIN {_MAPPING} m ON m.[start_lsn] = c.[__$start_lsn] WHERE c.[__$operation] IN (1, 2, 4)"
        )


def part_predicates(ends: Sequence[bytes]) -> list[str]:
    """Conditions that each change fulfils one of, from the last LSN of the parts."""
    inner = sorted(ends)[:-1]
    column = "[__$start_lsn]"
    starts = [None, *(f"{column} > {_lsn(end)}" for end in inner)]
    stops = [*(f"{column} <= {_lsn(end)}" for end in inner), None]
    return [" AND ".join(filter(None, both)) or "1 = 1" for both in zip(starts, stops, strict=True)]


def _time(text: str) -> str:
    return TRANSACT_SQL.literal(text, ValueKind.TIMESTAMP)


def _lsn(lsn: bytes) -> str:
    return TRANSACT_SQL.literal(lsn.hex().upper(), ValueKind.BINARY)
