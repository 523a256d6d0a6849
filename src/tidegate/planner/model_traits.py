"""What a model promises about its table: whether it can be made anew, and whether a result says all about it."""

from __future__ import annotations

from tidegate.compiler.compiled import CompiledModel
from tidegate.project.model import Materialized

__all__ = ["declared_key", "is_upsert", "keeps_history", "result_is_complete", "unique_after"]


def keeps_history(model: CompiledModel) -> bool:
    """What the table holds cannot be had again from its inputs, so only `--full-refresh` makes it anew."""
    traits = model.model.settings.traits
    if model.model.settings.materialized is not Materialized.TABLE:
        return False
    if model.reads_itself:
        return True
    if traits.replaces_table:
        return False
    return traits.keeps_history or model.manual or bool(model.zones) or is_upsert(model)


def result_is_complete(model: CompiledModel) -> bool:
    """The query's result is the whole truth about the table: what it lacks is to be deleted."""
    settings = model.model.settings
    if model.manual or model.zones or settings.deletes == "ignore":
        return False
    return settings.traits.complete_result and not is_upsert(model)


def is_upsert(model: CompiledModel) -> bool:
    """By watermark: what is read is merged by key, and nothing is deleted."""
    settings = model.model.settings
    return settings.traits.merges_by_key and settings.watermark_column is not None and settings.deletes != "propagate"


def declared_key(model: CompiledModel) -> tuple[str, ...]:
    """The columns that the model says tell its rows apart. A masked column holds other values than the query gives."""
    settings = model.model.settings
    if settings.materialized is not Materialized.TABLE or not settings.traits.key_identifies_rows:
        return ()
    masked = {mask.column.lower() for mask in model.model.masks}
    return settings.key if masked.isdisjoint(name.lower() for name in settings.key) else ()


def unique_after(model: CompiledModel, anew: bool, before: tuple[str, ...]) -> tuple[str, ...]:
    """Columns of which no two rows of the table have the same values once the model has been written.

    A merge keeps a key unique that was so before; only a table that is made anew starts with another one.
    """
    settings = model.model.settings
    if not settings.traits.merges_by_key or settings.materialized is not Materialized.TABLE:
        return ()
    return settings.key if anew or before == settings.key else ()
