"""What is done to a result before it is written: masks over its columns, and what its commits say of the build."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from blake3 import blake3

from tidegate.errors import QueryError
from tidegate.project.column_masks import ColumnMask
from tidegate.runs.clock import Clock

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["BuildStamp", "column_list", "masked_frame"]

_PROPERTY = "spark.sql.iceberg.snapshot-property.tidegate."
_LONGEST_LIST = 1000
"""Characters. Every metadata file of the table repeats the summaries of all its snapshots."""


class BuildStamp:
    """Set on the model's own session. Call it just before a statement that commits."""

    def __init__(self, session: SparkSession, source: str, clock: Clock) -> None:
        self._session = session
        self._clock = clock
        self._began = clock.monotonic()
        session.conf.set(f"{_PROPERTY}sql-hash", blake3(source.encode()).hexdigest(length=16))

    def describe(self, columns: Iterable[str]) -> None:
        self._session.conf.set(f"{_PROPERTY}columns", column_list(list(columns)))

    def __call__(self) -> None:
        spent = round((self._clock.monotonic() - self._began) * 1000)
        self._session.conf.set(f"{_PROPERTY}build-ms", str(spent))


def column_list(names: list[str]) -> str:
    """The names, or as many of them as fit and how many there are."""
    whole = ", ".join(names)
    if len(whole) <= _LONGEST_LIST:
        return whole
    return f"{whole[:_LONGEST_LIST].rpartition(', ')[0]}, … ({len(names)} columns)"


def masked_frame(frame: DataFrame, masks: Sequence[ColumnMask], where: str) -> DataFrame:
    """The same columns in the same order, the masked ones unreadable. `where`: the model's file."""
    if not masks:
        return frame
    from pyspark.sql import functions as f
    from pyspark.sql.types import CharType, StringType, VarcharType

    fields = {field.name.lower(): field for field in frame.schema.fields}
    expressions = {}
    for mask in masks:
        field = fields.get(mask.column.lower())
        if field is not None:
            is_text = isinstance(field.dataType, StringType | CharType | VarcharType)
            expressions[field.name] = f.expr(mask.expression(field.name, is_text=is_text))
        elif mask.required:
            raise QueryError(
                f"the result has no column '{mask.column}', which {mask.name} is to mask",
                where=where,
                remedy=f"The query gives {', '.join(frame.columns)}: correct the name of the tagged column.",
            )
    return frame.withColumns(expressions)
