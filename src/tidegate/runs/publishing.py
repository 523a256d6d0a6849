"""Moving what a run built to main, and what happens when somebody else moved main first."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from tidegate.errors import PublishConflictError
from tidegate.lake.metadata import TableMetadata, read_metadata
from tidegate.lake.port import MAIN, BranchCatalog, Change, Pointer
from tidegate.names import TableName
from tidegate.runs.context import RunContext
from tidegate.runs.faults import fault
from tidegate.runs.owned_tables import models_of, tables_of
from tidegate.runs.tally import Outcomes
from tidegate.runs.waves import downstream_of

__all__ = ["MAX_REBUILDS", "Published", "compacted_only", "publish_tables"]

MAX_REBUILDS = 3

Rebuild = Callable[[Collection[TableName]], Outcomes]


@dataclass(frozen=True, slots=True)
class Published:
    """`rebuilt`: the outcomes of models that were built again because main had moved."""

    changes: tuple[Change, ...] = ()
    conflicts: int = 0
    rebuilt: Outcomes = field(default_factory=dict)


def publish_tables(run: RunContext, tables: Collection[TableName], rebuild: Rebuild, whole: bool = False) -> Published:
    """Publish `tables`, and the rows that their models refused, in one step. A model whose table moved is built again
    on main as it is now, with what reads it.

    `whole`: all of them or none, also where one cannot be built again. After three rebuilds the conflict is raised, and
    nothing was published; so it is with RunCancelledError.
    """
    wanted = set(tables)
    rebuilt: Outcomes = {}
    conflicts = 0
    while True:
        run.cancellation.check()
        try:
            fault("before_publish")
            together = tables_of(run.compiled, wanted)
            accept = compacted_only(run.catalog, run.branch, together)
            changes = run.catalog.publish(run.branch, sorted(together), accept)
            fault("after_publish")
            return Published(changes, conflicts, rebuilt)
        except PublishConflictError as error:
            conflicts += 1
            if conflicts > MAX_REBUILDS:
                raise
            run.emit("warning", None, {"message": f"publish conflict: {error}; building again on main as it is now"})
            run.clock.sleep(0.1 * 2 ** (conflicts - 1) * (1 + random.random()))
            concerned = downstream_of(run, models_of(run.compiled, error.tables), wanted) & wanted
            run.catalog.refresh_branch(run.branch, tables_of(run.compiled, concerned))
            outcomes = rebuild(concerned)
            rebuilt.update(outcomes)
            lost = {table for table in concerned if table in outcomes and not outcomes[table].usable}
            if lost and whole:
                return Published((), conflicts, rebuilt)
            wanted -= lost


def compacted_only(catalog: BranchCatalog, branch: str, tables: Collection[TableName]) -> dict[TableName, Pointer]:
    """Pointers of main that hold the same rows as what the branch started from: compaction is no conflict."""
    main = catalog.head(MAIN)
    accepted: dict[TableName, Pointer] = {}
    for change in catalog.changed_tables(branch):
        now = main.get(change.table)
        if change.table not in tables or change.before is None or now is None or now == change.before:
            continue
        base, moved = read_metadata(change.before), read_metadata(now)
        if isinstance(base, TableMetadata) and isinstance(moved, TableMetadata) and moved.only_replaced_since(base):
            accepted[change.table] = now
    return accepted
