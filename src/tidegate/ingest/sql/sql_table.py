"""Tables of SQL databases: whole or from a bound on, in one query or in batches. Their connectors differ by dialect."""

from __future__ import annotations

import json
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tidegate.config import DatabaseSource, JdbcSource
from tidegate.errors import FailureKind, SourceError
from tidegate.ingest.port import Batch, Bounds, Extent, SourceRequest
from tidegate.ingest.sql.jdbc_reader import JdbcReader, WrittenTask, value_text, write_rows
from tidegate.ingest.sql.sql_dialects import POSTGRES, TRANSACT_SQL, SqlColumn, SqlDialect, generic_dialect
from tidegate.ingest.sql.sql_reads import Key, SqlTableRead, with_key

__all__ = ["JdbcConnector", "PostgresConnector", "SqlServerConnector"]

_AHEAD = "_ahead"
_AT_ONCE = 8
"""So many batches are read by one job of Spark, whose tasks run side by side."""


class SqlTableConnector(ABC):
    def __init__(self, request: SourceRequest) -> None:
        self._request, self._rules = request, request.ingestion.source
        self._reader = JdbcReader(request)
        self._table = self._reader.table
        self._dialect = self._dialect_of(self._reader.source)
        self._columns: dict[str, SqlColumn] | None = None
        self._landed_rows = 0
        self._ahead: Path | None = None

    @abstractmethod
    def _dialect_of(self, source: DatabaseSource | JdbcSource) -> SqlDialect: ...

    def upper_bound(self, lower: str | None) -> str | None:
        if self._rules.full_snapshot:
            return None
        read = self._read(Bounds(lower))
        rows = self._reader.rows(read.greatest())
        bound = value_text(rows[0][0]) if rows else None
        if rows and any(rows[0][1:]):
            when = "which only the first read takes" if lower is None else "which are not read"
            column, values = self._rules.filtering_column, "infinity or NaN"
            self._request.note(f"table {self._table} has rows with {values} in '{column}', {when}: they give no bound")
        if bound is None and lower is None and self._reader.rows(read.has_rows())[0][0]:
            raise self._without_values()
        return lower if bound is None else bound

    def batches(self, bounds: Bounds, state: str | None, folder: Path) -> Iterator[Batch]:
        if not self._rules.full_snapshot and (bounds.upper is None or bounds.upper == bounds.lower):
            return
        read = self._read(bounds)
        if not self._rules.batched:
            (written,) = self._write(read, [read.whole()], folder)
            self._report(written.rows, 1, 1)
            yield Batch(written.files, written.rows)
            return
        yield from self._batched(read, state, folder)

    def close(self) -> None:
        """Connections belong to Spark's tasks."""
        if self._ahead is not None:
            shutil.rmtree(self._ahead, ignore_errors=True)

    def _batched(self, read: SqlTableRead, state: str | None, folder: Path) -> Iterator[Batch]:
        """Several batches are read by one job, each by a task of its own, and are then handed over one by one. Until
        then they wait beside `folder`, which is emptied after each batch."""
        self._ahead = ahead = folder.with_name(_AHEAD)
        after, done = _read_state(state)
        ends: list[Key | None] = [*self._range_ends(read, after), None]
        for first in range(0, len(ends), _AT_ONCE):
            lasts = ends[first : first + _AT_ONCE]
            predicates = [read.range(*each) for each in zip([after, *lasts[:-1]], lasts, strict=True)]
            without_value = read.without_value() if done + first == 0 else None
            _make_empty(ahead)
            batches = self._write(read, [*predicates, *([without_value] if without_value else [])], ahead)
            if without_value:
                batches = _with_first(batches)
            for number, (last, written) in enumerate(zip(lasts, batches, strict=True), done + first + 1):
                self._report(written.rows, number - done, len(ends))
                if written.rows or number == 1:
                    for file in written.files:
                        (ahead / file).rename(folder / file)
                    yield Batch(written.files, written.rows, None if last is None else _state(last, number))
            after = lasts[-1]

    def _write(self, read: SqlTableRead, predicates: Sequence[str | None], folder: Path) -> list[WrittenTask]:
        frame = self._reader.frame(read.from_table, predicates)
        with self._reader.explained():
            return write_rows(frame, folder, self._rules.format, len(predicates))

    def _report(self, rows: int, number: int, total: int) -> None:
        self._landed_rows += rows
        self._request.report(Extent("batches", number, self._landed_rows, total))

    def _range_ends(self, read: SqlTableRead, after: Key | None) -> list[Key]:
        rows = self._reader.rows(read.range_ends(self._rules.batch_size, after))
        return [tuple(map(value_text, row[:-1])) for row in sorted(rows, key=lambda row: row[-1])]

    def _read(self, bounds: Bounds) -> SqlTableRead:
        rules, read = self._rules, SqlTableRead(self._dialect, self._table)
        if self._columns is None:
            self._columns = self._reader.columns(read.columns())
        filtering = None
        if not rules.full_snapshot and rules.filtering_column is not None:
            filtering = self._column(rules.filtering_column, "ingestion_filtering_column")
        ordering = [self._column(name, "ingestion_ordering_columns") for name in rules.ordering_columns]
        names = with_key([column.name for column in ordering], [column.name for column in self._key()])
        return replace(
            read,
            filtering=filtering,
            lower=bounds.lower,
            upper=bounds.upper,
            ordering=tuple(self._columns[name.lower()] for name in names),
        )

    def _key(self) -> Iterator[SqlColumn]:
        """Where the columns of the silver key come from, of those that the table has."""
        silver = self._request.ingestion.silver
        origins = {column.name: column.origin for column in silver.columns}
        for name in silver.key:
            origin = origins.get(name, ())
            if len(origin) == 1 and self._columns is not None and origin[0].lower() in self._columns:
                yield self._columns[origin[0].lower()]

    def _column(self, name: str, setting: str) -> SqlColumn:
        columns = self._columns or {}
        if name.lower() not in columns:
            raise self._reader.missing_column(name, setting, [column.name for column in columns.values()])
        return columns[name.lower()]

    def _without_values(self) -> SourceError:
        name = self._rules.filtering_column
        return self._reader.error(
            f"every row of table {self._table} has NULL or no finite value in '{name}', so there is no bound to "
            "continue from",
            FailureKind.QUERY_REJECTED,
            "correct 'ingestion_filtering_column' in the contract, or set ingestion_read_strategy to full_snapshot",
        )


