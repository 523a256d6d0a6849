"""The types of text columns, from all values and nothing but the values.

| every value of the column is | type |
|---|---|
| an integer without leading zeros or plus sign that fits | BIGINT |
| such an integer up to 2^53, a decimal or exponent number, finite | DOUBLE |
| true or false, in any case | BOOLEAN |
| a day, 2024-12-31 | DATE |
| a day, or a day and time (`T` or a space between; up to six fraction digits; UTC if no offset) | TIMESTAMP |
| anything else | STRING |

An empty field is no value; in a STRING column a quoted one is an empty string. Each value has a set of types that can
hold it, and the column has the intersection of those sets: one `bit_and`, which no order or partitioning can change,
and which widens a type known from before just as well.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NullType,
    ShortType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

__all__ = ["fitting_types", "misfits", "resolve", "typed"]

_INTEGER, _NUMBER, _BOOLEAN, _DAY, _TIME, _KNOWN = 1, 2, 4, 8, 16, 32
_ANY = 63

_TYPES: tuple[tuple[int, DataType], ...] = (
    (_INTEGER, LongType()),
    (_NUMBER, DoubleType()),
    (_BOOLEAN, BooleanType()),
    (_DAY, DateType()),
    (_TIME, TimestampType()),
)
_HELD = {
    ByteType: _INTEGER | _NUMBER,
    ShortType: _INTEGER | _NUMBER,
    IntegerType: _INTEGER | _NUMBER,
    LongType: _INTEGER | _NUMBER,
    DecimalType: _NUMBER,
    FloatType: _NUMBER,
    DoubleType: _NUMBER,
    BooleanType: _BOOLEAN,
    DateType: _DAY | _TIME,
    TimestampType: _TIME,
    TimestampNTZType: _TIME,
    NullType: _ANY,
}
_NOT_INFERRED = (ByteType, ShortType, IntegerType, DecimalType, FloatType, TimestampNTZType)

# `\z`, because `$` also matches before a line break at the end.
_MAYBE = r"^[-.0-9tTfF]"
_INTEGERS = r"^-?(?:0|[1-9][0-9]{0,18})\z"
_NUMBERS = r"^-?(?:(?:0|[1-9][0-9]*)?\.[0-9]+(?:[eE][+-]?[0-9]+)?|(?:0|[1-9][0-9]*)[eE][+-]?[0-9]+)\z"
_BOOLEANS = r"^(?i:true|false)\z"
_DAYS = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}\z"
_CLOCK = r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?"
_TIMES = rf"^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[T ]{_CLOCK}(?:Z|[+-][0-9]{{2}}:?[0-9]{{2}})?\z"
_EXACT_IN_DOUBLE = 1 << 53


def fitting_types(text: Column, before: DataType | None) -> Column:
    """One number for the whole column: the types that hold all of its values. `before`: the type known so far."""
    return F.bit_and(_classes(text, before))


def resolve(classes: int | None, before: DataType | None) -> DataType:
    """The column's type; void where it has no value and none was known."""
    classes = _ANY if classes is None else classes
    if classes == _ANY or (isinstance(before, _NOT_INFERRED) and classes & _KNOWN):
        return before if before is not None else NullType()
    held = classes & (_ANY if before is None else _HELD.get(type(before), 0))
    return next((kind for bit, kind in _TYPES if held & bit), StringType())


def misfits(text: Column, kind: DataType) -> Column:
    """Whether a text is a value, but none of `kind`."""
    if isinstance(kind, StringType):
        return F.lit(False)
    filled = F.nullif(text, F.lit(""))
    value = _exactly(filled, kind) if isinstance(kind, DecimalType) else filled.try_cast(kind)
    return filled.isNotNull() & value.isNull()


def typed(text: Column, kind: DataType, misfit: Column | None) -> Column:
    """The text as `kind`; a value that is none raises `misfit` (None: there are no such values). An empty text is NULL,
    but for strings."""
    if isinstance(kind, StringType):
        return text
    filled = F.nullif(text, F.lit(""))
    value = _exactly(filled, kind) if isinstance(kind, DecimalType) else filled.try_cast(kind)
    if misfit is None:
        return value
    return F.coalesce(value, F.when(filled.isNotNull(), F.raise_error(misfit))).cast(kind)


def _classes(text: Column, before: DataType | None) -> Column:
    integer = text.try_cast(LongType())
    number = text.try_cast(DoubleType())
    classes = (
        F.when(~text.rlike(_MAYBE), F.lit(0))
        .when(
            text.rlike(_INTEGERS),
            F.when(integer.isNull(), F.lit(0))
            .when(integer.between(-_EXACT_IN_DOUBLE, _EXACT_IN_DOUBLE), F.lit(_INTEGER | _NUMBER))
            .otherwise(F.lit(_INTEGER)),
        )
        .when(text.rlike(_NUMBERS), _if(F.abs(number) < F.lit(float("inf")), _NUMBER))
        .when(text.rlike(_BOOLEANS), F.lit(_BOOLEAN))
        .when(text.rlike(_DAYS), _if(text.try_cast(DateType()).isNotNull(), _DAY | _TIME))
        .when(text.rlike(_TIMES), _if(text.try_cast(TimestampType()).isNotNull(), _TIME))
        .otherwise(F.lit(0))
    )
    if isinstance(before, _NOT_INFERRED):
        classes = classes.bitwiseOR(_if(_fits(text, before), _KNOWN))
    return F.when(text.isNull() | (text == ""), F.lit(_ANY)).otherwise(classes)


def _fits(text: Column, kind: DataType) -> Column:
    value = _exactly(text, kind) if isinstance(kind, DecimalType) else text.try_cast(kind)
    shape = _TIMES if isinstance(kind, TimestampNTZType) else f"{_INTEGERS}|{_NUMBERS}"
    return text.rlike(shape) & value.isNotNull()


def _exactly(text: Column, kind: DecimalType) -> Column:
    """A cast to a decimal rounds silently; here a value that would be rounded does not fit."""
    value = text.try_cast(kind)
    wide = text.try_cast(DecimalType(38, min(38, kind.scale + 10)))
    return F.when(value == wide, value)


def _if(condition: Column, classes: int) -> Column:
    return F.when(condition, F.lit(classes)).otherwise(F.lit(0))
