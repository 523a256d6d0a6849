"""The states of main that readers see during a run, and whether whole runs make them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING
from uuid import uuid4

from tidegate.datatypes import STRING
from tidegate.errors import TidegateError
from tidegate.lake import ViewMetadata, read_metadata
from tidegate.lake.branch_catalog import MAIN, BranchCatalog, Heads, Pointer
from tidegate.names import TableName
from tidegate.spark.session import child_session
from tidegate.write.observed_rows import content_of
from tidegate.write.write_columns import TableColumn, TableColumns, columns_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Contents", "MainObserver", "State", "TableContent", "differences", "mixes", "together"]


@dataclass(frozen=True, slots=True)
class TableContent:
    rows: int | None
    """None for a view."""

    digest: str
    """Of the columns and all rows in any order, or of the view's text."""


State = Mapping[TableName, TableContent]

_MOMENTS = ("before the run", "after it", "after one more")


def together(
    mode: str, tables: Collection[TableName], waves: Sequence[Sequence[TableName]]
) -> tuple[tuple[TableName, ...], ...]:
    """Which tables a publish of this mode moves in one step. A quarantine moves with its model's table."""
    if mode in ("run", "all"):
        return (tuple(sorted(tables)),)
    owners = {table: table.beside_quarantine or table for table in tables}
    steps = waves if mode == "wave" else [[table] for wave in waves for table in wave]
    groups = [tuple(sorted(table for table in tables if owners[table] in step)) for step in steps]
    return tuple(group for group in groups if group)


def mixes(observed: State, whole: Sequence[State], groups: Iterable[Sequence[TableName]]) -> Iterator[str]:
    """What is wrong with a state of main that a reader saw. `whole`: the states that it may be in, in order."""
    for group in groups:
        if any(all(observed.get(table) == state.get(table) for table in group) for state in whole):
            continue
        strange = [table for table in group if all(observed.get(table) != state.get(table) for state in whole)]
        if strange:
            yield f"readers saw {_names(strange)} in a state that no run leaves"
        else:
            yield f"readers saw a mix: {_apart(observed, whole, group)}"


def _apart(observed: State, whole: Sequence[State], group: Iterable[TableName]) -> str:
    fits = {table: [observed.get(table) == state.get(table) for state in whole] for table in group}
    parts = (
        f"{_names(tables)} as {moment}"
        for at, moment in enumerate(_MOMENTS)
        if (tables := [table for table, fit in fits.items() if fit.index(True) == at and not all(fit)])
    )
    return " beside ".join(parts)


def differences(left: State, ended: Sequence[State]) -> Iterator[str]:
    """In what the final state differs from the first of `ended`, where it is none of them."""
    expected = ended[0]
    tables = sorted({*left, *expected})
    if any(all(left.get(table) == state.get(table) for table in tables) for state in ended):
        return
    for table in tables:
        content, expected_content = left.get(table), expected.get(table)
        if content != expected_content:
            yield f"{table.layer}.{table.name} {_difference(content, expected_content)}"


def _difference(actual: TableContent | None, expected: TableContent | None) -> str:
    if actual is None or expected is None:
        return "is missing" if actual is None else "should not be there"
    if actual.rows != expected.rows:
        return f"has {actual.rows} rows instead of {expected.rows}"
    return "has other rows or columns" if actual.rows is not None else "has another text"


def _names(tables: Iterable[TableName]) -> str:
    return ", ".join(f"{table.layer}.{table.name}" for table in tables)


_PAUSE_SECONDS = 0.02


class MainObserver:
    """Reads main continuously. `history`: its states in order; `failures`: why a read failed."""

    def __init__(self, catalog: BranchCatalog) -> None:
        self._catalog = catalog
        self._stop = threading.Event()
        self._looking = threading.Lock()
        self._thread = threading.Thread(target=self._watch, name="chaos-reader", daemon=True)
        self.history: list[Heads] = []
        self.failures: set[str] = set()

    def __enter__(self) -> MainObserver:
        self.look()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def look(self) -> Heads:
        with self._looking:
            heads = self._catalog.head(MAIN)
            if not self.history or self.history[-1] != heads:
                self.history.append(heads)
            return heads

    def _watch(self) -> None:
        while not self._stop.wait(_PAUSE_SECONDS):
            try:
                self.look()
            except TidegateError as error:
                self.failures.add(f"a reader could not look at main: {error}")


_Key = tuple[TableName, str, int | None]

_OF_RUN = ("_run_id",)
"""Columns of a quarantine that name the run: another one after each try."""


class Contents:
    """Remembers what it has read: a snapshot never changes. `spark` gives the session that all others are children of;
    `left_out`: tables that are not compared."""

    def __init__(self, spark: Callable[[], SparkSession], left_out: Collection[TableName]) -> None:
        self._spark = spark
        self._left_out = frozenset(left_out)
        self._read_before: dict[_Key, TableContent] = {}

    def of(self, catalog: BranchCatalog, heads: Heads) -> State:
        keys = {table: _key(table, pointer) for table, pointer in heads.items() if table not in self._left_out}
        unknown = {table: heads[table] for table, key in keys.items() if key not in self._read_before}
        if unknown:
            self._read(catalog, unknown)
        return {table: self._read_before[key] for table, key in keys.items()}

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
                self._read_before[_key(table, pointer)] = _content(session, table, pointer)
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
        rounded = TableColumns(tuple(TableColumn(c.name, STRING if c.type.is_floating else c.type) for c in compared))
        content = content_of(session, f"(SELECT {', '.join(map(_value, compared))} FROM {table.quoted})", rounded)
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise TidegateError(f"{table} of the copied lake cannot be read: {reason}", where=pointer.location) from error
    shape = ", ".join(f"{column.name} {column.type_sql}" for column in columns)
    return TableContent(content.rows, f"{shape} | {content.first:x} {content.second:x}")


def _value(column: TableColumn) -> str:
    """Sums of floating numbers differ in their last digits where the same rows are added in another order."""
    name = column.quoted
    if not column.type.is_floating:
        return name
    return f"IF({name} IS NULL, NULL, format_string('%.9e', CAST({name} AS DOUBLE))) AS {name}"
