"""The tables that a model owns: its own, and that of the rows which it refuses. Both move, and go back, together."""

from __future__ import annotations

from collections.abc import Iterable

from tidegate.compiler.compiled import Compiled, CompiledModel
from tidegate.names import TableName

__all__ = ["models_of", "tables_of"]


def tables_of(compiled: Compiled, models: Iterable[TableName]) -> set[TableName]:
    tables = set(models)
    return tables | {table.quarantine for table in tables if _quarantines(compiled.models.get(table))}


def models_of(compiled: Compiled, tables: Iterable[TableName]) -> set[TableName]:
    return {_model_of(compiled, table) for table in tables}


def _model_of(compiled: Compiled, table: TableName) -> TableName:
    beside = table.beside_quarantine
    if beside is None or table in compiled.models or not _quarantines(compiled.models.get(beside)):
        return table
    return beside


def _quarantines(model: CompiledModel | None) -> bool:
    return model is not None and model.quarantines
