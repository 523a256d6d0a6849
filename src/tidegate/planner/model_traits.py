"""What a model's settings mean for its table: whether it can be rebuilt, and whether a result is all of it."""

from __future__ import annotations

from tidegate.compiler.compiled import CompiledModel
from tidegate.project.model import Materialized

__all__ = ["declared_key", "is_upsert", "keeps_history", "result_is_complete", "unique_after"]


def keeps_history(model: CompiledModel) -> bool:
    """The table holds rows that its inputs no longer give, so only `--full-refresh` rebuilds it."""
    traits = model.model.settings.traits
    if model.model.settings.materialized is not Materialized.TABLE:
        return False
    if model.reads_itself:
        return True
    if traits.replaces_table or model.model.is_silver:
        return False
    return traits.keeps_history or model.manual or bool(model.zones) or is_upsert(model)


def result_is_complete(model: CompiledModel) -> bool:
    """The query's result is the whole table: rows that it lacks are deleted."""
    settings = model.model.settings
    if model.manual or model.zones or settings.deletes == "ignore":
        return False
    return settings.traits.complete_result and not is_upsert(model)


def is_upsert(model: CompiledModel) -> bool:
    """Rows are read by watermark and merged by key, and none are deleted."""
    settings = model.model.settings
    return settings.traits.merges_by_key and settings.watermark_column is not None and settings.deletes != "propagate"


def declared_key(model: CompiledModel) -> tuple[str, ...]:
    """The declared columns that identify its rows. A masked column holds other values than the query gives."""
    settings = model.model.settings
    if settings.materialized is not Materialized.TABLE or not settings.traits.key_identifies_rows:
        return ()
    masked = {mask.column.lower() for mask in model.model.masks}
    return settings.key if masked.isdisjoint(name.lower() for name in settings.key) else ()


def unique_after(model: CompiledModel, rebuilt: bool, before: tuple[str, ...]) -> tuple[str, ...]:
    """Columns of which no two rows of the table have the same values once the model has been written.

    A merge keeps a key unique that was so before; only a rebuilt table starts with another one.
    """
    settings = model.model.settings
    if not settings.traits.enforces_key or settings.materialized is not Materialized.TABLE:
        return ()
    return settings.key if rebuilt or before == settings.key else ()
