"""Columns that a query gives in a narrower type than its table has: the table keeps its type, and that is reported.

The types that were reported are a property of the table, so that each is reported once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from tidegate.datatypes import BIGINT, DOUBLE, VOID
from tidegate.widening import join_types
from tidegate.write.columns import Columns, columns_of
from tidegate.write.request import DriftChange, WriteOutcome, WriteRequest
from tidegate.write.tables import starts_anew

__all__ = ["NARROWER_COLUMNS", "narrower_columns", "with_narrower"]

NARROWER_COLUMNS = "tidegate.narrower-columns"
"""A JSON object: column → the type in which the query gave it last."""
_AS_TEXT_WRITES_IT = (DOUBLE, BIGINT)


def narrower_columns(request: WriteRequest, batch: Columns) -> Mapping[str, DriftChange]:
    """Before the write. Empty where the table is made anew, and so takes the query's types."""
    if starts_anew(request) or request.settings.traits.replaces_table:
        return {}
    changes = {}
    for column in columns_of(request.session.table(request.table.quoted)):
        given = batch.get(column.name)
        if given is None or given.type in (column.type, VOID) or (column.type, given.type) == _AS_TEXT_WRITES_IT:
            continue
        if join_types(column.type, given.type) != column.type:
            continue
        reason = "the query gives a narrower type; the table keeps its own, which holds every value"
        changes[column.name] = DriftChange(column.name, "narrowed", column.type_text, given.type_text, reason)
    return changes


def with_narrower(outcome: WriteOutcome, request: WriteRequest, changes: Mapping[str, DriftChange]) -> WriteOutcome:
    """The outcome with what had not been reported, unless the write replaced the table's columns by the query's."""
    table = request.lake.table(request.table)
    known = _known(table.properties if table else {})
    changed = {change.column for change in outcome.drift}
    now = {name: change.after or "" for name, change in changes.items() if name not in changed}
    if now == known:
        return outcome
    fresh = [change for name, change in changes.items() if name in now and known.get(name) != now[name]]
    properties = {**outcome.properties, NARROWER_COLUMNS: json.dumps(now, sort_keys=True)}
    return replace(outcome, drift=(*outcome.drift, *fresh), properties=properties)


def _known(properties: Mapping[str, str]) -> dict[str, str]:
    try:
        found = json.loads(properties.get(NARROWER_COLUMNS, "{}"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
