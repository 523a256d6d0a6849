"""The statements of a read: the greatest value, the ends of its ranges, and the rows of each range.

An incremental read takes the rows with `lower` < filtering column <= `upper`. A batched read orders them by columns and
divides them at every n-th row. A range ends at the values of its last row, not by a count, so rows that share those
values stay together, a retried task reads the same rows, and a later process continues from the last values alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tidegate.ingest.sql.sql_dialects import SqlColumn, SqlDialect, name_parts

__all__ = ["Key", "SqlTableRead", "with_key"]

Key = tuple[str | None, ...]
"""The values of the ordering columns of one row, as text; None is NULL."""


def with_key(ordering: Sequence[str], key: Sequence[str]) -> tuple[str, ...]:
    """The ordering columns, followed by those of the key that are not among them: rows that share values of the former
    are divided too."""
    names = list(dict.fromkeys(ordering))
    lowered = {name.lower() for name in names}
    return tuple(names + [name for name in dict.fromkeys(key) if name.lower() not in lowered])


class _ColumnComparison(Protocol):
    def __call__(self, column: SqlColumn, value: str | None, /) -> str: ...


@dataclass(frozen=True, slots=True)
class SqlTableRead:
    """The reads of one logical run."""

    dialect: SqlDialect
    table: str
    """As the source names it, such as `dbo.Orders`."""

    filtering: SqlColumn | None = None
    """None: every row is read."""

    lower: str | None = None
    """Exclusive; None: from the first row."""

    upper: str | None = None
    """Inclusive."""

    ordering: tuple[SqlColumn, ...] = ()

    @property
    def from_table(self) -> str:
        return ".".join(map(self.dialect.quoted, name_parts(self.table)))

    def columns(self) -> str:
        """A statement with no row."""
        return f"SELECT * FROM {self.from_table} WHERE 1 = 0"

    def greatest(self) -> str:
        """The greatest value of the filtering column above `lower`, as `bound`; NULL where there is none. An endless
        value is none: `endless` is 1 where there are some, in a dialect that has them."""
        assert self.filtering is not None
        quoted, name, endless = self.dialect.quoted, self.dialect.quoted(self.filtering.name), self.endless
        value = name if endless is None else f"CASE WHEN {endless} THEN NULL ELSE {name} END"
        bound = self.dialect.as_text(f"MAX({value})", self.filtering.kind)
        found = "" if endless is None else f", MAX(CASE WHEN {endless} THEN 1 ELSE 0 END) AS {quoted('endless')}"
        where = "" if self.lower is None else f" WHERE {self._compared(self.filtering, '>', self.lower)}"
        return f"SELECT {bound} AS {quoted('bound')}{found} FROM {self.from_table}{where}"

    @property
    def endless(self) -> str | None:
        """The rows whose value in the filtering column is no bound, because none that comes later is greater."""
        if self.filtering is None:
            return None
        return self.dialect.endless(self.dialect.quoted(self.filtering.name), self.filtering.kind)

    def has_rows(self) -> str:
        """1 as `found` where the table has a row, else 0."""
        exists = f"EXISTS (SELECT 1 FROM {self.from_table})"
        name = self.dialect.quoted("found")
        return f"SELECT CASE WHEN {exists} THEN 1 ELSE 0 END AS {name}"

    def window(self) -> str | None:
        """The rows between the bounds. Rows without a value in the filtering column are not among them."""
        if self.filtering is None:
            return None
        terms = [] if self.lower is None else [self._compared(self.filtering, ">", self.lower)]
        terms += [] if self.upper is None else [self._compared(self.filtering, "<=", self.upper)]
        return " AND ".join(terms) or f"{self.dialect.quoted(self.filtering.name)} IS NOT NULL"

    def without_value(self) -> str | None:
        """The rows that have no value in the filtering column, or an endless one, which only the first read takes."""
        if self.filtering is None or self.lower is not None:
            return None
        missing = f"{self.dialect.quoted(self.filtering.name)} IS NULL"
        return missing if self.endless is None else f"({missing} OR {self.endless})"

    def whole(self) -> str | None:
        """All rows of the read at once; None: those of the table."""
        window, without_value = self.window(), self.without_value()
        return f"({window}) OR {without_value}" if without_value else window

    def range_ends(self, rows: int, after: Key | None = None) -> str:
        """The ordering columns (`k1`, `k2`, …) of every n-th row behind `after`, with its number as `n`."""
        quoted, names = self.dialect.quoted, [f"k{number}" for number in range(1, len(self.ordering) + 1)]
        inner = ", ".join(f"{quoted(column.name)} AS {quoted(name)}" for column, name in self._named(names))
        order = ", ".join(self.dialect.order_by(quoted(column.name)) for column in self.ordering)
        predicate = self.range(after, None)
        where = f" WHERE {predicate}" if predicate else ""
        numbered = (
            f"SELECT {inner}, ROW_NUMBER() OVER (ORDER BY {order}) AS {quoted('n')} FROM {self.from_table}{where}"
        )
        texts = ", ".join(
            f"{self.dialect.as_text(quoted(name), column.kind)} AS {quoted(name)}"
            for column, name in self._named(names)
        )
        number = quoted("n")
        return f"SELECT {texts}, {number} FROM ({numbered}) r WHERE {self.dialect.remainder(number, rows)} = 0"

    def range(self, after: Key | None, end: Key | None) -> str | None:
        """The rows between the bounds that come behind `after`, up to `end` with it, in the order of the columns."""
        terms = [
            self.window(),
            None if after is None else self._behind(after),
            None if end is None else self._up_to(end),
        ]
        return " AND ".join(term for term in terms if term) or None

    def _named(self, names: Sequence[str]) -> list[tuple[SqlColumn, str]]:
        return list(zip(self.ordering, names, strict=True))

    def _behind(self, key: Key) -> str:
        """(a, b) > (x, y), as a > x OR a = x AND b > y. What a must be whatever b is comes first, for an index."""
        return self._expanded(key, self._greater, self._greater, self._at_least)

    def _up_to(self, key: Key) -> str:
        return self._expanded(key, self._less, self._at_most, self._at_most)

    def _expanded(
        self, key: Key, strictly: _ColumnComparison, last: _ColumnComparison, leading: _ColumnComparison
    ) -> str:
        columns = list(zip(self.ordering, key, strict=True))
        alternatives = []
        for position, (column, value) in enumerate(columns):
            compare = last if position == len(columns) - 1 else strictly
            equal = [self._equal(*other) for other in columns[:position]]
            alternatives.append(" AND ".join([*equal, compare(column, value)]))
        if len(alternatives) == 1:
            return alternatives[0]
        expanded = " OR ".join(f"({alternative})" for alternative in alternatives)
        return f"{leading(*columns[0])} AND ({expanded})"

    def _equal(self, column: SqlColumn, value: str | None) -> str:
        return self._null(column) if value is None else self._compared(column, "=", value)

    def _greater(self, column: SqlColumn, value: str | None) -> str:
        if value is None:
            return self._not_null(column) if self.dialect.nulls_first else "1 = 0"
        return self._or_null(column, self._compared(column, ">", value), not self.dialect.nulls_first)

    def _at_least(self, column: SqlColumn, value: str | None) -> str:
        if value is None:
            return "1 = 1" if self.dialect.nulls_first else self._null(column)
        return self._or_null(column, self._compared(column, ">=", value), not self.dialect.nulls_first)

    def _less(self, column: SqlColumn, value: str | None) -> str:
        if value is None:
            return "1 = 0" if self.dialect.nulls_first else self._not_null(column)
        return self._or_null(column, self._compared(column, "<", value), self.dialect.nulls_first)

    def _at_most(self, column: SqlColumn, value: str | None) -> str:
        if value is None:
            return self._null(column) if self.dialect.nulls_first else "1 = 1"
        return self._or_null(column, self._compared(column, "<=", value), self.dialect.nulls_first)

    def _or_null(self, column: SqlColumn, comparison: str, with_nulls: bool) -> str:
        """The window leaves no NULL in the filtering column."""
        has_nulls = self.filtering is None or column.name.lower() != self.filtering.name.lower()
        return f"({comparison} OR {self._null(column)})" if with_nulls and has_nulls else comparison

    def _null(self, column: SqlColumn) -> str:
        return f"{self.dialect.quoted(column.name)} IS NULL"

    def _not_null(self, column: SqlColumn) -> str:
        return f"{self.dialect.quoted(column.name)} IS NOT NULL"

    def _compared(self, column: SqlColumn, operator: str, value: str) -> str:
        return f"{self.dialect.quoted(column.name)} {operator} {self.dialect.literal(value, column.kind)}"
