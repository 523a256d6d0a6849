"""The guard against a result that lost most of its rows upstream."""

from __future__ import annotations

from tidegate.errors import MassDeleteError
from tidegate.write.request import WriteRequest

__all__ = ["refuse_mass_delete"]


def refuse_mass_delete(request: WriteRequest, gone: int, existing: int) -> None:
    """Whoever calls this after the fact relies on `write`, which puts the table back when anything is raised."""
    if request.allow_deletes or gone * 2 <= existing:
        return
    raise MassDeleteError(
        f"this would delete {gone} of {existing} keys, more than half of the table",
        where=str(request.table),
        remedy="Check that the inputs are complete; if the deletes are right, run again with --allow-deletes.",
    )
