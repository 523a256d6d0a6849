"""What a model promises about its table: whether it can be made anew, and whether a result says all about it."""

from __future__ import annotations

from tidegate.compiler.values import CompiledModel
from tidegate.project.model import Materialized, Strategy

__all__ = ["declared_key", "is_upsert", "keeps_history", "result_is_complete", "unique_after"]


def keeps_history(model: CompiledModel) -> bool:
    """What the table holds cannot be had again from its inputs, so only `--full-refresh` makes it anew."""
    strategy = model.model.settings.strategy
    if model.model.settings.materialized is not Materialized.TABLE:
        return False
    if model.reads_itself:
        return True
    return strategy is not Strategy.FULL_REFRESH and (
        strategy in (Strategy.APPEND_ONLY, Strategy.SCD2, Strategy.SNAPSHOT)
        or model.manual
        or bool(model.zones)
        or is_upsert(model)
    )


def result_is_complete(model: CompiledModel) -> bool:
    """The query's result is the whole truth about the table: what it lacks is to be deleted."""
    settings = model.model.settings
    if model.manual or model.zones or settings.deletes == "ignore":
        return False
    if settings.strategy in (Strategy.APPEND_ONLY, Strategy.SNAPSHOT, Strategy.TIME_INTERVAL):
        return False
    return not is_upsert(model)


def is_upsert(model: CompiledModel) -> bool:
    """By watermark: what is read is merged by key, and nothing is deleted."""
    settings = model.model.settings
    return (
        settings.strategy is Strategy.INCREMENTAL
        and settings.watermark_column is not None
        and settings.deletes != "propagate"
    )


def declared_key(model: CompiledModel) -> tuple[str, ...]:
    """The columns that the model says tell its rows apart. A masked column holds other values than the query gives."""
    settings = model.model.settings
    if settings.materialized is not Materialized.TABLE:
        return ()
    if settings.strategy not in (Strategy.INCREMENTAL, Strategy.FULL_REFRESH):
        return ()
    masked = {mask.column.lower() for mask in model.model.masks}
    return settings.unique_key if masked.isdisjoint(name.lower() for name in settings.unique_key) else ()


def unique_after(model: CompiledModel, anew: bool, before: tuple[str, ...]) -> tuple[str, ...]:
    """Columns of which no two rows of the table have the same values once the model has been written.

    A merge keeps a key unique that was so before; only a table that is made anew starts with another one.
    """
    settings = model.model.settings
    if settings.strategy is not Strategy.INCREMENTAL or settings.materialized is not Materialized.TABLE:
        return ()
    return settings.unique_key if anew or before == settings.unique_key else ()
