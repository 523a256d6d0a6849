"""Whether a model has to run, how, and why: pure decisions from recorded and present facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tidegate.compiler.values import CompiledModel
from tidegate.lake.progress import Progress, TableInput
from tidegate.planner.inputs import Inputs
from tidegate.planner.intervals import Interval
from tidegate.project.model import Materialized, Strategy

__all__ = ["Decision", "RunType", "decide", "keeps_history", "result_is_complete"]


class RunType(StrEnum):
    BACKFILL = "backfill"
    SKIP = "skip"
    INCREMENTAL = "incremental"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Decision:
    """`rebuild`: the table is made anew. `complete`: keys that the result lacks are gone. `all_files`: landing zones
    are read whole, not only what is new. `inserted_since`: an append takes only the rows that these tables gained."""

    run_type: RunType
    reason: str
    rebuild: bool = False
    complete: bool = False
    all_files: bool = False
    inserted_since: Mapping[str, TableInput] = field(default_factory=dict)
    intervals: tuple[Interval, ...] = ()


def keeps_history(model: CompiledModel) -> bool:
    """What the table holds cannot be had again from its inputs, so only `--full-refresh` makes it anew."""
    strategy = model.model.settings.strategy
    if model.model.settings.materialized is not Materialized.TABLE:
        return False
    if model.reads_itself:
        return True
    return strategy is not Strategy.FULL_REFRESH and (
        strategy in (Strategy.APPEND_ONLY, Strategy.SCD2, Strategy.SNAPSHOT)
        or model.manual
        or bool(model.zones)
        or _is_upsert(model)
    )


def result_is_complete(model: CompiledModel) -> bool:
    """The query's result is the whole truth about the table: what it lacks is to be deleted."""
    settings = model.model.settings
    if model.manual or model.zones or settings.deletes == "ignore":
        return False
    if settings.strategy in (Strategy.APPEND_ONLY, Strategy.SNAPSHOT, Strategy.TIME_INTERVAL):
        return False
    return not _is_upsert(model)


def _is_upsert(model: CompiledModel) -> bool:
    settings = model.model.settings
    return (
        settings.strategy is Strategy.INCREMENTAL
        and settings.watermark_column is not None
        and settings.deletes != "propagate"
    )


def decide(
    model: CompiledModel,
    exists: bool,
    progress: Progress | None,
    inputs: Inputs,
    full_refresh: bool = False,
    intervals: tuple[Interval, ...] = (),
    intervals_asked: bool = False,
) -> Decision:
    """The first rule that matches. `inputs` holds what the model would read now, compared with `progress`."""
    settings = model.model.settings
    complete = result_is_complete(model)
    if not exists or progress is None:
        return Decision(RunType.BACKFILL, "first run", complete=complete, all_files=True, intervals=intervals)
    if full_refresh:
        return Decision(RunType.BACKFILL, "--full-refresh", True, complete, all_files=True, intervals=intervals)
    if settings.materialized is Materialized.VIEW:
        return _decide_view(model, progress, inputs)
    if settings.strategy is Strategy.TIME_INTERVAL:
        return _decide_intervals(model, progress, intervals, intervals_asked)
    if progress.fingerprint != model.fingerprint:
        return _decide_changed_definition(model, progress, inputs, complete)
    if (expired := inputs.expired(progress)) and not keeps_history(model):
        reason = f"the snapshot of {expired} that was read last no longer exists"
        return Decision(RunType.BACKFILL, reason, True, complete, all_files=True)
    changes = inputs.changes(progress)
    if not changes and settings.skip != "never":
        if model.deterministic:
            return Decision(RunType.SKIP, "unchanged")
        if settings.strategy is Strategy.APPEND_ONLY and inputs.any:
            return Decision(RunType.SKIP, "nothing new to append")
    reason = "; ".join(changes) or ("skip: never" if settings.skip == "never" else "the query is not deterministic")
    return _decide_changed_inputs(model, progress, inputs, complete, reason)


def _decide_changed_inputs(
    model: CompiledModel, progress: Progress, inputs: Inputs, complete: bool, reason: str
) -> Decision:
    strategy = model.model.settings.strategy
    if strategy is Strategy.FULL_REFRESH:
        return Decision(RunType.FULL, reason, all_files=True)
    if strategy is Strategy.APPEND_ONLY:
        since = {} if model.manual else {name: seen for name, seen in progress.tables.items() if name in inputs.tables}
        return Decision(RunType.INCREMENTAL, reason, inserted_since=since)
    incremental = model.manual or bool(model.zones) or _is_upsert(model)
    return Decision(RunType.INCREMENTAL if incremental else RunType.FULL, reason, complete=complete)


def _decide_changed_definition(model: CompiledModel, progress: Progress, inputs: Inputs, complete: bool) -> Decision:
    strategy = model.model.settings.strategy
    if strategy is Strategy.APPEND_ONLY:
        return _decide_changed_inputs(model, progress, inputs, complete, "definition changed: applies to new rows")
    if strategy is Strategy.SNAPSHOT or model.manual:
        reason = "definition changed: applies to what comes"
        return Decision(RunType.INCREMENTAL, reason, complete=complete, all_files=not model.manual)
    if keeps_history(model):
        # Read everything that is there once more and merge it: rows whose source is gone stay.
        return Decision(RunType.BACKFILL, "definition changed", complete=complete, all_files=True)
    return Decision(RunType.BACKFILL, "definition changed", rebuild=True, complete=complete, all_files=True)


def _decide_view(model: CompiledModel, progress: Progress, inputs: Inputs) -> Decision:
    if progress.fingerprint != model.fingerprint:
        return Decision(RunType.BACKFILL, "definition changed", rebuild=True)
    changes = inputs.changes(progress)
    if model.model.tests and changes:
        return Decision(RunType.FULL, f"{'; '.join(changes)}, to be tested", rebuild=True)
    reshaped = [
        inputs.short(name)
        for name, now in inputs.tables.items()
        if name in progress.tables and progress.tables[name].columns != now.columns
    ]
    if reshaped:
        return Decision(RunType.FULL, f"columns of {', '.join(reshaped)} changed", rebuild=True)
    return Decision(RunType.SKIP, "unchanged")


def _decide_intervals(
    model: CompiledModel, progress: Progress, intervals: tuple[Interval, ...], asked: bool
) -> Decision:
    if progress.fingerprint != model.fingerprint and not asked:
        anew = not keeps_history(model)
        return Decision(RunType.BACKFILL, "definition changed", anew, all_files=True, intervals=intervals)
    if not intervals:
        return Decision(RunType.SKIP, "no missing interval")
    what = f"{len(intervals)} interval{'s' if len(intervals) > 1 else ''}"
    return Decision(
        RunType.INCREMENTAL, what + (" asked for" if asked else " missing"), all_files=True, intervals=intervals
    )
