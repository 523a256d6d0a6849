"""Columns of a query's result: those that settings require, of a type that fits and that a table can hold."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.compiler.compiled import Diagnostic
from tidegate.compiler.drafts import CompilationState, Draft
from tidegate.compiler.table_columns import IS_CURRENT
from tidegate.datatypes import Column, DataType, Relation
from tidegate.names import nearest
from tidegate.problems import Place, did_you_mean

__all__ = ["check_capabilities", "check_output"]

_KEYS = ("unique_key", "group_key", "partition_column", "sorted_by")


def check_output(work: CompilationState, draft: Draft) -> Iterator[Diagnostic]:
    if not draft.is_table:
        return
    if draft.relation is not None:
        yield from _keys(work, draft, draft.relation)
        yield from _times(work, draft, draft.relation)
        yield from _own_columns(work, draft, draft.relation)
    yield from _chance(work, draft)


def _keys(work: CompilationState, draft: Draft, relation: Relation) -> Iterator[Diagnostic]:
    settings = draft.model.settings
    for setting in _KEYS:
        value = getattr(settings, setting)
        for name in (value,) if isinstance(value, str) else value or ():
            column = name.split()[0] if setting == "sorted_by" else name
            if _is_missing(column, relation):
                yield _missing(work, draft, relation, "KeyNotInOutput", setting, column)
    if settings.watermark_column and _is_missing(settings.watermark_column, relation):
        yield _missing(work, draft, relation, "WatermarkNotInOutput", "watermark_column", settings.watermark_column)


def _times(work: CompilationState, draft: Draft, relation: Relation) -> Iterator[Diagnostic]:
    settings = draft.model.settings
    if settings.time_column and settings.traits.by_intervals:
        if _is_missing(settings.time_column, relation):
            yield _missing(work, draft, relation, "TimeColumnMissing", "time_column", settings.time_column)
        else:
            yield from _must_be_time(work, draft, "time_column", relation.find(settings.time_column))
    if settings.traits.keeps_versions and settings.watermark_column:
        yield from _must_be_time(work, draft, "watermark_column", relation.find(settings.watermark_column))


def _own_columns(work: CompilationState, draft: Draft, relation: Relation) -> Iterator[Diagnostic]:
    settings = draft.model.settings
    if not settings.traits.keeps_versions:
        return
    for name in (settings.scd_valid_from, settings.scd_valid_to, IS_CURRENT):
        if relation.find(name):
            message = f"the query gives a column '{name}', which strategy {settings.strategy} fills itself"
            place = work.project.origin(draft.model, "strategy")
            fix = "leave it out or rename it, or set scd_valid_from and scd_valid_to to other names"
            yield work.error(draft, "OwnedColumn", message, place, fix)


def _chance(work: CompilationState, draft: Draft) -> Iterator[Diagnostic]:
    """A strategy that compares rows finds every row changed where the query is not deterministic."""
    does = draft.model.settings.traits.unstable_rows
    if does and draft.content.changing is not None:
        what, place = draft.content.changing
        yield _unstable(work, draft, what, does, place)
    for rendering, facts in draft.facts if does else ():
        if facts.changing is not None:
            what, offset = facts.changing
            yield _unstable(work, draft, what, does, work.place(draft, rendering.later, offset))
            return


def _unstable(work: CompilationState, draft: Draft, what: str, does: str, place: Place) -> Diagnostic:
    message = f"{what} differs from run to run, so strategy {draft.model.settings.strategy} {does} every row"
    fix = "leave it out; the run's own time is kept in the table's history"
    return work.warning(draft, "NonDeterministic", message, place, fix)


def _is_missing(name: str, relation: Relation) -> bool:
    return relation.complete and relation.find(name) is None


def _missing(
    work: CompilationState, draft: Draft, relation: Relation, code: str, setting: str, name: str
) -> Diagnostic:
    place = work.project.origin(draft.model, setting)
    close = nearest(name, [column.name for column in relation.columns])
    columns = ", ".join(column.name for column in relation.columns if column.name)
    fix = did_you_mean(close) or f"the query gives {columns}"
    return work.error(draft, code, f"{setting} '{name}' is not a column of the result", place, fix)


def _must_be_time(work: CompilationState, draft: Draft, setting: str, column: Column | None) -> Iterator[Diagnostic]:
    if column is None or not column.type.known or column.type.is_temporal:
        return
    message = f"{setting} '{column.name}' is {column.type}, not a date or a timestamp"
    place = work.project.origin(draft.model, setting)
    yield work.error(draft, "TimeColumnType", message, place, f"cast it in the query: CAST({column.name} AS TIMESTAMP)")


def check_capabilities(work: CompilationState, draft: Draft) -> Iterator[Diagnostic]:
    for column in draft.relation.columns if draft.is_table and draft.relation else ():
        if column.type.known and (kind := _not_stored(column.type)):
            message = f"column '{column.name}' is {column.type}, and a table cannot hold {kind}"
            fix = _FIXES.get(kind.split()[0], "cast it to another type")
            place = work.place_of_column(draft, column.name) or work.place(draft, False, 0)
            yield work.error(draft, "UnsupportedColumnType", message, place, fix)


_FIXES = {"void": "give NULL a type: CAST(NULL AS STRING)", "interval": "keep it as a number, such as its seconds"}


def _not_stored(kind: DataType) -> str | None:
    """The part of the type that Iceberg has no type for."""
    match kind.kind:
        case "struct":
            return next((part for _, inner in kind.args if (part := _not_stored(inner))), None)
        case "array" | "map":
            return next((part for inner in kind.args if (part := _not_stored(inner))), None)
        case "void" | "calendarinterval":
            return kind.kind
        case _:
            return kind.kind if kind.kind.startswith(("interval", "time(")) else None
