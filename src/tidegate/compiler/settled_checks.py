"""A model's checks with every other table that they name in full."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tidegate.checks.forms import OtherTable, other_tables
from tidegate.checks.values import Check
from tidegate.compiler.drafts import Draft, Workspace
from tidegate.names import TableName

__all__ = ["settled_checks", "tables_of_checks"]


def tables_of_checks(work: Workspace, draft: Draft) -> Iterator[tuple[Check, OtherTable, TableName | None]]:
    """Each table that an argument names, and what it is; None where there is none of that name."""
    for check in draft.model.checks if draft.test is None else ():
        for other in other_tables(check):
            yield check, other, work.tables.find(other.name.split("."))


def settled_checks(work: Workspace, draft: Draft) -> tuple[Check, ...]:
    settled = {(check.stage, check.name): check for check in draft.model.checks}
    for check, other, table in tables_of_checks(work, draft):
        known = settled[check.stage, check.name]
        if known.call is not None and table is not None:
            arguments = list(known.call.arguments)
            arguments[other.position] = str(table)
            settled[check.stage, check.name] = replace(known, call=replace(known.call, arguments=tuple(arguments)))
    return tuple(settled.values())
