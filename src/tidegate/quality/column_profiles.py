"""The profile of rows: for each column the NULLs, different values, minimum, maximum and mean. One expression computes
all of it, so that it can be part of a statement that reads or writes the rows anyway.

Different values are estimated from 4 KB of bits that one pass sets. Each value has one bit, by its hash: half of all
values share the first 2,048 bits, a quarter the next, and so on. Few values are counted in all parts; of many, only the
later parts, with a known share of the values, are not yet full.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Literal

from tidegate.datatypes import Column, DataType
from tidegate.names import quote
from tidegate.quality.check_answers import REDACTED

__all__ = [
    "BITMAP_BYTES",
    "ColumnProfile",
    "Counted",
    "Plain",
    "Profile",
    "Scope",
    "Survey",
    "bit_of",
    "estimated",
    "hide",
    "merged",
    "survey",
]


LONGEST_TEXT = 64
_MARK, _VALUE = "__tidegate_mark", "__tidegate_value"
_KNOWN_COLUMNS = 100
"""Iceberg has no metrics of further columns, unless a table property asks for them."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Scope = Literal["table", "written"]
"""All rows of the table, or those that the run wrote."""

Plain = int | float | str | bool | None


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """Values such as JSON can hold; None where there is none, or the type has none. REDACTED stands for hidden ones."""

    name: str
    type: str
    nulls: int
    distinct: int | None = None
    """An estimate."""

    min: Plain = None
    max: Plain = None
    mean: float | str | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    rows: int
    """The profiled rows."""

    columns: tuple[ColumnProfile, ...]
    scope: Scope = "table"

    table_rows: int = 0
    """All rows of the table."""

    snapshot_id: int | None = None
    """The last snapshot that changed rows of the table."""


@dataclass(frozen=True, slots=True)
class _Column:
    """The counts of one column."""

    name: str
    type: DataType
    values: int
    least: Any = None
    greatest: Any = None
    mean: float | None = None
    bits: int | None = None
    hidden: bool = False
    """Its values were not read."""


@dataclass(frozen=True, slots=True)
class Counted:
    """The counts of some rows, from which a profile is made; two of them can be merged."""

    rows: int
    columns: tuple[_Column, ...]
    scope: Scope = "table"

    def profile(self, table_rows: int, snapshot_id: int | None) -> Profile:
        columns = tuple(_column_profile(column, self.rows) for column in self.columns)
        return Profile(self.rows, columns, self.scope, table_rows, snapshot_id)


@dataclass(frozen=True, slots=True)
class Survey:
    """A question about rows. `steps`: columns to be computed beside those of each row, as `expression AS name`; `marks`
    are made of them and of the row; `aggregate` is an expression over rows with marks that gives one text, which `read`
    understands. `exact`: None, or an expression for what is not asked of the rows, because Iceberg knows it of the
    files that it wrote; `asked`: of each column, which of values, least and greatest that is."""

    columns: tuple[Column, ...]
    hidden: frozenset[str]
    steps: tuple[str, ...]
    marks: tuple[str, ...]
    aggregate: str
    exact: str | None = None
    asked: tuple[tuple[str, ...], ...] = ()

    @property
    def marked(self) -> tuple[str, ...]:
        """What to select of rows with the steps beside them, to have the marks there instead."""
        every = f"* EXCEPT ({', '.join(map(_name, self.steps))})" if self.steps else "*"
        return every, *self.marks

    def over(self, relation: str) -> str:
        """A query of one row and one column."""
        computed = f"SELECT {', '.join(['*', *self.steps])} FROM {relation}"
        return f"SELECT {self.aggregate} AS profile FROM (SELECT {', '.join(self.marked)} FROM ({computed}))"

    @property
    def names(self) -> tuple[str, ...]:
        """Of the marks."""
        return tuple(map(_name, self.marks))

    def read(self, text: str, scope: Scope = "table", exact: str | None = None) -> Counted:
        """`exact`: the answer to the question of that name."""
        document = json.loads(text)
        more = json.loads(exact)["columns"] if exact else [{}] * len(self.columns)
        answers = zip(self.columns, document["columns"], more, strict=True)
        columns = tuple(self._column(column, {**counts, **exact_counts}) for column, counts, exact_counts in answers)
        return Counted(document["rows"], columns, scope)

    def _column(self, column: Column, counts: Mapping[str, Any]) -> _Column:
        value, bits = _reader(column.type), counts.get("bits")
        mean = counts.get("mean")
        return _Column(
            column.name,
            column.type,
            counts["values"],
            value(counts["least"]) if "least" in counts else None,
            value(counts["greatest"]) if "greatest" in counts else None,
            None if mean is None else float(mean),
            None if bits is None else int.from_bytes(base64.b64decode(bits), "little"),
            hidden=column.name.lower() in self.hidden,
        )


