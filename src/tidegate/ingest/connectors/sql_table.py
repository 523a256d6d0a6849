"""Tables of a SQL database: whole or from a bound on, in one query or in batches.

Each connector of a database is this one with a dialect.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tidegate.errors import FailureKind, SourceError
from tidegate.ingest.jdbc_reader import JdbcReader, database_source, value_text, write_rows
from tidegate.ingest.port import Batch, Bounds, Extent, SourceRequest
from tidegate.ingest.sql_dialects import SqlColumn, SqlDialect
from tidegate.ingest.sql_reads import Key, TableRead, with_key

__all__ = ["SqlTableConnector"]

_PARALLEL = 4
"""Queries at once inside a batch."""
_SMALLEST_RANGE = 5_000
"""Fewer rows are not worth a query of their own."""


class SqlTableConnector:
    """`dialect` is set by the classes derived from it."""

    dialect: SqlDialect

    def __init__(self, request: SourceRequest) -> None:
        rules = request.ingestion.source
        self._request, self._rules = request, rules
        self._table = rules.physical_name or rules.name
        source = database_source(request.settings, rules.source, rules.connector.name)
        if request.session is None:
            raise SourceError(
                f"source '{source.name}': table {self._table} is read by Spark, which is not available here",
                source=source.name,
                kind=FailureKind.QUERY_REJECTED,
            )
        self._reader = JdbcReader(source, self._table, request.session)
        self._columns: dict[str, SqlColumn] | None = None
        self._landed_rows = 0

    def upper_bound(self, lower: str | None) -> str | None:
        if self._rules.full_snapshot:
            return None
        read = self._read(Bounds(lower))
        rows = self._reader.rows(read.greatest())
        bound = value_text(rows[0][0]) if rows else None
        if bound is None and lower is None and self._reader.rows(read.has_rows())[0][0]:
            raise self._without_values()
        return lower if bound is None else bound

    def batches(self, bounds: Bounds, state: str | None, folder: Path) -> Iterator[Batch]:
        if not self._rules.full_snapshot and (bounds.upper is None or bounds.upper == bounds.lower):
            return
        read = self._read(bounds)
        if not self._rules.batched:
            yield self._land(read, [read.whole()], folder, None, 1, 1)
            return
        yield from self._batched(read, state, folder)

    def close(self) -> None:
        """Connections belong to Spark's tasks."""

    def _batched(self, read: TableRead, state: str | None, folder: Path) -> Iterator[Batch]:
        after, done = _read_state(state)
        ends = self._range_ends(read, after)
        parallel = self._parallel
        lasts = [*ends[parallel - 1 :: parallel], None]
        for number, last in enumerate(lasts, done + 1):
            start = (number - done - 1) * parallel
            inner = ends[start : start + parallel - 1] if last is None else ends[start : start + parallel]
            predicates = _ranges(read, after, inner if last is not None else [*inner, None])
            if number == 1 and (without_value := read.without_value()):
                predicates.append(without_value)
            next_state = None if last is None else _state(last, number)
            self._request.check_cancelled()
            batch = self._land(read, predicates, folder, next_state, number, done + len(lasts))
            if batch.rows or number == 1:
                yield batch
            after = last

    def _land(
        self,
        read: TableRead,
        predicates: Sequence[str | None],
        folder: Path,
        state: str | None,
        number: int,
        total: int,
    ) -> Batch:
        frame = self._reader.frame(read.from_table, predicates)
        with self._reader.explained():
            files, rows = write_rows(frame, folder, self._rules.format)
        self._landed_rows += rows
        self._request.report(Extent("batches", number, self._landed_rows, total))
        return Batch(files, rows, state)

    def _range_ends(self, read: TableRead, after: Key | None) -> list[Key]:
        step = max(1, math.ceil(self._rules.batch_size / self._parallel))
        rows = self._reader.rows(read.range_ends(step, after))
        return [tuple(map(value_text, row[:-1])) for row in sorted(rows, key=lambda row: row[-1])]

    @property
    def _parallel(self) -> int:
        return max(1, min(_PARALLEL, self._rules.batch_size // _SMALLEST_RANGE))

    def _read(self, bounds: Bounds) -> TableRead:
        rules, read = self._rules, TableRead(self.dialect, self._table)
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
            f"every row of table {self._table} has NULL in '{name}', so there is no bound to continue from",
            FailureKind.QUERY_REJECTED,
            "correct 'ingestion_filtering_column' in the contract, or set ingestion_read_strategy to full_snapshot",
        )


def _ranges(read: TableRead, after: Key | None, ends: Sequence[Key | None]) -> list[str | None]:
    """The predicates of ranges that follow one another; an end that is None is open."""
    starts = [after, *ends[:-1]]
    return [read.range(start, end) for start, end in zip(starts, ends, strict=True)]


def _state(last: Key, number: int) -> str:
    return json.dumps({"after": list(last), "batches": number})


def _read_state(state: str | None) -> tuple[Key | None, int]:
    if state is None:
        return None, 0
    values = json.loads(state)
    return tuple(values["after"]), int(values["batches"])
