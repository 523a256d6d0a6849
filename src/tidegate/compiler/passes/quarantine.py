"""Models that quarantine rows and bad records: what they need for it, and what may not stand in the way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from tidegate.checks.row_constraints import row_constraints
from tidegate.compiler.drafts import Draft, Workspace, refuses_rows
from tidegate.compiler.inlining import reads_bad_records
from tidegate.compiler.tables import columns_of_quarantine
from tidegate.compiler.values import Diagnostic
from tidegate.datatypes import NOTHING_KNOWN
from tidegate.names import TableName
from tidegate.project import Materialized, Model, Place

__all__ = ["check_quarantine", "check_quarantine_names"]


def check_quarantine(work: Workspace, draft: Draft) -> Iterator[Diagnostic]:
    model = draft.model
    for table in sorted(draft.content.sources):
        if table in work.quarantines and not _is_written(work, table) and table not in work.outside.tables:
            message = (
                f"there is no table '{work.short(table)}': {work.short(work.quarantines[table])} quarantines nothing"
            )
            fix = 'give it constraints and quarantine: true, or bad_records = "quarantine" for a zone that it reads'
            place = work.place_of_table(draft, work.quarantines[table])
            yield work.error(draft, "QuarantineOfNothing", message, place, fix)
    bad_records = reads_bad_records(work, draft)
    if draft.test is not None or not (model.settings.quarantine or bad_records):
        return
    place = work.project.origin(model, "quarantine")
    if not draft.is_table:
        if _is_own(model, place):
            kind = "a view" if model.settings.materialized is Materialized.VIEW else "an ephemeral model"
            message = f"{kind} writes no rows, so none can be quarantined"
            yield work.error(draft, "QuarantineWithoutTable", message, place, "make it a table, or remove quarantine")
        return
    relation = draft.relation or NOTHING_KNOWN
    has_rules = bad_records or row_constraints(model.checks, relation, work.settings.project.namespace)
    if not has_rules and _is_own(model, place):
        message = "no constraint of severity error is about single rows, so no row will be quarantined"
        fix = "add one, such as -- @constraint: not_null(…)"
        yield work.warning(draft, "QuarantineWithoutRule", message, place, fix)
    for column in columns_of_quarantine(bad_records):
        if relation.find(column.name) is not None:
            message = f"the result has a column '{column.name}', which the quarantine fills itself"
            yield work.error(draft, "QuarantineColumn", message, place, "give the column another name in the query")
    if model.table.quarantine in draft.content.sources:
        message = f"the model reads {work.short(model.table.quarantine)}, which it writes itself"
        fix = "read it with a model of its own"
        yield work.error(draft, "QuarantineOfItself", message, work.place_of_table(draft, model.table), fix)


def check_quarantine_names(work: Workspace) -> Iterator[Diagnostic]:
    """A model's table and another's refused rows cannot stand in one place."""
    if not work.quarantines:
        return
    taken = {str(table).lower(): beside for table, beside in work.quarantines.items() if _is_written(work, table)}
    for table, draft in work.models.items():
        beside = taken.get(str(table).lower())
        if beside is not None:
            message = f"{work.short(table)} is where the rows go that {work.short(beside)} quarantines"
            yield work.error(draft, "QuarantineName", message, Place(draft.file), "rename one of them")


def _is_written(work: Workspace, quarantine: TableName) -> bool:
    draft = work.models[work.quarantines[quarantine]]
    return refuses_rows(draft) or reads_bad_records(work, draft)


def _is_own(model: Model, place: Place) -> bool:
    """What is said for a whole folder is meant for those of its models that it can concern."""
    written = PurePosixPath(place.file)
    return written.parent == model.path.parent and written.name != "_defaults.toml"
