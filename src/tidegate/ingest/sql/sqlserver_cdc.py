"""The changes of a table of SQL Server, from its change data capture.

A logical run reads the transactions that committed in (lower, upper]. Files have the columns of the table, and `_op`,
`_commit_time` (as the server's clock showed it) and `_sequence`, the order of changes: the LSN of the transaction, the
one inside it, and the operation. There is one batch, so nothing is kept for a continuation.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.errors import FailureKind
from tidegate.ingest.port import Batch, Bounds, Extent, SourceRequest
from tidegate.ingest.sql.cdc_reads import ChangesRead, LsnBounds, capture_instance, part_predicates
from tidegate.ingest.sql.jdbc_reader import JdbcReader, value_text, write_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["SqlServerCdcConnector"]

_HELD_BACK_SECONDS = 1
_PARALLEL = 4
_FEW_TRANSACTIONS = 1_000
"""So many are read by one query."""
_OPERATIONS = {1: "delete", 2: "insert", 4: "update"}


class SqlServerCdcConnector:
    def __init__(self, request: SourceRequest) -> None:
        rules = request.ingestion.source
        self._request, self._rules = request, rules
        self._reader = JdbcReader(request)
        self._table = self._reader.table
        self._instance = str(rules.properties.get("capture_instance") or capture_instance(self._table))

    def upper_bound(self, lower: str | None) -> str | None:
        """A tick that is younger than a second by the server's clock may get further transactions: it is left to the
        next run."""
        seconds = float(self._rules.properties.get("cdc_held_back_seconds", _HELD_BACK_SECONDS))
        rows = self._reader.rows(ChangesRead(self._instance, lower).newest_commit(round(seconds * 1000)))
        bound = value_text(rows[0][0]) if rows else None
        return lower if bound is None else bound

    def batches(self, bounds: Bounds, state: str | None, folder: Path) -> Iterator[Batch]:
        if bounds.upper is None or bounds.upper == bounds.lower:
            return
        read = ChangesRead(self._instance, bounds.lower, bounds.upper)
        lsn = self._lsn_bounds(read)
        if lsn.is_empty:
            return
        assert lsn.first is not None
        assert lsn.end is not None
        parts = self._reader.rows(read.parts(lsn.first, lsn.end, _PARALLEL))
        is_small = sum(transactions for _, transactions in parts) < _FEW_TRANSACTIONS
        predicates = ["1 = 1"] if is_small else part_predicates([bytes(last) for last, _ in parts])
        changes = self._reader.frame(f"({read.changes(lsn.first, lsn.end)}) changes", predicates)
        with self._reader.explained():
            (written,) = write_rows(_landed(changes), folder, self._rules.format)
        self._request.report(Extent("batches", 1, written.rows, 1))
        if written.rows:
            yield Batch(written.files, written.rows)

    def close(self) -> None:
        """Connections belong to Spark's tasks."""

    def _lsn_bounds(self, read: ChangesRead) -> LsnBounds:
        first, last, oldest, newest, retained = self._reader.rows(read.lsn_bounds())[0]
        bounds = LsnBounds(_lsn(first), _lsn(last), _lsn(oldest), _lsn(newest), retained == 1)
        if not bounds.is_captured:
            raise self._reader.error(
                f"table {self._table} has no capture instance '{self._instance}' that this user may read",
                FailureKind.NOT_FOUND,
                "enable change data capture for the table (sys.sp_cdc_enable_table), grant its gating role, or set "
                "'capture_instance' in the contract",
            )
        if bounds.are_changes_lost:
            raise self._reader.error(
                f"changes of table {self._table} after {read.lower} are lost: the server has cleaned up its capture "
                f"instance '{self._instance}', whose oldest LSN is now 0x{(bounds.oldest or b'').hex().upper()}",
                FailureKind.NOT_FOUND,
                "load the table once in full (connector sqlserver, full_snapshot), reset the checkpoint of its bronze "
                "table, and run more often than the retention of change data capture, or lengthen that",
            )
        return bounds


def _lsn(value: bytes | bytearray | None) -> bytes | None:
    return None if value is None else bytes(value)


def _landed(changes: DataFrame) -> DataFrame:
    """The columns of the table, with what distinguishes the changes in place of the log's own columns."""
    from pyspark.sql import functions as F

    operation = F.col("`__$operation`")
    names = F.create_map(*(F.lit(part) for item in _OPERATIONS.items() for part in item))
    sequence = F.concat_ws("-", F.hex("`__$start_lsn`"), F.hex("`__$seqval`"), operation.cast("string"))
    own = [name for name in changes.columns if not name.startswith("__$") and name != "_commit_time"]
    return changes.select(
        *(F.col("`" + name.replace("`", "``") + "`") for name in own),
        names[operation].alias("_op"),
        F.col("_commit_time"),
        sequence.alias("_sequence"),
    )