def _name(mark: str) -> str:
    return mark.rpartition(" AS ")[2]


def survey(
    columns: Sequence[Column], hidden: Collection[str] = (), only: str | None = None, many: bool = False
) -> Survey:
    """`hidden`: columns, in lower case, whose values are not read. `only`: a condition on the rows that count.

    `many`: there are so many rows that looking at each would cost as much as writing it. Counts, minimum and maximum
    then come from Iceberg's metrics; such columns have no distinct count and no mean, and text columns no values.
    """
    secret = frozenset(hidden)
    steps, marks, structs, exact, asked = [], [], [], [], []
    for number, column in enumerate(columns):
        value, visible = quote(column.name), column.name.lower() not in secret
        in_metadata = many and number < _KNOWN_COLUMNS and (_has_values(column.type) or column.type.kind == "binary")
        counted, mark = value if only is None else f"IF({only}, {value}, NULL)", None
        if _has_values(column.type) and column.type.kind != "boolean" and not in_metadata:
            mark, hashed = f"{_MARK}{number}", f"{_VALUE}{number}"
            steps.append(f"xxhash64({value}) AS {hashed}")
            condition = " AND ".join([f"{value} IS NOT NULL", *([only] if only else [])])
            marks.append(f"IF({condition}, {bit_of(hashed)}, NULL) AS {mark}")
        structs.append(_struct(None if in_metadata else counted, column.type, mark, visible))
        if many:
            shown = visible and not column.type.is_text
            exact.append(_struct(counted if in_metadata else None, column.type, None, shown))
            asked.append(_asked(column.type, shown) if in_metadata else ())
    rows = f"count_if({only})" if only else "count(1)"

    def document(parts: Sequence[str]) -> str:
        return f"to_json(named_struct('rows', {rows}, 'columns', array({', '.join(parts)})))"

    return Survey(
        tuple(columns),
        secret,
        tuple(steps),
        tuple(marks),
        document(structs),
        document(exact) if many else None,
        tuple(asked),
    )


def merged(parts: Sequence[Counted | None]) -> Counted | None:
    """Of rows that were written one after the other, with the scope of the first; None where some are not counted."""
    counts = [counted for counted in parts if counted is not None]
    if not counts or len(counts) < len(parts):
        return None
    whole = counts[0]
    for other in counts[1:]:
        by_name = {column.name.lower(): column for column in other.columns}
        if by_name.keys() != {column.name.lower() for column in whole.columns}:
            return None
        columns = tuple(_both(column, by_name[column.name.lower()]) for column in whole.columns)
        whole = replace(whole, rows=whole.rows + other.rows, columns=columns)
    return whole


def hide(columns: Sequence[ColumnProfile], hidden: Collection[str]) -> tuple[ColumnProfile, ...]:
    """The same, without the values of columns whose names, in lower case, are `hidden`."""
    return tuple(_hide(column) if column.name.lower() in hidden else column for column in columns)


def _hide(column: ColumnProfile) -> ColumnProfile:
    hidden = {name: REDACTED for name in ("min", "max", "mean") if getattr(column, name) is not None}
    return replace(column, **hidden)  # type: ignore[arg-type]


def _has_values(kind: DataType) -> bool:
    return kind.is_numeric or kind.is_text or kind.is_temporal or kind.kind == "boolean"


def _struct(value: str | None, kind: DataType, mark: str | None, visible: bool) -> str:
    """All have the same type, as the parts of an array must. `value` None: another query returns it."""
    with_values = visible and value is not None and _has_values(kind)
    mean = with_values and kind.is_numeric and mark is not None
    greatest = mark is not None or _knows_greatest(kind)
    parts = {
        "values": f"count({value})" if value else "CAST(NULL AS BIGINT)",
        "least": _text(f"min({value})", kind) if with_values else "CAST(NULL AS STRING)",
        "greatest": _text(f"max({value})", kind) if with_values and greatest else "CAST(NULL AS STRING)",
        "mean": f"avg(CAST({value} AS DOUBLE))" if mean else "CAST(NULL AS DOUBLE)",
        "bits": f"bitmap_construct_agg({mark})" if mark else "CAST(NULL AS BINARY)",
    }
    listed = ", ".join(f"'{name}', {sql}" for name, sql in parts.items())
    return f"named_struct({listed})"


