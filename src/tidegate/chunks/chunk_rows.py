"""Raw chunks as rows that the stages of a contract validate: delivered values as text, and where each row is from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import parquet

from tidegate.chunks.reading.pieces import ROW, SOURCE_FILE
from tidegate.names import quote
from tidegate.storage import Storage
from tidegate.transform.landing.zone_source import path_literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["CHUNK", "RawChunk", "read_chunk", "rows_of"]

CHUNK = "_commit_time"
"""The stages hand this column through; here it says which chunk a row is of."""

_OTHERS = ("_ingested_at", "_run_id", "_op", "_sequence")
"""Further columns that the stages know: what was delivered under their names is not meant."""

_KEY, _ORDINAL = "__tidegate_chunk_file", "__tidegate_chunk_ordinal"


@dataclass(frozen=True, slots=True)
class RawChunk:
    path: str
    schema: pa.Schema
    rows: int
    bytes: int
    """Without compression."""

    @property
    def is_text(self) -> bool:
        return all(pa.types.is_string(field.type) for field in self.schema if field.name != ROW)


def read_chunk(storage: Storage, path: str) -> RawChunk:
    """From its footer. Raises FileNotFoundError, and ArrowInvalid or OSError for what is no whole file."""
    with storage.open(path) as file:
        footer = parquet.ParquetFile(file)
        about = footer.metadata
        size = sum(about.row_group(number).total_byte_size for number in range(about.num_row_groups))
        return RawChunk(path, footer.schema_arrow, about.num_rows, size)


def rows_of(session: SparkSession, storage: Storage, chunks: Sequence[RawChunk]) -> DataFrame:
    """`CHUNK` is the position in `chunks`."""
    from pyspark.sql import DataFrame

    frames = []
    texts = [chunk for chunk in chunks if chunk.is_text]
    if texts:
        frames.append(_texts(session, storage, texts))
    by_schema: dict[str, list[RawChunk]] = {}
    for chunk in chunks:
        if not chunk.is_text:
            by_schema.setdefault(str(chunk.schema.remove_metadata()), []).append(chunk)
    frames += [_typed(session, storage, alike) for alike in by_schema.values()]
    # Names that differ in case alone are one column.
    spelled: dict[str, str] = {}
    for frame in frames:
        for name in frame.columns:
            spelled.setdefault(name.lower(), name)
    same = [frame.toDF(*(spelled[name.lower()] for name in frame.columns)) for frame in frames]
    rows = reduce(lambda one, other: DataFrame.unionByName(one, other, allowMissingColumns=True), same)
    return _placed(session, rows, {_key(chunk.path): at for at, chunk in enumerate(chunks)})


def _texts(session: SparkSession, storage: Storage, chunks: Sequence[RawChunk]) -> DataFrame:
    from pyspark.sql.types import LongType, StringType, StructField, StructType

    names: dict[str, str] = {}
    for chunk in chunks:
        for name in chunk.schema.names:
            names.setdefault(name.lower(), name)
    schema = StructType([StructField(name, LongType() if name == ROW else StringType()) for name in names.values()])
    paths = [path_literal(storage.spark_path(chunk.path)) for chunk in chunks]
    return session.read.schema(schema).parquet(*paths).selectExpr(*map(quote, names.values()), f"{_FILE} AS {_KEY}")


def _typed(session: SparkSession, storage: Storage, chunks: Sequence[RawChunk]) -> DataFrame:
    from pyspark.sql import functions as f

    from tidegate.transform.landing.value_texts import delivered_text

    frame = session.read.parquet(*(path_literal(storage.spark_path(chunk.path)) for chunk in chunks))
    columns = []
    for field in frame.schema.fields:
        value = f.col(quote(field.name))
        columns.append(value if field.name == ROW else delivered_text(value, field.dataType).alias(field.name))
    return frame.select(*columns, f.expr(_FILE).alias(_KEY))


_FILE = "substring_index(input_file_name(), '/', -2)"
"""The run and the chunk, which need no escapes in a URI. A column of a raw file may be called `_metadata`."""


def _key(path: str) -> str:
    return "/".join(path.split("/")[-2:])


def _placed(session: SparkSession, rows: DataFrame, ordinals: Mapping[str, int]) -> DataFrame:
    from pyspark.sql import functions as f

    listed = json.dumps([{"key": key, "ordinal": ordinal} for key, ordinal in ordinals.items()])
    table = session.range(1).select(f.inline(f.from_json(f.lit(listed), "array<struct<key: string, ordinal: int>>")))
    table = table.selectExpr(f"key AS {_KEY}", f"ordinal AS {_ORDINAL}")
    own = {name.lower() for name in (*_OTHERS, CHUNK, SOURCE_FILE, ROW, _KEY)}
    delivered = [quote(name) for name in rows.columns if name.lower() not in own]
    return rows.join(f.broadcast(table), _KEY).selectExpr(
        *delivered, SOURCE_FILE, ROW, f"{_ORDINAL} AS {CHUNK}", *(f"CAST(NULL AS STRING) AS {name}" for name in _OTHERS)
    )
