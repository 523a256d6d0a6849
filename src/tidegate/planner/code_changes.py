"""Whether the code of a Python model needs only what changed in its inputs, and what that is."""

from __future__ import annotations

from collections.abc import Mapping

from tidegate.compiler.compiled import CodeReads, CompiledModel
from tidegate.lake.changes import TableChange, Untraceable, no_change
from tidegate.names import TableName
from tidegate.planner.inputs import Inputs
from tidegate.planner.model_traits import result_is_complete

__all__ = ["code_changes", "code_obstacle"]


def code_obstacle(model: CompiledModel, code: CodeReads, inputs: Inputs) -> str | None:
    """Why `tg.changes` gives all rows, as the end of a reason; empty where the description of a change explains it.
    None: there is no obstacle."""
    settings = model.model.settings
    if not code.changes:
        return "its code reads all rows"
    if settings.deltas == "never":
        return "deltas: never"
    if not model.deterministic:
        return "its code is not deterministic"
    if settings.quarantine and result_is_complete(model):
        return "it quarantines rows"
    if inputs.untracked:
        return ""
    by_changes = {str(table) for table in code.changes} - {str(table) for table in code.whole} - inputs.behind_views
    whole = [name for name in sorted(inputs.changed) if name not in by_changes]
    if whole:
        return f"its code reads all rows of {inputs.short(whole[0])}"
    return None if inputs.traceable else ""


def code_changes(code: CodeReads, inputs: Inputs) -> Mapping[TableName, TableChange]:
    """Of each table that the code reads by its changes, also where there are none. A table that never had a row is left
    out, and one of which it is not known what changed."""
    changes = {table: _change(inputs, str(table)) for table in code.changes}
    return {table: change for table, change in changes.items() if change is not None}


def _change(inputs: Inputs, name: str) -> TableChange | None:
    change = inputs.changed.get(name)
    if isinstance(change, Untraceable):
        return None
    if change is not None:
        return change
    if name in inputs.delta:
        return inputs.delta[name].no_change()
    return no_change(inputs.metadata[name]) if name in inputs.metadata else None
