"""What a table of any format takes and gives for one batch of a load."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Protocol

__all__ = ["BatchOutcome", "LoadTable", "TableBatch", "TableKey", "Transaction"]


@dataclass(frozen=True, slots=True)
class TableKey:
    columns: tuple[str, ...] = ()
    partition: str | None = None


@dataclass(frozen=True, slots=True)
class Transaction:
    application: str
    version: int
    content: str
    """What the batch consists of: a transaction of the same number with other content is another batch."""

    @property
    def note(self) -> str:
        """For the history of the table."""
        return json.dumps({"load": self.application, "batch": self.version, "content": self.content}, sort_keys=True)


@dataclass(frozen=True, slots=True)
class TableBatch:
    paths: tuple[str, ...]
    """Parquet files of one chunk each, as Spark reads them."""

    rows: int
    key: TableKey
    """Without columns: the rows are appended."""

    transaction: Transaction


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """Rows; none where the table had the transaction already."""

    inserted: int = 0
    updated: int = 0
    unchanged: int = 0
    repeated: int = 0
    """Rows whose key a later row of the batch has too."""

    drift: tuple[str, ...] = ()
    """What became of the columns of the table, one line each."""

    applied: bool = True


class LoadTable(Protocol):
    """What a table's format must be able to do."""

    def write(self, batch: TableBatch) -> BatchOutcome:
        """In one commit that carries the transaction; nothing where the table has it already."""

    def has(self, transaction: Transaction) -> bool:
        """Whether exactly this batch is in the table."""
