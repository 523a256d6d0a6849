"""What is done to a result before it is written: masks over its columns, and what its commits say of the build."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from blake3 import blake3

from tidegate.errors import QueryError
from tidegate.names import literal, quote
from tidegate.project.column_masks import ColumnMask
from tidegate.runs.clock import Clock

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["BuildStamp", "column_list", "masked_frame", "without_values"]

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


def without_values(refused: DataFrame, masked: Collection[str], hidden: Collection[str]) -> DataFrame:
    """Refused rows of a contract as its quarantine holds them: without the values of masked columns, and, where there
    are any, without the messages about hidden ones. Names are in lower case."""
    if not masked:
        return refused
    listed = ", ".join(literal(name) for name in sorted(hidden))
    about = (
        f"f.column = '' OR lower(f.column) IN ({listed})"
        f" OR arrays_overlap(split(lower(f.column), ', *'), array({listed}))"
    )
    parts = ", ".join(
        f"{literal(part)}, " + (f"IF({about}, '***', f.{part})" if part in ("message", "value") else f"f.{part}")
        for part in ("stage", "column", "rule", "message", "value")
    )
    failures = f"transform(_failures, f -> named_struct({parts}))"
    changed = {"_failures": failures, "_reasons": f"transform({failures}, f -> f.message)"}
    changed |= {name: f"IF({quote(name)} IS NULL, NULL, '***')" for name in refused.columns if name.lower() in masked}
    return refused.selectExpr(
        *(f"{changed[name]} AS {quote(name)}" if name in changed else quote(name) for name in refused.columns)
    )
