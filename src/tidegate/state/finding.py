"""A run by the name that a person gave."""

from __future__ import annotations

from tidegate.errors import SelectionError
from tidegate.names import nearest
from tidegate.state.reader import StateReader
from tidegate.state.records import RunRecord

__all__ = ["find_run"]


def find_run(state: StateReader, name: str, project: str | None = None) -> RunRecord:
    """`latest`, or a run's id; `project`: one of this project. Raises SelectionError where there is no such run."""
    newest = state.runs(200, project=project)
    if name == "latest":
        if newest:
            return newest[0]
        raise SelectionError("There is no run yet", remedy="`tidegate run` makes the first.")
    run = state.run(name)
    if run is None or project not in (None, run.project):
        close = nearest(name, (other.run_id for other in newest), most=1)
        remedy = f"Did you mean {close[0]}? " if close else ""
        raise SelectionError(f"There is no run '{name}'", remedy=f"{remedy}See `tidegate history` for all runs.")
    return run
