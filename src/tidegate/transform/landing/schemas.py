"""Arithmetic of columns: the type that holds two, the columns of two files together, a frame brought to a schema."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    MapType,
    NullType,
    StringType,
    StructField,
    StructType,
)

from tidegate.datatypes import from_json, struct, to_json
from tidegate.names import quote
from tidegate.widening import inferred_type

__all__ = ["align", "by_name", "column", "combine", "ddl", "known", "nullable", "respell", "settle", "widen"]


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
    if a == b:
        return a
    joined = inferred_type(from_json(a.jsonValue()), from_json(b.jsonValue()))
    return StructType.fromJson(to_json(struct([("v", joined)])))["v"].dataType


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
    frame_fields = by_name(frame.schema)
    chosen = []
    for field in target.fields:
        source = frame_fields.get(field.name.casefold())
        if source is None:
            value = F.lit(None).cast(field.dataType)
        elif nullable(source.dataType) == nullable(field.dataType):
            value = column(source.name)
        elif isinstance(field.dataType, StringType) and isinstance(source.dataType, (StructType, ArrayType, MapType)):
            value = F.to_json(column(source.name))
        else:
            value = column(source.name).cast(field.dataType)
        chosen.append(value.alias(field.name))
    return frame.select(*chosen, *map(column, more))


def respell(kind: DataType, spelling: DataType) -> DataType:
    """`kind` with its fields named as in `spelling`, for case-sensitive readers; a cast by position undoes it."""
    if isinstance(kind, StructType) and isinstance(spelling, StructType):
        fields = by_name(spelling)
        return StructType(
            [
                StructField(fields[key].name, respell(field.dataType, fields[key].dataType)) if key in fields else field
                for key, field in by_name(kind).items()
            ]
        )
    if isinstance(kind, ArrayType) and isinstance(spelling, ArrayType):
        return ArrayType(respell(kind.elementType, spelling.elementType))
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