class SqlServerConnector(SqlTableConnector):
    def _dialect_of(self, source: DatabaseSource | JdbcSource) -> SqlDialect:
        return TRANSACT_SQL


class PostgresConnector(SqlTableConnector):
    def _dialect_of(self, source: DatabaseSource | JdbcSource) -> SqlDialect:
        return POSTGRES


class JdbcConnector(SqlTableConnector):
    """Any database that has a JDBC driver. Where it has a dialect of its own, that is more exact."""

    def _dialect_of(self, source: DatabaseSource | JdbcSource) -> SqlDialect:
        if isinstance(source, DatabaseSource):
            return POSTGRES
        url = source.url.lower()
        if url.startswith("jdbc:sqlserver:"):
            return TRANSACT_SQL
        return POSTGRES if url.startswith("jdbc:postgresql:") else generic_dialect(source.url)


def _with_first(written: Sequence[WrittenTask]) -> list[WrittenTask]:
    """The last task read the rows without a value, which belong to the first batch."""
    first, *others, last = written
    return [WrittenTask((*first.files, *last.files), first.rows + last.rows), *others]


def _make_empty(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()


def _state(last: Key, number: int) -> str:
    return json.dumps({"after": list(last), "batches": number})


def _read_state(state: str | None) -> tuple[Key | None, int]:
    if state is None:
        return None, 0
    values = json.loads(state)
    return tuple(values["after"]), int(values["batches"])
