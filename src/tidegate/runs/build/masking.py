"""Masks put over a result before it is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidegate.errors import QueryError
from tidegate.project.column_masks import ColumnMask

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["masked_frame"]


def masked_frame(frame: DataFrame, masks: Sequence[ColumnMask], where: str) -> DataFrame:
    """The same columns in the same order, the masked ones unreadable. `where`: the model's file."""
    if not masks:
        return frame
    from pyspark.sql import functions as f
    from pyspark.sql.types import CharType, StringType, VarcharType

    fields = {field.name.lower(): field for field in frame.schema.fields}
    found = {}
    for mask in masks:
        field = fields.get(mask.column.lower())
        if field is not None:
            is_text = isinstance(field.dataType, StringType | CharType | VarcharType)
            found[field.name] = f.expr(mask.expression(field.name, is_text=is_text))
        elif mask.required:
            raise QueryError(
                f"the result has no column '{mask.column}', which {mask.name} is to mask",
                where=where,
                remedy=f"The query gives {', '.join(frame.columns)}: correct the name of the tagged column.",
            )
    return frame.withColumns(found)
