"""Values of Parquet as text that loses nothing.

| type | text |
|---|---|
| numbers, booleans, dates | as Spark casts them: a decimal with all digits of its scale, a double as Java writes it |
| timestamp | ISO 8601 with the zone of the session, as `2024-01-31T10:00:00.5Z`; without one where it has none |
| binary | base64 |
| struct, array, map | JSON with NULLs, timestamps in microseconds, binary as base64 |
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

__all__ = ["delivered_text", "texts_of"]

_NESTED = (StructType, ArrayType, MapType)
_JSON = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


def texts_of(schema: StructType | None) -> StructType:
    """The same columns as strings."""
    return StructType([StructField(field.name, StringType()) for field in (schema.fields if schema else ())])


def delivered_text(value: Column, kind: DataType) -> Column:
    if isinstance(kind, _NESTED):
        return F.to_json(value, _JSON)
    if isinstance(kind, BinaryType):
        return F.base64(value)
    if isinstance(kind, TimestampNTZType):
        return _with_t(value)
    if isinstance(kind, TimestampType):
        return F.concat(_with_t(value), F.date_format(value, "XXX"))
    return value.cast("string")


def _with_t(value: Column) -> Column:
    return F.replace(value.cast("string"), F.lit(" "), F.lit("T"))