def _asked(kind: DataType, visible: bool) -> tuple[str, ...]:
    """What `_struct` asks Iceberg for."""
    if not (visible and _has_values(kind)):
        return ("values",)
    return ("values", "least", "greatest") if _knows_greatest(kind) else ("values", "least")


def _knows_greatest(kind: DataType) -> bool:
    """Iceberg's greatest number leaves NaN out."""
    return not kind.is_floating


def _text(value: str, kind: DataType) -> str:
    if kind.is_text:
        return f"left({value}, {LONGEST_TEXT})"
    return f"CAST({f'unix_micros({value})' if kind.kind == 'timestamp' else value} AS STRING)"


def _reader(kind: DataType) -> Callable[[str], Any]:
    if kind.is_integral:
        return int
    if kind.is_numeric:
        return Decimal if kind.kind == "decimal" else float
    match kind.kind:
        case "boolean":
            return lambda text: text == "true"
        case "timestamp":
            return _moment
        case "timestamp_ntz":
            return lambda text: text.replace(" ", "T")
        case _:
            return str


def _moment(micros: str) -> str | None:
    """None for years that only Spark knows."""
    try:
        return (_EPOCH + timedelta(microseconds=int(micros))).isoformat()
    except OverflowError:
        return None


def _both(one: _Column, other: _Column) -> _Column:
    values = one.values + other.values
    means = [(column.mean, column.values) for column in (one, other) if column.mean is not None]
    return replace(
        one,
        values=values,
        least=min(filter(_is_there, (one.least, other.least)), key=_order, default=None),
        greatest=max(filter(_is_there, (one.greatest, other.greatest)), key=_order, default=None),
        mean=sum(mean * count for mean, count in means) / sum(count for _, count in means) if means else None,
        bits=None if one.bits is None or other.bits is None else one.bits | other.bits,
    )


def _is_there(value: Any) -> bool:
    return value is not None


def _order(value: Any) -> tuple[bool, Any]:
    """As Spark has it: NaN is greater than any number."""
    strange = isinstance(value, float) and math.isnan(value)
    return strange, 0 if strange else value


def _column_profile(column: _Column, rows: int) -> ColumnProfile:
    profile = ColumnProfile(
        column.name,
        column.type.text,
        nulls=rows - column.values,
        distinct=_distinct(column),
        min=_plain(column.least),
        max=_plain(column.greatest),
        mean=None if column.mean is None else _finite(column.mean),
    )
    if not column.hidden or not column.values or not _has_values(column.type):
        return profile
    return replace(profile, min=REDACTED, max=REDACTED, mean=REDACTED if column.type.is_numeric else None)


def _distinct(column: _Column) -> int | None:
    if column.bits is not None:
        return min(column.values, estimated(column.bits))
    if column.type.kind != "boolean" or column.hidden:
        return None
    return len({column.least, column.greatest} - {None})


def _plain(value: Any) -> Plain:
    if isinstance(value, float):
        return _finite(value)
    plain: Plain = format(value, "f") if isinstance(value, Decimal) else value
    return plain


def _finite(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


_BITMAP_PARTS = 16
_PART_BITS = 2048
_PART_FULL = 0.8
BITMAP_BYTES = _BITMAP_PARTS * _PART_BITS // 8


def bit_of(hashed: str) -> str:
    """SQL for the place of a value's bit. `hashed` is SQL that gives its hash of 64 bits, and is cheap to repeat."""
    high_bits = f"(shiftright({hashed}, 32) | {1 << (_BITMAP_PARTS - 1)}L)"
    return f"bit_count(({high_bits} & -{high_bits}) - 1L) * {_PART_BITS}L + ({hashed} & {_PART_BITS - 1}L)"


def estimated(bitmap: int) -> int:
    """`bitmap`: the bytes that `bitmap_construct_agg` gave, the first ones lowest. Exact for a handful of values."""
    part = (1 << _PART_BITS) - 1
    filled = [((bitmap >> (number * _PART_BITS)) & part).bit_count() for number in range(_BITMAP_PARTS)]
    first = next((number for number, count in enumerate(filled) if count <= _PART_FULL * _PART_BITS), _BITMAP_PARTS - 1)
    return round((1 << first) * sum(map(_values_of_bits, filled[first:])))


def _values_of_bits(filled: int) -> float:
    """How many values have most likely set so many bits."""
    return -_PART_BITS * math.log1p(-min(filled, _PART_BITS - 1) / _PART_BITS)
