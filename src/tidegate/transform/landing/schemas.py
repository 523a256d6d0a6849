"""Arithmetic of columns: the type that holds two, the columns of two files together, a frame brought to a schema."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from tidegate.names import quote

__all__ = ["align", "by_name", "column", "combine", "ddl", "known", "nullable", "respell", "settle", "widen"]

_INTEGERS = (ByteType, ShortType, IntegerType, LongType)
_DIGITS = {ByteType: 3, ShortType: 5, IntegerType: 10, LongType: 19}
_INEXACT = (FloatType, DoubleType)
_MOST_DIGITS = 38


def known(columns: str | None) -> StructType | None:
    return nullable(StructType.fromDDL(columns)) if columns else None


def combine(schemas: Iterable[StructType]) -> StructType:
    """All columns by name (case does not count): in the order, and the spelling, in which they first come."""
    fields: dict[str, StructField] = {}
    for schema in schemas:
        for field in schema.fields:
            before = fields.get(field.name.casefold())
            if before is None:
                fields[field.name.casefold()] = StructField(field.name, field.dataType)
            else:
                kind = widen(before.dataType, field.dataType)
                fields[field.name.casefold()] = StructField(before.name, kind)
    return StructType(list(fields.values()))


def widen(a: DataType, b: DataType) -> DataType:
    """The narrowest type that takes the values of both; a string where nothing else does."""
    if a == b or isinstance(b, NullType):
        return a
    if isinstance(a, NullType):
        return b
    if isinstance(a, StructType) and isinstance(b, StructType):
        return combine((a, b))
    if isinstance(a, ArrayType) and isinstance(b, ArrayType):
        return ArrayType(widen(a.elementType, b.elementType))
    if isinstance(a, MapType) and isinstance(b, MapType) and a.keyType == b.keyType:
        return MapType(a.keyType, widen(a.valueType, b.valueType))
    return _widen_numbers(a, b) or _widen_times(a, b) or StringType()


def _widen_numbers(a: DataType, b: DataType) -> DataType | None:
    numbers = (*_INTEGERS, *_INEXACT, DecimalType)
    if not (isinstance(a, numbers) and isinstance(b, numbers)):
        return None
    if isinstance(a, _INEXACT) or isinstance(b, _INEXACT):
        return DoubleType()
    if isinstance(a, _INTEGERS) and isinstance(b, _INTEGERS):
        return max(a, b, key=lambda kind: _INTEGERS.index(type(kind)))
    (before_a, scale_a), (before_b, scale_b) = _digits(a), _digits(b)
    before, scale = max(before_a, before_b), max(scale_a, scale_b)
    return DecimalType(before + scale, scale) if before + scale <= _MOST_DIGITS else None


def _digits(kind: DataType) -> tuple[int, int]:
    if isinstance(kind, DecimalType):
        return kind.precision - kind.scale, kind.scale
    return _DIGITS[type(kind)], 0


def _widen_times(a: DataType, b: DataType) -> DataType | None:
    kinds = {type(a), type(b)}
    if kinds == {DateType, TimestampType}:
        return TimestampType()
    if kinds == {DateType, TimestampNTZType}:
        return TimestampNTZType()
    return None


def settle(schema: StructType) -> StructType:
    """Columns that never had a value become strings."""
    return StructType(
        [StructField(f.name, StringType() if isinstance(f.dataType, NullType) else f.dataType) for f in schema.fields]
    )


def by_name(schema: StructType) -> dict[str, StructField]:
    return {field.name.casefold(): field for field in schema.fields}


def column(name: str) -> Column:
    return F.col(quote(name))


def align(frame: DataFrame, target: StructType, more: Iterable[str] = ()) -> DataFrame:
    """The columns of `target`, in its order, as its types; NULL where the frame has none. Then `more`, as they are."""
    there = by_name(frame.schema)
    chosen = []
    for field in target.fields:
        found = there.get(field.name.casefold())
        if found is None:
            value = F.lit(None).cast(field.dataType)
        elif nullable(found.dataType) == nullable(field.dataType):
            value = column(found.name)
        elif isinstance(field.dataType, StringType) and isinstance(found.dataType, (StructType, ArrayType, MapType)):
            value = F.to_json(column(found.name))
        else:
            value = column(found.name).cast(field.dataType)
        chosen.append(value.alias(field.name))
    return frame.select(*chosen, *map(column, more))


def respell(kind: DataType, found: DataType) -> DataType:
    """`kind` with its fields named as in `found`, for readers to which case counts; a cast by position undoes it."""
    if isinstance(kind, StructType) and isinstance(found, StructType):
        there = by_name(found)
        return StructType(
            [
                StructField(there[key].name, respell(field.dataType, there[key].dataType)) if key in there else field
                for key, field in by_name(kind).items()
            ]
        )
    if isinstance(kind, ArrayType) and isinstance(found, ArrayType):
        return ArrayType(respell(kind.elementType, found.elementType))
    return kind


def nullable(kind: Any) -> Any:
    """The type with every part of it nullable: files promise nothing."""
    if isinstance(kind, StructType):
        return StructType([StructField(f.name, nullable(f.dataType)) for f in kind.fields])
    if isinstance(kind, ArrayType):
        return ArrayType(nullable(kind.elementType))
    if isinstance(kind, MapType):
        return MapType(nullable(kind.keyType), nullable(kind.valueType))
    return kind


def ddl(kind: DataType) -> str:
    """A schema as DDL that reads back to the same, whatever characters the names have."""
    if isinstance(kind, StructType):
        return ", ".join(f"{quote(field.name)} {_type(field.dataType)}" for field in kind.fields)
    return _type(kind)


def _type(kind: DataType) -> str:
    if isinstance(kind, StructType):
        return f"STRUCT<{', '.join(f'{quote(f.name)}: {_type(f.dataType)}' for f in kind.fields)}>"
    if isinstance(kind, ArrayType):
        return f"ARRAY<{_type(kind.elementType)}>"
    if isinstance(kind, MapType):
        return f"MAP<{_type(kind.keyType)}, {_type(kind.valueType)}>"
    return str(kind.simpleString()).upper()
