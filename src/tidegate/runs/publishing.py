"""Publishes what a run built to main, and rebuilds it where another run moved main first: a publish conflict."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from tidegate.errors import PublishConflictError
from tidegate.failures import pause_before
from tidegate.faults import fault
from tidegate.lake.branch_catalog import MAIN, BranchCatalog, Change, Pointer
from tidegate.lake.metadata import TableMetadata, read_metadata
from tidegate.names import TableName
from tidegate.runs.context import RunContext
from tidegate.runs.reads import (
    Reads,
    compare_with_main,
    downstream_of,
    owned_tables,
    owning_models,
    reads_of,
    still_on_main,
)
from tidegate.runs.tally import Outcomes

__all__ = ["MAX_REBUILDS", "Published", "compacted_only", "publish_tables"]

MAX_REBUILDS = 3

Rebuild = Callable[[Collection[TableName]], Outcomes]


@dataclass(frozen=True, slots=True)
class Published:
    """`rebuilt`: the outcomes of models that were built again because main had moved. `error`: the conflict that did
    not end, and for which nothing was published."""

    changes: tuple[Change, ...] = ()
    conflicts: int = 0
    rebuilt: Outcomes = field(default_factory=dict)
    error: PublishConflictError | None = None


def publish_tables(run: RunContext, outcomes: Outcomes, rebuild: Rebuild, whole: bool = False) -> Published:
    """Publish what was built, and the rows that the models refused, in one step. A model whose table moved is built
    again on main as it is now, with what reads it; if isolation is serializable, so is one that read a moved table.

    `whole`: all of them or none, also where one cannot be built again. After three rebuilds the conflict stands.
    """
    standing = {table: outcome for table, outcome in outcomes.items() if outcome.usable}
    rebuilt: Outcomes = {}
    conflicts = 0
    while True:
        run.cancellation.check()
        reads = reads_of(run, standing)
        try:
            return Published(_move(run, standing, reads), conflicts, rebuilt)
        except PublishConflictError as error:
            conflicts += 1
            if conflicts > MAX_REBUILDS:
                return Published((), conflicts, rebuilt, error)
            run.emit("warning", None, {"message": f"publish conflict: {error}; building again on main as it is now"})
            run.clock.sleep(pause_before(conflicts, first=0.2, longest=1.0))
            concerned = _concerned(run, standing, reads, error.tables)
            fault("before_refresh")
            with run.use.alone(run.cancellation.check):
                run.catalog.refresh_branch(run.branch, owned_tables(run.compiled, concerned))
            fault("after_refresh")
            again = rebuild(concerned)
            rebuilt.update(again)
            standing.update(again)
            lost = {table for table in concerned if not standing[table].usable}
            if lost and whole:
                return Published((), conflicts, rebuilt)
            for table in lost:
                del standing[table]


def _move(run: RunContext, outcomes: Outcomes, reads: Reads) -> tuple[Change, ...]:
    fault("before_publish")
    tables = owned_tables(run.compiled, (table for table, outcome in outcomes.items() if outcome.publishable))
    accept = compacted_only(run.catalog, run.branch, tables)
    unmoved = still_on_main(run.catalog, run.branch, reads)
    changes = run.catalog.publish(run.branch, sorted(tables), accept, unmoved)
    fault("after_publish")
    return changes


def _concerned(run: RunContext, outcomes: Outcomes, reads: Reads, conflicting: Collection[TableName]) -> set[TableName]:
    """What to build again, by all that main has moved until now: each conflict that is found later costs a rebuild."""
    changes, main = run.catalog.changed_tables(run.branch), run.catalog.head(MAIN)
    compacted = compacted_only(run.catalog, run.branch, [change.table for change in changes])
    moved = {c.table for c in changes if main.get(c.table) not in (c.before, c.after, compacted.get(c.table))}
    moved |= {*conflicting, *compare_with_main(run.catalog, run.branch, reads).moved}
    readers = {model for model, read in reads.items() if not read.keys().isdisjoint(map(str, moved))}
    return downstream_of(run, owning_models(run.compiled, moved) | readers, outcomes) & outcomes.keys()


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
