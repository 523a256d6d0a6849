"""SQL that compares two states of a table row by row: inserted, deleted and updated rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidegate.datatypes import DataType
from tidegate.widening import join_types
from tidegate.write.spark_sql import any_of, comparable, conversion, differ, literal, negative_zero
from tidegate.write.write_columns import TableColumn, TableColumns

__all__ = ["AFTER", "BEFORE", "KIND", "Pair", "matched_rows", "pair_columns", "same_rows_changed"]

KIND, BEFORE, AFTER = "__tidegate_kind", "__tidegate_before", "__tidegate_after"
_COPY, _ID = "__tidegate_copy", "__tidegate_id"
_ROUNDING = 1e-9
"""Sums of floating numbers differ by as much when the same rows are added in another order."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One column as rows had it before and have it after; None: it did not exist yet, or was dropped.

    `is_key`: rows are matched by it, so 0.0 and -0.0 are the same value.
    """

    before: TableColumn | None
    after: TableColumn | None
    is_key: bool = False

    @property
    def name(self) -> str:
        column = self.after or self.before
        assert column is not None
        return column.name

    @property
    def floating(self) -> bool:
        return any(column is not None and column.type.is_floating for column in (self.before, self.after))

    @property
    def holds_zeros(self) -> bool:
        """Rows with this key may still differ in the sign of a zero."""
        return self.is_key and self.floating

    def values(self, before: str | None, after: str | None) -> tuple[str, str]:
        """The value on either side as SQL that `<=>` compares; `before` and `after` are the relations."""
        kind, one, other = self._raw(before, after)
        if kind is None:
            return one, other
        return comparable(one, kind, zeros=not self.is_key), comparable(other, kind, zeros=not self.is_key)

    def differs(self, before: str, after: str, loosely: bool = False) -> str:
        kind, one, other = self._raw(before, after)
        exactly = f"NOT ({one} <=> {other})" if kind is None else differ(one, other, kind)
        if not loosely or not self.floating or kind is None:
            return exactly
        near = f"abs({one} - {other}) <= {_ROUNDING}D * greatest(abs({one}), abs({other}))"
        sign = f" AND {negative_zero(one)} = {negative_zero(other)}" if not kind.is_text and not self.is_key else ""
        return f"({exactly} AND NOT coalesce({near}{sign}, false))"

    def _raw(self, before: str | None, after: str | None) -> tuple[DataType | None, str, str]:
        """Both values, and the type in which they can be compared; None where they are already converted to a
        comparable form."""
        if self.before is None or self.after is None:
            then = self.before.comparable(before) if self.before else "NULL"
            return None, then, self.after.comparable(after) if self.after else "NULL"
        one, other = _in(before, self.before), _in(after, self.after)
        if self.before.type == self.after.type:
            return self.before.type, one, other
        joined = join_types(self.before.type, self.after.type)
        if joined is None:
            return None, _text(one, self.before.type), _text(other, self.after.type)
        return joined, conversion(one, self.before.type, joined), conversion(other, self.after.type, joined)


def pair_columns(before: TableColumns, after: TableColumns) -> tuple[Pair, ...]:
    """By name; dropped columns come last."""
    pairs = [Pair(before.get(column.name), column) for column in after]
    return (*pairs, *(Pair(column, None) for column in before if column.name not in after))


def same_rows_changed(before: str, after: str, pairs: Sequence[Pair]) -> str:
    """Rows of both relations with the same `_row_id` whose values are not the same."""
    compared = [pair for pair in pairs if pair.after is not None]
    return (
        f"SELECT 'updated' AS {KIND}, __b.{BEFORE}, __a.{AFTER}"
        f" FROM (SELECT {_row(pairs, 'before')} AS {BEFORE}, _row_id AS {_ID} FROM {before}) __b"
        f" JOIN (SELECT {_row(pairs, 'after')} AS {AFTER}, _row_id AS {_ID} FROM {after}) __a ON __b.{_ID} = __a.{_ID}"
        f" WHERE {any_of(pair.differs(f'__b.{BEFORE}', f'__a.{AFTER}') for pair in compared)}"
    )


def matched_rows(
    before: str | None, after: str | None, pairs: Sequence[Pair], keys: Sequence[Pair], loosely: bool = False
) -> str:
    """Rows of two relations matched by `keys`; those that are the same on both sides are left out.

    Rows that share a key are matched in the order of their other values, so that as many copies of a row remain as one
    side has more of. A relation that is None has no rows. `loosely`: floating numbers may differ by rounding.
    """
    if before is None:
        nothing = f"CAST(NULL AS {_row_type(pairs)})"
        return f"SELECT 'inserted' AS {KIND}, {nothing} AS {BEFORE}, {_row(pairs, 'after')} AS {AFTER} FROM {after}"
    if after is None:
        nothing = f"CAST(NULL AS {_row_type(pairs, 'after')})"
        return f"SELECT 'deleted' AS {KIND}, {_row(pairs, 'before')} AS {BEFORE}, {nothing} AS {AFTER} FROM {before}"
    common = [pair for pair in pairs if pair.before is not None and pair.after is not None]
    others = [pair for pair in common if pair not in keys]
    compared = [pair for pair in pairs if pair.after is not None and (pair not in keys or pair.holds_zeros)]
    on = " AND ".join([f"__b.k{at} <=> __a.k{at}" for at in range(len(keys))] + [f"__b.{_COPY} = __a.{_COPY}"])
    differs = any_of(pair.differs(f"__b.{BEFORE}", f"__a.{AFTER}", loosely) for pair in compared)
    return (
        f"SELECT CASE WHEN __b.{_COPY} IS NULL THEN 'inserted' WHEN __a.{_COPY} IS NULL THEN 'deleted'"
        f" ELSE 'updated' END AS {KIND}, {BEFORE}, {AFTER}"
        f" FROM ({_numbered(before, pairs, keys, others, 'before')}) __b"
        f" FULL OUTER JOIN ({_numbered(after, pairs, keys, others, 'after')}) __a ON {on}"
        f" WHERE __b.{_COPY} IS NULL OR __a.{_COPY} IS NULL OR {differs}"
    )


def _numbered(relation: str, pairs: Sequence[Pair], keys: Sequence[Pair], others: Sequence[Pair], side: str) -> str:
    chosen = 0 if side == "before" else 1
    values = [pair.values(None, None)[chosen] for pair in keys]
    order = ", ".join(pair.values(None, None)[chosen] for pair in others) or "1"
    key_columns = ", ".join(f"{value} AS k{at}" for at, value in enumerate(values))
    copy = f"row_number() OVER (PARTITION BY {', '.join(values) or '1'} ORDER BY {order}) AS {_COPY}"
    row = f"{_row(pairs, side)} AS {BEFORE if side == 'before' else AFTER}"
    return f"SELECT {', '.join(filter(None, [key_columns, copy, row]))} FROM {relation}"


def _row(pairs: Sequence[Pair], side: str) -> str:
    columns = _side(pairs, side)
    return f"named_struct({', '.join(f'{literal(column.name)}, {column.quoted}' for column in columns)})"


def _row_type(pairs: Sequence[Pair], side: str = "before") -> str:
    return f"struct<{', '.join(f'{column.quoted}: {column.type_sql}' for column in _side(pairs, side))}>"


def _side(pairs: Sequence[Pair], side: str) -> list[TableColumn]:
    columns = (pair.before if side == "before" else pair.after for pair in pairs)
    return [column for column in columns if column is not None]


def _in(relation: str | None, column: TableColumn) -> str:
    return f"{relation}.{column.quoted}" if relation else column.quoted


def _text(value: str, kind: DataType) -> str:
    if kind.is_nested:
        return f"to_json(named_struct('v', {comparable(value, kind, zeros=False)}))"
    return f"CAST({comparable(value, kind, zeros=False)} AS string)"
