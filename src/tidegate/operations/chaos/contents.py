"""What main of a copied lake holds at one moment, table by table, as numbers that can be compared."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from uuid import uuid4

from tidegate.errors import TidegateError
from tidegate.lake import BranchCatalog, ViewMetadata, read_metadata
from tidegate.lake.port import Heads, Pointer
from tidegate.names import TableName
from tidegate.operations.chaos.judging import State, TableContent
from tidegate.spark.session import child_session
from tidegate.write.columns import Column, Columns, columns_of
from tidegate.write.content import content_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Contents"]

_Key = tuple[TableName, str, int | None]

_OF_RUN = ("_run_id",)
"""Columns of a quarantine that name the run: another one after each try."""


class Contents:
    """Remembers what it has read: a snapshot never changes. `spark` gives the session that all others are children of;
    `left_out`: tables that are not compared."""

    def __init__(self, spark: Callable[[], SparkSession], left_out: Collection[TableName]) -> None:
        self._spark = spark
        self._left_out = frozenset(left_out)
        self._known: dict[_Key, TableContent] = {}

    def of(self, catalog: BranchCatalog, heads: Heads) -> State:
        wanted = {table: _key(table, pointer) for table, pointer in heads.items() if table not in self._left_out}
        unknown = {table: heads[table] for table, key in wanted.items() if key not in self._known}
        if unknown:
            self._read(catalog, unknown)
        return {table: self._known[key] for table, key in wanted.items()}

    def _read(self, catalog: BranchCatalog, unknown: Heads) -> None:
        """On a branch that is put where main was at that moment."""
        branch = f"read-{datetime.now(UTC):%Y%m%d-%H%M%S}-{uuid4().hex[:8]}"
        catalog.create_branch(branch)
        try:
            for table, pointer in unknown.items():
                if catalog.pointer(branch, table) != pointer:
                    catalog.restore(branch, table, pointer)
            session = child_session(self._spark(), catalog.spark_conf(branch), catalog.spark_catalog(branch))
            for table, pointer in unknown.items():
                self._known[_key(table, pointer)] = _content(session, table, pointer)
        finally:
            catalog.drop_branch(branch)


def _key(table: TableName, pointer: Pointer) -> _Key:
    """The same for the same rows, also where another copy of the lake has them."""
    metadata = read_metadata(pointer)
    if isinstance(metadata, ViewMetadata):
        return table, metadata.columns_digest, None
    return table, f"{metadata.uuid} {metadata.columns_digest}", metadata.current_snapshot_id


def _content(session: SparkSession, table: TableName, pointer: Pointer) -> TableContent:
    metadata = read_metadata(pointer)
    if isinstance(metadata, ViewMetadata):
        return TableContent(None, metadata.columns_digest)
    try:
        columns = columns_of(session.table(table.quoted))
        compared = columns.without(_OF_RUN) if table.beside_quarantine else columns
        rounded = Columns(tuple(Column(c.name, "string" if _is_floating(c) else c.type) for c in compared))
        found = content_of(session, f"(SELECT {', '.join(map(_value, compared))} FROM {table.quoted})", rounded)
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise TidegateError(f"{table} of the copied lake cannot be read: {reason}", where=pointer.location) from error
    shape = ", ".join(f"{column.name} {column.type_sql}" for column in columns)
    return TableContent(found.rows, f"{shape} | {found.first:x} {found.second:x}")


def _is_floating(column: Column) -> bool:
    return column.type in ("float", "double")


def _value(column: Column) -> str:
    """Sums of floating numbers differ in their last digits where the same rows are added in another order."""
    name = column.quoted
    if not _is_floating(column):
        return name
    return f"IF({name} IS NULL, NULL, format_string('%.9e', CAST({name} AS DOUBLE))) AS {name}"
