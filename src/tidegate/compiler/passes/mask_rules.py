"""Masks of columns: those that cannot be applied, and the types that the others give the table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from tidegate.compiler.analysis.analyze import analyze
from tidegate.compiler.analysis.scoping import QuerySource
from tidegate.compiler.compiled import Diagnostic, DiagnosticSeverity
from tidegate.compiler.drafts import CompilationState, Draft
from tidegate.compiler.sql.function_calls import first_change
from tidegate.compiler.sql.queries import NOT_PERMITTED, SqlFault, parse_permitted
from tidegate.compiler.table_columns import IS_CURRENT
from tidegate.datatypes import NOTHING_KNOWN, Column, Relation
from tidegate.names import nearest, quote
from tidegate.problems import did_you_mean
from tidegate.project import Materialized, Place
from tidegate.project.column_masks import PII, ColumnMask, has_tag

__all__ = ["mask_columns"]

_KEYS = ("unique_key", "group_key", "partition_column", "time_column", "watermark_column")
_TERMS = ("partitioned_by", "sorted_by")
_NAME = re.compile(r"`([^`]+)`|([^\W\d]\w*)")


def mask_columns(work: CompilationState, draft: Draft) -> Iterator[Diagnostic]:
    """From here on the draft's columns are those that its table will have."""
    tags = draft.model.settings.column_tags
    if draft.test is not None or not tags:
        return
    for column in tags:
        yield from _missing(work, draft, column)
    masks: dict[str, ColumnMask] = {}
    for mask in draft.model.masks:
        first = masks.setdefault(mask.column.lower(), mask)
        if first is not mask:
            message = f"column '{mask.column}' has two masks: {first.name} and {mask.name}"
            yield work.error(draft, "SeveralMasks", message, _place(work, draft, mask.column), "keep one of them")
    if masks and not draft.is_table:
        yield _without_table(work, draft, next(iter(masks.values())))
        return
    for mask in masks.values():
        yield from _keys(work, draft, mask)
    yield from _apply(work, draft, masks)


def _place(work: CompilationState, draft: Draft, column: str) -> Place:
    return work.project.origin(draft.model, f"column_tags.{column.lower()}", "column_tags")


def _missing(work: CompilationState, draft: Draft, column: str) -> Iterator[Diagnostic]:
    """A folder may tag columns that only some of its models have."""
    relation, low = draft.relation, column.lower()
    masked = any(mask.column.lower() == low for mask in draft.model.masks)
    means_something = masked or has_tag(draft.model.settings.column_tags, column, PII)
    own = f"column_tags.{low}" in draft.model.origins
    if relation is None or not relation.complete or relation.find(column) or not means_something or not own:
        return
    columns = [candidate.name for candidate in relation.columns if candidate.name]
    fix = did_you_mean(nearest(column, columns)) or f"the query gives {', '.join(columns)}"
    message = f"there are tags for column '{column}', which is not a column of the result"
    yield work.error(draft, "TaggedColumnMissing", message, _place(work, draft, column), fix)


def _without_table(work: CompilationState, draft: Draft, mask: ColumnMask) -> Diagnostic:
    kind = "a view" if draft.model.settings.materialized is Materialized.VIEW else "an ephemeral model"
    message = f"{kind} has no table, so {mask.name} cannot be applied to column '{mask.column}'"
    fix = "make it a table, or mask the column where it is first written"
    return work.error(draft, "MaskWithoutTable", message, _place(work, draft, mask.column), fix)


def _keys(work: CompilationState, draft: Draft, mask: ColumnMask) -> Iterator[Diagnostic]:
    for setting, names in _key_columns(draft):
        if mask.column.lower() in names:
            message = f"column '{mask.column}' is masked with {mask.name} and is part of {setting}"
            fix = f"hash it in the query instead: sha2({mask.column}, 256) AS {mask.column}"
            yield work.error(draft, "MaskedKey", message, _place(work, draft, mask.column), fix)
            return


def _key_columns(draft: Draft) -> Iterator[tuple[str, set[str]]]:
    """Settings that name key columns, with the columns in lower case."""
    settings = draft.model.settings
    for setting in _KEYS:
        value = getattr(settings, setting)
        yield setting, {name.lower() for name in ((value,) if isinstance(value, str) else value or ())}
    for setting in _TERMS:
        matches = (_NAME.search(_without_transform(term)) for term in getattr(settings, setting))
        yield setting, {(match[1] or match[2]).lower() for match in matches if match}
    if draft.model.stage is not None:
        unique = (column.name.lower() for column in draft.model.stage.ingestion.silver.columns if column.unique)
        yield "the unique columns of its contract", set(unique)
    if settings.traits.keeps_versions:
        yield str(settings.strategy), {settings.scd_valid_from.lower(), settings.scd_valid_to.lower(), IS_CURRENT}


def _without_transform(term: str) -> str:
    """`bucket(4, email)` → `4, email`."""
    return term.partition("(")[2] if "(" in term and "`" not in term.partition("(")[0] else term


def _apply(work: CompilationState, draft: Draft, masks: dict[str, ColumnMask]) -> Iterator[Diagnostic]:
    relation = draft.relation or NOTHING_KNOWN
    columns: dict[str, Column] = {}
    for low, mask in masks.items():
        column = relation.find(low)
        if column is None:
            continue
        nullable = True if mask.name == "redact" and not column.type.is_text else column.nullable
        columns[low] = Column(column.name, mask.type_of(column.type), nullable)
        if mask.sql is not None:
            outcome = _own(work, draft, mask, column, relation)
            if isinstance(outcome, Column):
                columns[low] = outcome
            else:
                yield outcome
    if columns and draft.relation is not None:
        changed = tuple(columns.get(column.name.lower(), column) for column in relation.columns)
        draft.content.relation = replace(relation, columns=changed)


def _own(
    work: CompilationState, draft: Draft, mask: ColumnMask, column: Column, relation: Relation
) -> Column | Diagnostic:
    """The column after a mask of the project's own, or why the mask cannot be applied."""

    def wrong(why: str, suggestion: str | None = None) -> Diagnostic:
        message = f"mask {mask.name} cannot be applied to column '{column.name}': {why}"
        return work.error(draft, "InvalidMask", message, _place(work, draft, mask.column), suggestion)

    is_text = column.type.is_text
    text = f"SELECT {mask.expression(column.name, is_text=is_text)} AS {quote(column.name)} FROM t"
    query = parse_permitted(text, work.permissions())
    if isinstance(query, SqlFault):
        fix = query.suggestion if query.code in NOT_PERMITTED else None
        return wrong(query.message, fix or f"correct masks/{mask.name}.sql: it holds one expression")
    if len(query.references) != 1:
        return wrong("it reads another table", "a mask sees one row of its own table")
    changing = first_change(query, {token.text.upper() for token in query.tokens})
    if changing is not None:
        return wrong(f"{changing[0]} differs from run to run", "a value must be masked the same way each time")
    sources = {id(query.references[0].node): QuerySource("t", relation, open=True)}
    analysis = analyze(query.tree, sources, work.own_functions)
    for finding in analysis.findings:
        if finding.severity is DiagnosticSeverity.ERROR and not (work.is_lenient and finding.code == "TypeMismatch"):
            return wrong(finding.message, finding.suggestion)
    alone = parse_permitted(f"SELECT {mask.sql}\nFROM t", work.permissions())
    if isinstance(alone, SqlFault) or len(alone.tree.expressions) != 1:
        return wrong("it is not one expression", f"correct masks/{mask.name}.sql")
    return analysis.relation.columns[0]
