"""The plan: which models a run would build, in which order, and why."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache, partial
from typing import Literal

from tidegate.compiler.compiled import BoundQuery, Compiled, CompiledModel
from tidegate.errors import FailureKind, LakeError
from tidegate.lake.branch_catalog import Pointer
from tidegate.lake.metadata import TableMetadata, ViewMetadata
from tidegate.lake.progress import Progress
from tidegate.lake.view import BranchView, PinnedView
from tidegate.names import TableName
from tidegate.planner.cost_rule import WARM, JvmState, worth_it
from tidegate.planner.decide import Decision, ModelRequest, RunType, decide
from tidegate.planner.estimate import Estimate
from tidegate.planner.inputs import Inputs, read_inputs
from tidegate.planner.intervals import Interval, decode, due_intervals, parse_time
from tidegate.planner.readers import Readers, readers_of, seconds_below
from tidegate.planner.replay import ReplayRequest, count_chosen
from tidegate.project.model import Materialized

__all__ = ["ModelPlan", "Plan", "PlanRequest", "PlanStep", "make_plan", "plan_model"]


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """The options of a run that change decisions."""

    now: datetime
    full_refresh: bool = False
    from_: datetime | None = None
    """With `to`: the range of intervals to fill, whether or not they were filled before."""
    to: datetime | None = None
    deltas: Literal["auto", "always"] = "auto"
    """`always`: also where a build from all rows would be cheaper."""
    replay: ReplayRequest | None = None
    """Rows of a quarantine that are to go through their contract again."""
    jvm: JvmState = WARM
    """Of the JVM that will build."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """By call, which state of its data a table function gives now; calls of functions that do not say are missing."""


@dataclass(frozen=True, slots=True)
class ModelPlan:
    """A decision and what it was made from."""

    decision: Decision
    inputs: Inputs
    progress: Progress | None = None
    """What the table records of its last run."""

    pointers: Mapping[TableName, Pointer | None] = field(default_factory=dict)
    """The pointers of its own table and of all that it reads in the lake."""

    has_query: bool = False
    """Whether the query was available, which may allow a read of changes only."""

    def holds(self, lake: BranchView) -> bool:
        """Whether the same decision would be made now. Metadata files never change, so it would where no pointer has
        moved; landing files may come and change at any time."""
        pinned = self.has_query and not self.inputs.zones
        return pinned and all(lake.pointer(table) == pointer for table, pointer in self.pointers.items())


@dataclass(frozen=True, slots=True)
class PlanStep:
    table: TableName
    wave: int
    decision: Decision
    tentative: bool = False
    """As the lake is now it need not run; the results of what it waits for decide whether and how it does. Its decision
    only keeps it in the plan."""

    facts: ModelPlan | None = None
    """What was decided from the lake as it is; None where that cannot be read."""

    waits_for: tuple[TableName, ...] = ()
    """What it reads and runs before it in the same plan; the run decides again when it gets there."""

    unplannable: bool = False
    """Its inputs cannot be read, for the reason of its decision, so a run would fail it."""

    unreadable: LakeError | None = None
    """The error of the lake for which it is unplannable."""

    @property
    def progress(self) -> Progress | None:
        return self.facts.progress if self.facts else None

    @property
    def inputs(self) -> Inputs:
        return self.facts.inputs if self.facts else Inputs()

    @property
    def run_type(self) -> RunType | None:
        """None: not known before what it waits for has run, or while its inputs cannot be read."""
        return None if self.tentative or self.unplannable else self.decision.run_type

    @property
    def provisional(self) -> bool:
        """It will run, but how was decided from inputs that will have changed by then."""
        return bool(self.waits_for) and self.run_type in (RunType.INCREMENTAL, RunType.FULL)


@dataclass(frozen=True, slots=True)
class Plan:
    steps: tuple[PlanStep, ...]

    @property
    def idle(self) -> bool:
        """No step needs Spark."""
        decisions = [step.decision for step in self.steps]
        return all(d.run_type is RunType.SKIP and not (d.check_again or d.record_digests) for d in decisions)

    @property
    def decided(self) -> Mapping[TableName, ModelPlan]:
        """What a run carries out, as long as it `holds`."""
        return {step.table: step.facts for step in self.steps if step.facts is not None}


def plan_model(
    model: CompiledModel,
    compiled: Compiled,
    lake: BranchView,
    request: PlanRequest,
    bound: Callable[[], BoundQuery] | None = None,
    readers: Callable[[], Readers] | None = None,
) -> ModelPlan:
    """Decide one model from the lake as `lake` shows it now. `bound`: its query, see `decide`. `readers`: of all tables
    of the project."""
    lake = PinnedView.of(lake)
    metadata_type = ViewMetadata if model.model.settings.materialized is Materialized.VIEW else TableMetadata
    metadata = lake.metadata(model.model.table)
    if not isinstance(metadata, metadata_type):  # a view where a table is needed, or the reverse: it is replaced
        metadata = None
    progress = metadata.progress if metadata else None
    inputs = read_inputs(model, compiled, lake, progress)
    model_request = ModelRequest(
        full_refresh=request.full_refresh,
        intervals=_intervals(model, progress, request),
        explicit_range=request.from_ is not None or request.to is not None,
        always_deltas=request.deltas == "always",
        versions=request.versions,
        saved_below=partial(seconds_below, model, readers or partial(readers_of, compiled), lake),
        replayed_rows=_replayed_rows(model, lake, request.replay),
    )
    decision = decide(model, metadata, progress, inputs, model_request, bound)
    return ModelPlan(decision, inputs, progress, lake.pointers, has_query=bound is not None)


def _replayed_rows(model: CompiledModel, lake: BranchView, replay: ReplayRequest | None) -> int | None:
    table = model.model.table
    return count_chosen(lake, table, replay.rows) if replay is not None and str(table) == replay.table else None


def _intervals(model: CompiledModel, progress: Progress | None, request: PlanRequest) -> tuple[Interval, ...]:
    settings = model.model.settings
    if not settings.traits.by_intervals:
        return ()
    keep = progress is not None and progress.fingerprint == model.fingerprint and not request.full_refresh
    done = decode(progress.intervals) if progress and keep else ()
    first = parse_time(settings.first_partition or "1970-01-01")
    return due_intervals(first, request.now, settings.granularity, done, settings.lookback, (request.from_, request.to))


def make_plan(
    compiled: Compiled,
    selected: Collection[TableName],
    lake: BranchView,
    request: PlanRequest,
    bind: Callable[[TableName], BoundQuery] | None = None,
    obstacle: Callable[[CompiledModel, bool], str | None] = lambda model, builds: None,
    preview: bool = False,
) -> Plan:
    """One step per selected model, in waves. A model below one that will run is planned as if that one changes.

    Without `bind`, which gives a model's query, no step reads only changes: enough to know which models would run.
    `preview`: steps that wait for others get their query, too, to show how they would read; a run decides those again.
    `obstacle`: why a model cannot be built now, or only be checked; its readers cannot be planned either, nor can a
    model that reads or writes a table whose metadata file is missing.
    """
    steps: list[PlanStep] = []
    readers = cache(partial(readers_of, compiled))
    running: set[TableName] = set()
    unplannable: set[TableName] = set()
    for number, wave in enumerate(compiled.waves):
        for table in wave:
            if table not in selected:
                continue
            model = compiled.models[table]
            upstream = sorted(running & set(model.depends_on))
            bound = partial(bind, table) if bind and (preview or not upstream) else None
            try:
                try:
                    facts = plan_model(model, compiled, lake, request, bound, readers)
                except LakeError:
                    raise
                except Exception:
                    if preview or bound is None:
                        raise
                    facts = plan_model(model, compiled, lake, request)  # only this model fails, when it is built
            except LakeError as error:
                if error.kind is not FailureKind.NOT_FOUND:
                    raise
                unplannable.add(table)
                decision = Decision(RunType.INCREMENTAL, str(error))
                steps.append(PlanStep(table, number, decision, unplannable=True, unreadable=error))
                continue
            decision = facts.decision
            why = _why_unplannable(compiled, sorted(unplannable & set(model.depends_on)))
            if why is None and (decision.run_type is not RunType.SKIP or decision.check_again):
                why = obstacle(model, decision.run_type is not RunType.SKIP)
            tentative = decision.run_type is RunType.SKIP and bool(upstream) and why is None
            if why is not None:
                unplannable.add(table)
                decision = Decision(RunType.INCREMENTAL, why)
            elif tentative:
                names = ", ".join(name.short(compiled.namespace) for name in upstream)
                decision = Decision(RunType.INCREMENTAL, f"if {names} changes")
            if decision.run_type is not RunType.SKIP:
                running.add(table)
            if not set(model.depends_on) <= {TableName.parse(name, "") for name in facts.inputs.tables}:
                decision = replace(decision, estimate=Estimate())
            steps.append(PlanStep(table, number, decision, tentative, facts, tuple(upstream), why is not None))
    return Plan(_in_jvm(steps, compiled, request.jvm))


def _in_jvm(steps: Sequence[PlanStep], compiled: Compiled, jvm: JvmState) -> tuple[PlanStep, ...]:
    """The steps with those deltas that pay in this JVM."""
    saved = {step.table: step.decision.saves for step in steps if step.decision.saves is not None}
    if not saved:
        return tuple(steps)
    others = sum(step.decision.from_changes for step in steps) - len(saved)
    jvm = jvm.after(others)
    chosen = worth_it(saved, jvm)
    return tuple(
        step if step.table not in saved or step.table in chosen else _rebuilt(step, compiled.models[step.table], jvm)
        for step in steps
    )


def _rebuilt(step: PlanStep, model: CompiledModel, jvm: JvmState) -> PlanStep:
    facts = step.facts and replace(step.facts, decision=step.facts.decision.for_a_new_jvm(model, jvm))
    return replace(step, decision=step.decision.for_a_new_jvm(model, jvm), facts=facts)


def _why_unplannable(compiled: Compiled, upstream: Sequence[TableName]) -> str | None:
    if not upstream:
        return None
    names = ", ".join(table.short(compiled.namespace) for table in upstream)
    return f"{names}, which it reads, cannot be planned"
