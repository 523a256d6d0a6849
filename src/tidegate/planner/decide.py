"""Whether a model has to run, how, and why: pure decisions from recorded and present facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from tidegate.amounts import plural
from tidegate.checks.check_values import Stage
from tidegate.compiler.compiled import BoundQuery, CodeReads, CompiledModel
from tidegate.lake.changes import TableChange, Untraceable
from tidegate.lake.metadata import TableMetadata, ViewMetadata
from tidegate.lake.progress import Progress, TableInput
from tidegate.names import TableName
from tidegate.planner.code_changes import code_changes, code_obstacle
from tidegate.planner.cost_rule import JvmState, worth_it
from tidegate.planner.delta_rule import delta_query, obstacle, skips_unreached
from tidegate.planner.deltas.delta_query import DeltaQuery, DeltaRefusal
from tidegate.planner.estimate import Estimate, estimate_all, estimate_changes, estimate_delta, estimate_new, in_seconds
from tidegate.planner.inputs import Inputs
from tidegate.planner.intervals import Interval
from tidegate.planner.model_traits import is_upsert, keeps_history, result_is_complete
from tidegate.planner.row_keys import append_cautions
from tidegate.project.model import Materialized
from tidegate.project.strategies import Deltas

__all__ = ["SHAPE_PROPERTY", "Decision", "ModelRequest", "RunType", "decide", "keeps_history", "result_is_complete"]

SHAPE_PROPERTY = "tidegate.silver-shape"
"""Of a silver table: the shape of the contract that it was written by, see `Ingestion.shape`."""


class RunType(StrEnum):
    BACKFILL = "backfill"
    SKIP = "skip"
    INCREMENTAL = "incremental"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether and how a model is built, and why."""

    run_type: RunType
    reason: str
    rebuild: bool = False
    """The table is recreated instead of written into."""
    complete: bool = False
    """The result is the whole table, with `delta` all of the touched regions: rows whose keys it lacks are deleted."""
    all_files: bool = False
    """Landing zones are read whole, not only their new files."""
    inserted_since: Mapping[str, TableInput] = field(default_factory=dict)
    """An append takes only the rows that these tables gained since then."""
    intervals: tuple[Interval, ...] = ()
    delta: DeltaQuery | None = None
    """Only the rows that the changes can touch are computed. Where it is not `complete`, the result is written as the
    strategy writes any result, and nothing is deleted."""
    changes: Mapping[TableName, TableChange] = field(default_factory=dict)
    """The changes that `delta` reads."""
    row_changes: Mapping[TableName, TableChange] = field(default_factory=dict)
    """What `tg.changes` of a Python model gives of each table, also where nothing changed; of a table that is not here
    all rows. For an append, `inserted_since` goes before: it knows what was gained where the changes are unknown."""
    skips_unreached: bool = False
    """It is known which rows of the inputs changed: where none of them reaches the query, the table stays as it is."""
    estimate: Estimate = Estimate()  # noqa: RUF009 - frozen
    whole: Estimate = Estimate()  # noqa: RUF009 - frozen
    """With `delta`, where the estimate decided: of a build from all rows."""
    saves: float | None = None
    """With `delta`, where the estimate decided: seconds that it saves in a warm JVM, its readers included."""
    check_again: bool = False
    """The table is unchanged, but was published with other checks than are declared now."""
    record_digests: bool = False
    """The table is unchanged, but its list of consumed files lacks their digests."""
    replay: bool = False
    """Nothing is read but the rows of the quarantine that the run is to replay; what was consumed before stays so."""
    warnings: tuple[str, ...] = ()
    """Each with what the user can do about it."""

    @property
    def from_changes(self) -> bool:
        """Not all rows of the inputs are read, but what changed in them."""
        return self.delta is not None or bool(self.row_changes)

    def from_all_rows(self, why: str, model: CompiledModel) -> Decision:
        """The same run without its delta, for example because more rows are touched than expected."""
        kind = RunType.INCREMENTAL if is_upsert(model) else RunType.FULL
        reason = f"{self.reason}; {why}" if why else self.reason
        complete = self.complete or (bool(self.row_changes) and result_is_complete(model))
        whole = replace(self, run_type=kind, reason=reason, complete=complete, estimate=self.whole)
        return replace(whole, delta=None, changes={}, row_changes={}, saves=None)

    def in_jvm(self, model: CompiledModel, jvm: JvmState) -> Decision:
        """What is best for this model alone in that JVM."""
        if self.saves is None or worth_it({model.model.table: self.saves}, jvm):
            return self
        return self.for_a_new_jvm(model, jvm)

    def for_a_new_jvm(self, model: CompiledModel, jvm: JvmState) -> Decision:
        """From all rows, because of what the JVM would take longer for the delta than later."""
        times = _times(self.whole.seconds or 0.0, (self.estimate.seconds or 0.0) + jvm.longer_for_a_delta)
        return self.from_all_rows(f"cheaper than delta in a JVM that has just started ({times})", model)


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What a plan request means for one model."""

    full_refresh: bool = False
    intervals: tuple[Interval, ...] = ()
    """The intervals to fill."""
    explicit_range: bool = False
    """The caller named the range of intervals."""
    always_deltas: bool = False
    """Use deltas also where a build from all rows would be cheaper."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """By call, which state of its data a table function gives now."""
    saved_below: Callable[[Inputs], float] = lambda inputs: 0.0
    """Seconds that its readers save if it is not rebuilt."""
    replayed_rows: int | None = None
    """So many rows of its quarantine are to be replayed, and nothing else of it is asked for."""


def decide(
    model: CompiledModel,
    own: TableMetadata | ViewMetadata | None,
    progress: Progress | None,
    inputs: Inputs,
    request: ModelRequest = ModelRequest(),  # noqa: B008 - frozen
    bound: Callable[[], BoundQuery] | None = None,
) -> Decision:
    """The first rule that matches.

    `own`: the table or view as it is; `progress`: what it records of its last run; `inputs`: what the model would read
    now, compared with that. `bound` returns its query, and is called only where reading changes may be enough; without
    it all rows are read.
    """
    table = own if isinstance(own, TableMetadata) else None
    if request.replayed_rows is not None and table is not None and progress is not None:
        return _estimated(_decide_replay(model, table, progress, request.replayed_rows), table, progress, inputs)
    if model.code is not None:
        bound = None
    decision = _decide(model, own is not None, progress, inputs, request, bound)
    if (decision is None or decision.run_type is RunType.SKIP) and _is_modified_externally(model, table, progress):
        reason = "its own rows were changed by something else"
        decision = Decision(RunType.FULL, reason, True, result_is_complete(model), all_files=True)
    if decision is None:
        decision = _decide_changed_inputs(model, table, progress, inputs, request, bound)
    if decision.run_type is RunType.SKIP and progress is not None and _has_other_checks(model, progress):
        decision = replace(decision, reason=f"{decision.reason}; checks changed: run again", check_again=True)
    if decision.run_type is RunType.SKIP and any(zone.undigested for zone in inputs.zones.values()):
        reason = f"{decision.reason}; digests of its landing files are recorded"
        decision = replace(decision, reason=reason, record_digests=True)
    if model.code is not None and decision.run_type is RunType.INCREMENTAL and not decision.intervals:
        decision = _with_row_changes(model, model.code, decision, inputs)
    return decision if decision.estimate.bytes is not None else _estimated(decision, table, progress, inputs)


def _decide(
    model: CompiledModel,
    exists: bool,
    progress: Progress | None,
    inputs: Inputs,
    request: ModelRequest,
    bound: Callable[[], BoundQuery] | None,
) -> Decision | None:
    """None where the inputs changed."""
    settings = model.model.settings
    complete, intervals = result_is_complete(model), request.intervals
    if not exists or progress is None:
        # A table without a recorded run was not written by this model: it is replaced, not added to.
        return Decision(RunType.BACKFILL, "first run", exists, complete, all_files=True, intervals=intervals)
    if request.full_refresh:
        return Decision(RunType.BACKFILL, "--full-refresh", True, complete, all_files=True, intervals=intervals)
    if settings.materialized is Materialized.VIEW:
        return _decide_view(model, progress, inputs)
    if settings.traits.by_intervals:
        return _decide_intervals(model, progress, intervals, request.explicit_range)
    if progress.fingerprint != model.fingerprint:
        return _decide_changed_definition(model, progress, inputs, complete, bound)
    if inputs.expired and not keeps_history(model):
        reason = f"the snapshot of {inputs.expired} that was read last no longer exists"
        return Decision(RunType.BACKFILL, reason, True, complete, all_files=True)
    if not inputs.changes() and settings.skip != "never":
        if model.deterministic or (model.functions and model.repeatable and not _other_data(model, progress, request)):
            return Decision(RunType.SKIP, _unchanged(inputs))
        if model.model.takes_new_rows and inputs.any and not model.functions:
            return Decision(RunType.SKIP, "nothing new to append")
    return None


def _other_data(model: CompiledModel, progress: Progress, request: ModelRequest) -> tuple[str, ...]:
    """The functions that it calls and that do not say that their data is what it was."""
    same = {key for key, version in request.versions.items() if progress.functions.get(key) == version}
    return tuple(sorted({read.name for read in model.functions if read.key not in same}))


def _decide_replay(model: CompiledModel, own: TableMetadata, progress: Progress, rows: int) -> Decision:
    """A changed contract judges the replayed rows; all others go through it with the next run, because the table stays
    recorded as one of the former contract."""
    if not rows:
        return Decision(RunType.SKIP, "no quarantined row is open")
    reason = f"replay of {plural(rows, 'quarantined row')}"
    if _is_modified_externally(model, own, progress):
        why = "its own rows were changed by something else"
    elif progress.fingerprint == model.fingerprint:
        return Decision(RunType.INCREMENTAL, reason, replay=True)
    elif own.properties.get(SHAPE_PROPERTY) == _shape(model):
        warning = "the contract changed: all other rows of bronze go through it with the next ordinary run"
        return Decision(RunType.INCREMENTAL, reason, replay=True, warnings=(warning,))
    else:
        why = "the contract's columns, key or strategy changed"
    return Decision(RunType.BACKFILL, f"{reason} and all others: {why}", rebuild=True)


def _shape(model: CompiledModel) -> str:
    stage = model.model.stage
    return stage.ingestion.shape if stage is not None else ""


def _has_other_checks(model: CompiledModel, progress: Progress) -> bool:
    before_publish = any(check.stage is not Stage.AFTER_PUBLISH for check in model.checks)
    return before_publish and progress.checks != model.checks_digest


def _unchanged(inputs: Inputs) -> str:
    if not inputs.unread:
        return "unchanged"
    return f"unchanged: {', '.join(map(inputs.short, sorted(inputs.unread)))} changed in columns that are not read"


def _decide_changed_inputs(
    model: CompiledModel,
    own: TableMetadata | None,
    progress: Progress | None,
    inputs: Inputs,
    request: ModelRequest,
    bound: Callable[[], BoundQuery] | None,
) -> Decision:
    settings = model.model.settings
    what = "query" if model.code is None else "code"
    never = "skip: never" if settings.skip == "never" else f"the {what} is not deterministic"
    if model.functions and settings.skip != "never":
        other = _other_data(model, progress, request) if progress is not None else ()
        called = sorted({read.name for read in model.functions if read.key not in request.versions})
        never = f"{', '.join(other)} gives other data" if other and not called else f"it calls {', '.join(called)}"
    reason = "; ".join(inputs.changes()) or never
    if model.model.takes_new_rows:
        return _append(model, progress, inputs, reason, bound)
    if not settings.traits.reads_all_files and (model.manual or model.zones):
        return Decision(RunType.INCREMENTAL, reason, complete=result_is_complete(model))
    if model.code is not None:
        return _decide_code(model, model.code, inputs, reason)
    whole = _from_all_rows(model, reason)
    if not inputs.changed:
        return whole
    why = obstacle(model, inputs)
    if why is not None:
        return _from_all_rows(model, f"{reason}; {why}" if why else reason)
    decision = whole if bound is None else _decide_traced(model, own, progress, inputs, request, bound, reason)
    return replace(decision, skips_unreached=skips_unreached(model, inputs))


def _decide_traced(
    model: CompiledModel,
    own: TableMetadata | None,
    progress: Progress | None,
    inputs: Inputs,
    request: ModelRequest,
    bound: Callable[[], BoundQuery],
    reason: str,
) -> Decision:
    """It is known which rows changed, and nothing but the query can make all rows necessary."""
    settings = model.model.settings
    delta = delta_query(model, own, inputs, bound)
    if isinstance(delta, DeltaRefusal):
        why = delta.construct if delta.construct.startswith("no key") else f"no delta: {delta.construct}"
        return _from_all_rows(model, f"{reason}; {why}")
    changes = inputs.traced
    small = estimate_delta(inputs, changes, delta, own, progress)
    large = estimate_all(inputs, own, progress)
    complete = result_is_complete(model) or settings.traits.replaces_table
    decision = Decision(RunType.INCREMENTAL, reason, complete=complete, delta=delta, changes=changes, estimate=small)
    if request.always_deltas or settings.deltas == "always" or not small.seconds or not large.seconds:
        return decision
    saves = large.seconds + request.saved_below(inputs) - small.seconds
    if saves <= 0:
        times = _times(large.seconds, small.seconds)
        return _from_all_rows(model, f"{reason}; cheaper than delta ({times})", large)
    return replace(decision, whole=large, saves=saves)


def _times(large: float, small: float) -> str:
    return f"about {in_seconds(large)} against {in_seconds(small)}"


def _decide_code(model: CompiledModel, code: CodeReads, inputs: Inputs, reason: str) -> Decision:
    """Of a Python model only the author can say how a change of its inputs changes its rows: by `tg.changes`."""
    why = code_obstacle(model, code, inputs)
    if why is None:
        return Decision(RunType.INCREMENTAL, reason)
    return _from_all_rows(model, f"{reason}; {why}" if why and inputs.changes() else reason)


def _with_row_changes(model: CompiledModel, code: CodeReads, decision: Decision, inputs: Inputs) -> Decision:
    if decision.rebuild or decision.replay or not code.changes:
        return decision
    never_twice = bool(model.manual or model.zones or model.model.takes_new_rows)
    why = code_obstacle(model, code, inputs)
    if why is not None and not never_twice:
        return decision
    changes = code_changes(code, inputs)
    lacking = sorted(str(table) for table in code.changes if isinstance(inputs.changed.get(str(table)), Untraceable))
    if lacking and not model.model.takes_new_rows:
        names = ", ".join(map(inputs.short, lacking))
        if _gives_all_again(model):
            reason = f"{decision.reason}; it is not known what changed in {names}"
            return Decision(RunType.FULL, reason, True, result_is_complete(model), all_files=True)
        reason = f"{decision.reason}; all rows of {names} are given as inserts"
        warning = (
            f"It is not known what changed in {names}, so tg.changes gives all rows as inserts: rows that were deleted "
            "there stay in the table, and code that adds to rows of its own counts them twice. Rebuild the table with "
            "--full-refresh if that is wrong."
        )
        decision = replace(decision, reason=reason, warnings=(*decision.warnings, warning))
    return replace(decision, row_changes=changes, estimate=estimate_changes(inputs, changes, code.whole))


def _gives_all_again(model: CompiledModel) -> bool:
    """Its inputs still hold all that its table was made of, although its code decides what it reads."""
    keeps = model.zones or model.uses_watermark or model.reads_itself or model.model.settings.traits.keeps_history
    return not keeps and not model.model.settings.traits.by_intervals


def _from_all_rows(model: CompiledModel, reason: str, estimate: Estimate = Estimate()) -> Decision:  # noqa: B008 - frozen
    if model.model.settings.traits.replaces_table:
        return Decision(RunType.FULL, reason, all_files=True, estimate=estimate)
    kind = RunType.INCREMENTAL if is_upsert(model) else RunType.FULL
    return Decision(kind, reason, complete=result_is_complete(model), estimate=estimate)


def _is_modified_externally(model: CompiledModel, own: TableMetadata | None, progress: Progress | None) -> bool:
    """The table does not hold what the model wrote from the recorded inputs, and can be rebuilt from them."""
    if own is None or progress is None or progress.snapshot_id is None or keeps_history(model):
        return False
    if model.model.settings.traits.by_intervals:
        return False
    return own.last_change is None or own.last_change.id != progress.snapshot_id


def _append(
    model: CompiledModel,
    progress: Progress | None,
    inputs: Inputs,
    reason: str,
    bound: Callable[[], BoundQuery] | None,
) -> Decision:
    """A Python model takes once what it reads by its changes; of other tables it reads all rows."""
    code = model.code
    if (model.manual and code is None) or progress is None:
        return Decision(RunType.INCREMENTAL, reason)
    since = {name: last_read for name, last_read in progress.tables.items() if name in inputs.tables}
    if code is not None:
        taken = {str(table) for table in code.changes}
        since = {name: last_read for name, last_read in since.items() if name in taken}
        inputs = replace(inputs, metadata={name: own for name, own in inputs.metadata.items() if name in taken})
    cautions = append_cautions(inputs, bound)
    reason = "; ".join([reason, *(caution.short for caution in cautions)])
    warnings = tuple(caution.warning for caution in cautions if caution.warning)
    return Decision(RunType.INCREMENTAL, reason, inserted_since=since, warnings=warnings)


def _decide_changed_definition(
    model: CompiledModel,
    progress: Progress,
    inputs: Inputs,
    complete: bool,
    bound: Callable[[], BoundQuery] | None,
) -> Decision:
    traits = model.model.settings.traits
    if model.model.is_silver:
        return Decision(RunType.BACKFILL, "definition changed", rebuild=True)
    if traits.deltas is Deltas.INSERTED and traits.never_rereads:
        return _append(model, progress, inputs, "definition changed: applies to new rows", bound)
    if traits.never_rereads or model.manual:
        reason = "definition changed: applies to what comes"
        return Decision(RunType.INCREMENTAL, reason, complete=complete, all_files=not model.manual)
    if keeps_history(model):
        # All inputs are read and merged again; rows whose source rows were deleted stay.
        return Decision(RunType.BACKFILL, "definition changed", complete=complete, all_files=True)
    return Decision(RunType.BACKFILL, "definition changed", rebuild=True, complete=complete, all_files=True)


def _decide_view(model: CompiledModel, progress: Progress, inputs: Inputs) -> Decision:
    if progress.fingerprint != model.fingerprint:
        return Decision(RunType.BACKFILL, "definition changed", rebuild=True)
    changes = inputs.changes()
    if model.checks and changes:
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
    model: CompiledModel, progress: Progress, intervals: tuple[Interval, ...], explicit: bool
) -> Decision:
    if progress.fingerprint != model.fingerprint and not explicit:
        rebuild = not keeps_history(model)
        return Decision(RunType.BACKFILL, "definition changed", rebuild, all_files=True, intervals=intervals)
    if not intervals:
        return Decision(RunType.SKIP, "no missing interval")
    what = f"{len(intervals)} interval{'s' if len(intervals) > 1 else ''}"
    return Decision(
        RunType.INCREMENTAL, what + (" asked for" if explicit else " missing"), all_files=True, intervals=intervals
    )


def _estimated(decision: Decision, own: TableMetadata | None, progress: Progress | None, inputs: Inputs) -> Decision:
    if decision.run_type is RunType.SKIP:
        return replace(decision, estimate=Estimate(0, 0, 0.0))
    if decision.inserted_since or (inputs.zones and not decision.all_files and not decision.intervals):
        return replace(decision, estimate=estimate_new(inputs))
    return replace(decision, estimate=estimate_all(inputs, own, progress))
