"""The types that a query names, in casts, and when a cast may give NULL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from tidegate.compiler.analysis.coercion import CALENDAR_INTERVAL, interval_of, may_fail
from tidegate.compiler.analysis.expressions.typed import Typed
from tidegate.datatypes import (
    ANY,
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VARIANT,
    VOID,
    DataType,
    array,
    decimal,
    map_of,
    struct,
)

__all__ = ["all_null", "any_null", "cast_nullable", "declared_type"]

_SIMPLE: dict[Any, DataType] = {
    exp.DType.BIGINT: BIGINT,
    exp.DType.BINARY: BINARY,
    exp.DType.BOOLEAN: BOOLEAN,
    exp.DType.CHAR: STRING,
    exp.DType.DATE: DATE,
    exp.DType.DOUBLE: DOUBLE,
    exp.DType.FLOAT: FLOAT,
    exp.DType.INT: INT,
    exp.DType.INTERVAL: CALENDAR_INTERVAL,
    exp.DType.NULL: VOID,
    exp.DType.SMALLINT: SMALLINT,
    exp.DType.TEXT: STRING,
    exp.DType.TIMESTAMP: TIMESTAMP,
    exp.DType.TIMESTAMPLTZ: TIMESTAMP,
    exp.DType.TIMESTAMPNTZ: TIMESTAMP_NTZ,
    exp.DType.TIMESTAMPTZ: TIMESTAMP,
    exp.DType.TINYINT: TINYINT,
    exp.DType.VARBINARY: BINARY,
    exp.DType.VARCHAR: STRING,
    exp.DType.VARIANT: VARIANT,
}


def declared_type(node: Any) -> DataType:
    """What is not known here is ANY: collations, TIME, shapes on a map."""
    kind = node.this
    if node.args.get("collate"):
        return ANY
    simple = _SIMPLE.get(kind)
    if simple is not None:
        return simple
    inner = node.args.get("expressions") or []
    if kind == exp.DType.DECIMAL:
        return _decimal(inner)
    if kind == exp.DType.ARRAY and len(inner) == 1:
        return array(declared_type(inner[0]))
    if kind == exp.DType.MAP and len(inner) == 2:
        return map_of(declared_type(inner[0]), declared_type(inner[1]))
    if kind == exp.DType.STRUCT:
        return _struct(inner)
    if type(kind) is exp.Interval:
        return _interval(kind.args.get("unit"))
    return ANY


def _decimal(params: list[Any]) -> DataType:
    numbers = [param.name for param in params]
    if not all(number.isdecimal() for number in numbers) or len(numbers) > 2:
        return ANY
    precision, scale = (*map(int, numbers), 0)[:2] if numbers else (10, 0)
    return decimal(precision, scale) if 0 < precision <= 38 and scale <= precision else ANY


def _struct(fields: list[Any]) -> DataType:
    if not all(type(field) is exp.ColumnDef for field in fields):
        return ANY
    return struct((field.name, declared_type(field.args["kind"])) for field in fields)


def _interval(unit: Any) -> DataType:
    if type(unit) is exp.IntervalSpan:
        return interval_of(unit.this.name, unit.expression.name) or ANY
    return (interval_of(unit.name) or ANY) if unit is not None else CALENDAR_INTERVAL


def any_null(values: Sequence[Typed], target: DataType) -> bool | None:
    """Whether one of several values may be NULL once each is cast to a common type."""
    found: bool | None = False
    for value in values:
        nullable = cast_nullable(value, target)
        if nullable:
            return True
        if nullable is None:
            found = None
    return found


def all_null(values: Sequence[Typed], target: DataType) -> bool | None:
    """Whether all of several values may be NULL once each is cast to a common type."""
    found: bool | None = True
    for value in values:
        nullable = cast_nullable(value, target)
        if nullable is False:
            return False
        if nullable is None:
            found = None
    return found


def cast_nullable(source: Typed, target: DataType, safe: bool = False) -> bool | None:
    """Whether a cast may give NULL, where Spark is certain of it or of the contrary."""
    if source.nullable or source.nullable is None:
        return source.nullable
    if safe:
        return None
    return None if source.type.kind == "?" or target.kind == "?" else may_fail(source.type, target)
