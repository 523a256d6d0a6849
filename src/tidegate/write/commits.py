"""Commits of a table: what a statement changed, what a commit records for its readers, and the limit on deletes."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate.errors import MassDeleteError
from tidegate.lake.branch_catalog import Pointer
from tidegate.lake.changes import CHANGED_COLUMNS, ROW_KEY
from tidegate.lake.metadata import Snapshot
from tidegate.lake.unfinished_writes import PARTIAL
from tidegate.spark.session import temporary_conf
from tidegate.write.request import WriteRequest
from tidegate.write.write_columns import TableColumns, columns_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "TableBefore",
    "commit_since",
    "existing_columns",
    "existing_rows",
    "partly_written",
    "refuse_mass_delete",
    "row_key_recorded",
    "table_before",
]


@dataclass(frozen=True, slots=True)
class TableBefore:
    """A table before a statement."""

    pointer: Pointer | None
    snapshot_id: int | None
    rows: int


def table_before(request: WriteRequest) -> TableBefore:
    metadata = request.lake.table(request.table)
    pointer = request.lake.pointer(request.table)
    return TableBefore(pointer, metadata.current_snapshot_id if metadata else None, existing_rows(request))


def existing_rows(request: WriteRequest) -> int:
    """Rows of the table now, from its metadata."""
    metadata = request.lake.table(request.table)
    return metadata.total_records if metadata else 0


def existing_columns(request: WriteRequest) -> TableColumns:
    """The columns of the table now, from its metadata; none where there is no table."""
    metadata = request.lake.table(request.table)
    return columns_in(metadata) if metadata else TableColumns(())


def commit_since(request: WriteRequest, before: TableBefore) -> Snapshot | None:
    """The commit that changed rows. A commit that changed none is reverted, so that it triggers no downstream model."""
    metadata = request.lake.table(request.table)
    commit = metadata.current if metadata else None
    if commit is not None and commit.id != before.snapshot_id and commit.changed_rows:
        return commit
    request.lake.restore(request.table, before.pointer)
    return None


def refuse_mass_delete(request: WriteRequest, gone: int, existing: int) -> None:
    """Protects a table whose inputs lost most of their rows. If the caller has already written, `write` restores the
    table when this raises."""
    if request.allow_deletes or gone * 2 <= existing:
        return
    raise MassDeleteError(
        f"this would delete {gone} of {existing} keys, more than half of the table",
        where=str(request.table),
        remedy="Check that the inputs are complete; if the deletes are right, run again with --allow-deletes.",
    )


_PROPERTY = "spark.sql.iceberg.snapshot-property"


@contextlib.contextmanager
def row_key_recorded(session: SparkSession, key: Sequence[str], changed: Sequence[str] | None = None) -> Iterator[None]:
    """Commits made inside record that they match rows by `key` and never update it, so that readers need not compare.

    `changed`: no other column differs in any row.
    """
    properties = {f"{_PROPERTY}.{ROW_KEY}": json.dumps(list(key))}
    if changed is not None:
        properties[f"{_PROPERTY}.{CHANGED_COLUMNS}"] = json.dumps(list(changed))
    with temporary_conf(session, properties):
        yield


@contextlib.contextmanager
def partly_written(session: SparkSession, *, if_any: bool = True) -> Iterator[None]:
    """Commits made inside are marked as not the last of their write, unless `if_any` is False."""
    with temporary_conf(session, {f"{_PROPERTY}.{PARTIAL}": "true"} if if_any else {}):
        yield
