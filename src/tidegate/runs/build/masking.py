"""Masks put over a result before it is written, and samples without what nobody is to see."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from tidegate.compiler.hidden import hidden_columns, rests_on_errors
from tidegate.compiler.values import Compiled, CompiledModel
from tidegate.errors import QueryError
from tidegate.names import TableName
from tidegate.project.masks import ColumnMask
from tidegate.quality.hiding import HIDDEN

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["hidden_of", "masked_frame", "sees_hidden", "without_values"]

_VALUES = re.compile(
    r"'(?:[^'\\]|\\.)*'|(?<=\bThe value )\S.*?(?= of the type )|(?<=\bThe )\S+(?= cannot be represented)", re.DOTALL
)
"""In Spark's messages names stand in backquotes and types in double quotes."""


_PYTHONS = re.compile(r"\b([A-Z]\w*Error: ).+")
"""Python's errors quote values as it likes."""


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


def hidden_of(compiled: Compiled | None, table: TableName, columns: Collection[str]) -> frozenset[str]:
    """Of a published table's columns, in lower case. All, where its model or one above has errors, or the project
    cannot be read: then nobody knows what they hold."""
    if compiled is not None and table not in compiled.models and table not in compiled.broken:
        # Rows that a model refused have its columns.
        table = table.beside_quarantine or table
    if compiled is None or (compiled.tagged and rests_on_errors(compiled, table)):
        return frozenset(name.lower() for name in columns)
    return hidden_columns(compiled, table)


def sees_hidden(compiled: Compiled, model: CompiledModel) -> bool:
    """Whether the model gives hidden columns, or reads some."""
    tables = (model.model.table, *model.depends_on, *model.inlined)
    return any(hidden_columns(compiled, table) for table in tables)


def without_values(message: str) -> str:
    """A message of Spark's without the values that it quotes."""
    return _PYTHONS.sub(rf"\1{HIDDEN}", _VALUES.sub(HIDDEN, message))
