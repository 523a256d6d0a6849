"""Rows of bronze for tests of silver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_META = {
    "_ingested_at": "2024-01-01 00:00:00",
    "_source_file": "things/a.csv",
    "_source_row": 1,
    "_run_id": "run-1",
    "_op": "read",
    "_commit_time": "2024-01-01 00:00:00",
    "_sequence": "1",
}
_TYPES = {"_ingested_at": "TIMESTAMP", "_commit_time": "TIMESTAMP", "_source_row": "BIGINT"}


def bronze_frame(spark: SparkSession, rows: Sequence[Mapping[str, Any]]) -> DataFrame:
    """Columns as text, those about the row filled in."""
    names = [*dict.fromkeys(name for row in rows for name in row if name not in _META), *_META]
    values = [tuple(_text({**_META, **row}.get(name)) for name in names) for row in rows]
    frame = spark.createDataFrame(values, ", ".join(f"`{name}` string" for name in names))
    return frame.selectExpr(*(f"CAST(`{name}` AS {_TYPES.get(name, 'STRING')}) AS `{name}`" for name in names))


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
