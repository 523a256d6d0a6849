"""Differences between a model's contract and the columns of its query."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.compiler.compiled import Diagnostic
from tidegate.compiler.drafts import CompilationState, Draft
from tidegate.compiler.table_columns import table_columns
from tidegate.contracts import ColumnRule, ModelContract
from tidegate.datatypes import Column, Relation
from tidegate.names import nearest
from tidegate.problems import did_you_mean
from tidegate.project import ModelSettings

__all__ = ["check_contracts"]


def check_contracts(work: CompilationState, draft: Draft) -> Iterator[Diagnostic]:
    """Where not all columns are known, none is reported as missing."""
    contract = draft.model.contract
    if contract is None or draft.test is not None or draft.relation is None:
        return
    table = table_columns(draft.model.settings, draft.relation)
    yield from _missing(work, draft, contract, table)
    for rule in contract.columns:
        # The query's own type first: the lake stores some types as wider ones.
        column = draft.relation.find(rule.name) or table.find(rule.name)
        if column is not None:
            yield from _column(work, draft, rule, column)


def _missing(work: CompilationState, draft: Draft, contract: ModelContract, table: Relation) -> Iterator[Diagnostic]:
    if not table.complete:
        return
    reported = set()
    for fact in contract.protected:
        if table.find(fact.value) is None:
            reported.add(fact.value.lower())
            published = work.external.relation(draft.model.table).find(fact.value)
            loss = "would take it off the published table" if published else "does not give it"
            message = f"column '{fact.value}' is protected and may not be removed, but the model {loss}"
            fix = _instead(fact.value, table) or "put it back, or agree with its readers and take it off the contract"
            yield work.error(draft, "ContractProtectedColumn", message, fact.place, fix)
    for fact in contract.required:
        if table.find(fact.value) is None and fact.value.lower() not in reported:
            reported.add(fact.value.lower())
            message = f"the contract requires column '{fact.value}', but the model does not give it"
            fix = _instead(fact.value, table) or "add it to the query, or take it off the contract"
            yield work.error(draft, "ContractColumnMissing", message, fact.place, fix)
    for rule in contract.columns:
        if table.find(rule.name) is None and rule.name.lower() not in reported:
            message = f"the contract describes column '{rule.name}', which the model does not have"
            fix = _instead(rule.name, table) or "remove it, or add it to required"
            yield work.warning(draft, "ContractColumnUnknown", message, rule.place, fix)


def _column(work: CompilationState, draft: Draft, rule: ColumnRule, column: Column) -> Iterator[Diagnostic]:
    if rule.type is not None and not rule.type.value.accepts(column.type):
        message = f"column '{column.name}' is {column.type}, but the contract says {rule.type.value.text}"
        place = work.place_of_column(draft, column.name) or rule.type.place
        fix = f"CAST it to {rule.type.value.text}, or change {rule.type.place.file}:{rule.type.place.line}"
        yield work.error(draft, "ContractColumnType", message, place, fix)
    never_null = rule.nullable if rule.nullable is not None and not rule.nullable.value else None
    if never_null and column.nullable and not _is_checked(draft.model.settings, column.name):
        message = f"column '{column.name}' may be NULL, but the contract says that it never is"
        place = work.place_of_column(draft, column.name) or never_null.place
        fix = f"COALESCE it or filter the NULLs out, or change {never_null.place.file}:{never_null.place.line}"
        yield work.error(draft, "ContractNullable", message, place, fix)


def _is_checked(settings: ModelSettings, name: str) -> bool:
    """Whether a NULL in the column stops the run before anything is written."""
    if settings.null_keys == "match" or not settings.traits.key_required:
        return False
    return name.lower() in {key.lower() for key in settings.key}


def _instead(name: str, table: Relation) -> str | None:
    return did_you_mean(nearest(name, [column.name for column in table.columns if column.name]))
