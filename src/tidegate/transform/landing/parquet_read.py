"""Parquet files: the columns of all of them, by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow
import pyarrow.parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StructField, StructType

from tidegate.transform.landing.bad_records import UnreadableFileError, look_at_each
from tidegate.transform.landing.schemas import align, by_name, column, combine, nullable
from tidegate.transform.landing.value_texts import delivered_text, texts_of
from tidegate.transform.landing.zone_source import (
    ORDER_LINE,
    FormatFiles,
    ZoneSource,
    file_order,
    path_literal,
    with_columns,
)

__all__ = ["ParquetSource"]

_REMEDY = "deliver it again, or move it out of the zone"
_NESTED = (StructType, ArrayType, MapType)


class ParquetSource(ZoneSource):
    def __init__(self, session: SparkSession, files: FormatFiles) -> None:
        self._session = session
        self._raw = files.settings.raw
        look_at_each(_refuse_empty, files.paths)
        self._groups = self._group(files.paths)
        if self._raw:
            self.schema = combine(texts_of(schema) for _, schema in self._groups)
        else:
            declared = files.declared
            self.schema = declared if declared is not None else combine(schema for _, schema in self._groups)

    def load(self, target: StructType, ordered: bool = False) -> list[DataFrame]:
        if self._raw:
            return self._texts(target)
        frames, order = [], file_order(ordered)
        for paths, schema in self._groups:
            reader = self._session.read.schema(_readable(schema, by_name(target)))
            frame = reader.parquet(*map(path_literal, paths))
            frames.append(align(with_columns(frame, order), target, order))
        return frames

    def _texts(self, target: StructType) -> list[DataFrame]:
        """Spark knows the number of each row in its file, however the file is divided."""
        number = F.col("_metadata.row_index") + 1
        order = {**file_order(ordered=True), ORDER_LINE: number}
        frames = []
        for paths, schema in self._groups:
            frame = self._session.read.schema(schema).parquet(*map(path_literal, paths))
            values = [delivered_text(column(field.name), field.dataType).alias(field.name) for field in schema.fields]
            places = [place.alias(name) for name, place in order.items()]
            frames.append(align(frame.select(*values, *places), target, order))
        return frames

    def _group(self, paths: Sequence[Path]) -> list[tuple[Sequence[Path], StructType]]:
        """Files that can be read together, mostly all of them, and their columns. Of texts those that are alike: else
        a nested value would get fields that its file does not have."""
        try:
            if not self._raw:
                return [(paths, self._merged(paths))]
        except Exception as error:
            if "CANNOT_MERGE_SCHEMAS" not in str(error):
                raise
        groups: dict[str, list[Path]] = {}
        for path, columns in zip(paths, look_at_each(_columns, paths), strict=True):
            groups.setdefault(columns, []).append(path)
        return [(group, self._merged(group[:1])) for group in groups.values()]

    def _merged(self, paths: Sequence[Path]) -> StructType:
        reader = self._session.read.option("mergeSchema", "true")
        schema: StructType = nullable(reader.parquet(*map(path_literal, paths)).schema)
        return schema


def _refuse_empty(path: Path) -> None:
    if path.stat().st_size == 0:
        raise UnreadableFileError(path, "is empty, so it is no Parquet file", remedy=_REMEDY)


def _columns(path: Path) -> str:
    try:
        schema = pyarrow.parquet.read_schema(path)
    except (FileNotFoundError, PermissionError):
        raise
    except (pyarrow.ArrowException, OSError) as error:
        why = str(error).split(". ")[0].strip().rstrip(".")
        raise UnreadableFileError(path, f"is no whole Parquet file: {why}", remedy=_REMEDY) from error
    return str(schema.remove_metadata())


def _readable(schema: StructType, targets: dict[str, StructField]) -> StructType:
    """The reader fills in fields that a nested value lacks; from one plain type to another only a cast is safe."""
    fields = []
    for field in schema.fields:
        target = targets.get(field.name.casefold(), field).dataType
        same_nesting = isinstance(field.dataType, _NESTED) and isinstance(target, type(field.dataType))
        fields.append(StructField(field.name, target if same_nesting else field.dataType))
    return StructType(fields)
