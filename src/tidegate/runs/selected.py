"""Which models a run is about."""

from __future__ import annotations

from tidegate.compiler.values import Compiled
from tidegate.lake.port import MAIN, BranchCatalog
from tidegate.names import TableName
from tidegate.planner.model_states import read_states
from tidegate.planner.selection import select, uses_state
from tidegate.redaction import redact
from tidegate.runs.options import RunOptions
from tidegate.state import RunRecord, StateReader

__all__ = ["select_for_run"]


def select_for_run(
    compiled: Compiled, options: RunOptions, catalog: BranchCatalog, record: RunRecord, state: StateReader
) -> frozenset[TableName]:
    """A resumed run whose selection depends on main keeps the models that it began with: what it has published since
    is no longer modified, but what reads it may still have to be built."""
    if record.resumes and uses_state([*options.select, *options.exclude]):
        begun = next((event for event in state.events(record.run_id) if event.name == "pipeline_start"), None)
        if begun is not None:
            names = frozenset(map(str, begun.data["models"]))  # as they were stored: redacted
            tables = (table for wave in compiled.waves for table in wave)
            return frozenset(table for table in tables if redact(table.short(compiled.namespace)) in names)
    return select(compiled, options.select, options.exclude, lambda: read_states(compiled, catalog.head(MAIN)))
