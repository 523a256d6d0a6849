"""How much work a plan, or reading some tables, will be: from sizes in metadata and durations that tables remember."""

from __future__ import annotations

from collections.abc import Iterable

from tidegate.errors import LakeError
from tidegate.lake import Heads
from tidegate.lake.metadata import TableMetadata, read_metadata
from tidegate.names import TableName
from tidegate.planner.decide import RunType
from tidegate.planner.make_plan import Plan, PlanStep
from tidegate.spark.work import Work, work_of

__all__ = ["work_of_plan", "work_on_tables"]


def work_on_tables(heads: Heads, tables: Iterable[TableName | None]) -> Work:
    """For reading these whole, with the tables behind views, each once. None: one that is not of the lake."""
    waiting, sizes = list(tables), dict[TableName | None, int | None]()
    while waiting:
        table = waiting.pop()
        if table in sizes:
            continue
        try:
            metadata = read_metadata(heads[table]) if table is not None else None
        except (KeyError, LakeError):
            metadata = None
        progress = metadata.progress if metadata is not None else None
        if isinstance(metadata, TableMetadata):
            sizes[table] = metadata.total_bytes
        elif progress is not None:
            sizes[table] = 0
            waiting += [TableName.parse(name, "") for name in progress.tables]
        else:
            sizes[table] = None
    return work_of(_sum(sizes.values()))


def work_of_plan(plan: Plan) -> Work:
    """A table that is not there yet is taken to be as large as what it is built from."""
    read: dict[TableName, int | None] = {}
    seconds = 0.0
    for step in plan.steps:
        if step.decision.run_type is RunType.SKIP:
            continue
        seconds += step.decision.estimate.seconds or 0.0
        missing = [table for table in step.waits_for if str(table) not in step.inputs.metadata]
        read[step.table] = _sum([_bytes_there(step), *(read.get(table, 0) for table in missing)])
    return work_of(_sum(read.values()), seconds)


def _bytes_there(step: PlanStep) -> int | None:
    """Of the inputs that are there already. None where they have no size, as rows that a query makes itself."""
    inputs = step.inputs
    if inputs.untracked or inputs.delta or not (inputs.any or step.waits_for or step.progress):
        return None
    if step.decision.estimate.bytes is not None:
        return step.decision.estimate.bytes
    files = [file.size for zone in inputs.zones.values() for file in zone.files]
    return sum(table.total_bytes for table in inputs.metadata.values()) + sum(files)


def _sum(sizes: Iterable[int | None]) -> int | None:
    total = 0
    for size in sizes:
        if size is None:
            return None
        total += size
    return total
