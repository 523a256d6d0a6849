"""A column's type in PostgreSQL as Spark's JDBC reader types it, quirks included: seen with Spark 4.1, pgjdbc 42.7."""

from __future__ import annotations

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
    DataType,
    array,
    decimal,
)

__all__ = ["spark_type"]

_MOST_DIGITS = 38
_SYSTEM_DEFAULT = decimal(_MOST_DIGITS, 18)
_NAMES = {
    "bool": BOOLEAN,
    "bytea": BINARY,
    "date": DATE,
    "float4": FLOAT,
    "float8": DOUBLE,
    "int2": SMALLINT,
    "int4": INT,
    "int8": BIGINT,
    "time": TIMESTAMP,
    "timestamp": TIMESTAMP,
    "timestamptz": TIMESTAMP,
    "timetz": TIMESTAMP,
}


def spark_type(name: str, modifier: int, dimensions: int | None = None) -> DataType:
    """`name` and `modifier` as in pg_type and pg_attribute, of the element where it is an array.

    `dimensions`: None where it is no array. Whatever has no type of its own (json, uuid, enums, ranges…) is a string.
    """
    if dimensions is None:
        return _scalar(name, modifier)
    kind = _element(name, modifier)
    if kind is ANY:
        return ANY
    for _ in range(max(1, dimensions)):
        kind = array(kind)
    return kind


def _scalar(name: str, modifier: int) -> DataType:
    if name == "numeric":
        return _numeric(modifier)
    if name == "oid":
        return decimal(20, 0)
    return _bits(modifier) if name == "bit" else _NAMES.get(name, STRING)


def _element(name: str, modifier: int) -> DataType:
    if name == "numeric":
        precision, scale = _digits(modifier)
        if scale < 0:
            return ANY
        return decimal(min(precision, _MOST_DIGITS), min(scale, _MOST_DIGITS)) if precision else _SYSTEM_DEFAULT
    if name == "oid":
        return BIGINT
    if name == "money":
        return ANY  # Spark refuses to read it.
    return _bits(modifier) if name == "bit" else _NAMES.get(name, STRING)


def _numeric(modifier: int) -> DataType:
    precision, scale = _digits(modifier)
    if scale < 0:
        return ANY  # The driver takes the scale for a positive one; what comes of it is its business.
    if not precision:
        return _SYSTEM_DEFAULT
    precision = max(precision, scale)
    too_many = max(0, precision - _MOST_DIGITS)
    return decimal(precision - too_many, max(0, scale - too_many))


def _digits(modifier: int) -> tuple[int, int]:
    """Precision and scale; 0 and 0 where none is declared."""
    if modifier < 4:
        return 0, 0
    packed = modifier - 4
    return (packed >> 16) & 0xFFFF, ((packed & 0x7FF) ^ 1024) - 1024


def _bits(modifier: int) -> DataType:
    return BOOLEAN if modifier == 1 else BINARY
