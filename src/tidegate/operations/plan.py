"""What a run would do and why, from the same decisions as the run's own, without a JVM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

from tidegate.compiler.compiled import BoundQuery, Compiled, CompiledModel, Diagnostic, RunValues
from tidegate.config import Settings
from tidegate.errors import ProjectError, SourceError, TidegateError
from tidegate.lake.branch_catalog import MAIN, Heads, Pointer
from tidegate.lake.changes import TableChange
from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.operations.workspace import Workspace
from tidegate.planner.decide import RunType, keeps_history
from tidegate.planner.estimate import TimeEstimate, probable_time
from tidegate.planner.inputs import Inputs
from tidegate.planner.make_plan import Plan, PlanRequest, PlanStep, make_plan
from tidegate.runs.jvm_warmth import jvm_state

__all__ = ["InputView", "PlanView", "StepView", "plan_run"]

_REMEMBERED = 10


@dataclass(frozen=True, slots=True)
class InputView:
    """The snapshot that was read last and the one that main has now; None where there is none, or where it will be
    another once the plan has run. Of a Delta table it is the version."""

    table: str
    from_snapshot: int | None
    to_snapshot: int | None
    changed_rows: int | None


@dataclass(frozen=True, slots=True)
class StepView:
    """A step of the plan with what people and programs are shown of it besides."""

    planned: PlanStep
    model: str
    strategy: str
    waits_for: tuple[str, ...]
    inputs: tuple[InputView, ...]
    timing: TimeEstimate | None
    error: TidegateError | None
    """What is in the way of the step itself; None where that is only a step before it, or nothing."""

    sql: str | None
    """With `explain`: one statement that gives the rows that the step would write. None where it reads all."""

    @property
    def skipped(self) -> bool:
        return self.planned.run_type is RunType.SKIP

    @property
    def runs(self) -> bool:
        """Or may run, where it is tentative."""
        return not self.skipped and not self.planned.unplannable

    def document(self) -> dict[str, Any]:
        planned, decision, timing = self.planned, self.planned.decision, self.timing
        fix = f"; fix: {self.error.remedy}" if self.error is not None and self.error.remedy else ""
        return {
            "model": self.model,
            "wave": planned.wave + 1,
            "run_type": planned.run_type,
            "reason": f"{decision.reason}{fix}",
            "warnings": list(decision.warnings),
            "strategy": self.strategy,
            "tentative": planned.tentative,
            "waits_for": list(self.waits_for),
            "inputs": [asdict(read) for read in self.inputs],
            "estimated_rows": decision.estimate.rows,
            "estimated_bytes": decision.estimate.bytes,
            "estimated_seconds": {"probable": timing.seconds, "low": timing.low, "high": timing.high}
            if timing
            else None,
        }


@dataclass(frozen=True, slots=True)
class PlanView:
    steps: tuple[StepView, ...]
    notes: tuple[str, ...] = ()
    """What a run cannot promise with this catalog and these settings."""

    history_at_stake: tuple[str, ...] = ()
    """Tables that keep history, where a full refresh is planned."""

    diagnostics: tuple[Diagnostic, ...] = ()
    has_models: bool = True
    explained: bool = False

    @property
    def obstacles(self) -> Iterator[tuple[list[str], TidegateError]]:
        """Which models could not be planned, and why: those that read the same source together."""
        readers: dict[str, tuple[list[str], SourceError]] = {}
        for step in self.steps:
            if isinstance(step.error, SourceError):
                readers.setdefault(step.error.source, ([], step.error))[0].append(step.model)
            elif step.error is not None:
                yield [step.model], step.error
        yield from (readers[source] for source in sorted(readers))

    @property
    def exit_code(self) -> int:
        lost = sum(step.planned.unplannable for step in self.steps)
        return 0 if not lost else 1 if lost == len(self.steps) else 2

    def document(self) -> dict[str, Any]:
        steps = [step.document() | ({"sql": step.sql} if self.explained else {}) for step in self.steps]
        return {"steps": steps, "notes": list(self.notes)}


def plan_run(
    workspace: Workspace,
    select: Sequence[str] = (),
    exclude: Sequence[str] = (),
    variables: Mapping[str, str] | None = None,
    full_refresh: bool = False,
    from_: datetime | None = None,
    to: datetime | None = None,
    explain: bool = False,
) -> PlanView:
    """`explain`: with the SQL of each step. The others are those of a run (`RunOptions`)."""
    variables = variables or {}
    compiled, discovery = workspace.compile_with_sources(variables)
    if compiled.project_errors:
        raise ProjectError("The project has errors; nothing can be planned", diagnostics=compiled.diagnostics)
    settings, lake = workspace.settings, _PinnedMain(workspace.catalog(), MAIN, workspace.heads())
    request = PlanRequest(datetime.now(UTC), full_refresh, from_, to, jvm=jvm_state(settings))
    values = RunValues(request.now.isoformat(), incremental=True, vars=variables)
    query = partial(_query, compiled, values)
    selected = workspace.select(compiled, select, exclude)
    failed = _FailedSources(settings, {failure.source: failure for failure in discovery.failures})
    planned = make_plan(compiled, selected, lake, request, query, failed.obstacle, preview=True)
    viewer = _Viewer(planned, compiled, failed, _past(planned, compiled, workspace), explain)
    existing = [step.table for step in planned.steps if step.table in lake.pinned] if full_refresh else []
    return PlanView(
        steps=tuple(map(viewer.view, planned.steps)),
        notes=tuple(_of_the_lake(workspace)),
        history_at_stake=tuple(t.short(compiled.namespace) for t in existing if keeps_history(compiled.models[t])),
        diagnostics=compiled.diagnostics,
        has_models=bool(compiled.waves),
        explained=explain,
    )


@dataclass(frozen=True)
class _PinnedMain(BranchView):
    """Main as it was at one moment. A project that never ran has no catalog, and looking must not make one."""

    pinned: Heads = field(default_factory=dict)

    def heads(self) -> Heads:
        return self.pinned

    def pointer(self, table: TableName) -> Pointer | None:
        return self.pinned.get(table)


@dataclass(frozen=True)
class _FailedSources:
    """The sources that do not answer, and of which nothing was known before."""

    settings: Settings
    failures: Mapping[str, SourceError]

    def obstacle(self, model: CompiledModel, builds: bool) -> str | None:
        failure = self.failure(model, builds)
        return None if failure is None else str(failure)

    def failure(self, model: CompiledModel, builds: bool = True) -> SourceError | None:
        if not self.failures:
            return None
        from tidegate.runs.source_availability import (
            sources_of,  # only here: a plan without such sources need not load it
        )

        read = sources_of(self.settings, model, builds) & self.failures.keys()
        return self.failures[min(read)] if read else None


def _query(compiled: Compiled, values: RunValues, table: TableName) -> BoundQuery:
    from tidegate.compiler import bind

    return bind(compiled, table, values)


def _past(planned: Plan, compiled: Compiled, workspace: Workspace) -> Mapping[TableName, Sequence[int]]:
    """How long each step took when it last ran in the same way, newest first; in any, where that is not known yet."""
    running = [s for s in planned.steps if s.decision.run_type is not RunType.SKIP and not s.unplannable]
    if not running:
        return {}
    past: dict[TableName, Sequence[int]] = {}
    with workspace.state() as state:
        for step in running:
            name = step.table.short(compiled.namespace)
            records = state.runs_of_model(name, _REMEMBERED, "completed", step.run_type)
            past[step.table] = [record.duration_ms for record in records]
    return past


def _of_the_lake(workspace: Workspace) -> Iterator[str]:
    capabilities = workspace.catalog().capabilities
    if not capabilities.atomic_publish:
        yield f"A publish is not one step here: {capabilities.gaps['atomic_publish']}."
    if workspace.settings.lake.on_branch_failure == "direct":
        yield 'If the catalog cannot make a branch, the run writes main itself: [lake] on_branch_failure is "direct".'


@dataclass(frozen=True)
class _Viewer:
    """`past`: milliseconds of earlier runs of the same kind."""

    planned: Plan
    compiled: Compiled
    failed: _FailedSources
    past: Mapping[TableName, Sequence[int]]
    explain: bool

    def view(self, step: PlanStep) -> StepView:
        model, namespace = self.compiled.models[step.table], self.compiled.namespace
        past = self.past.get(step.table, ())
        return StepView(
            planned=step,
            model=step.table.short(namespace),
            strategy=model.model.settings.written_as,
            waits_for=tuple(table.short(namespace) for table in step.waits_for),
            inputs=tuple(self._inputs(step, model)),
            timing=None if step.unplannable else probable_time(past, step.decision.estimate),
            error=step.unreadable or (self.failed.failure(model) if step.unplannable else None),
            sql=_delta_sql(step) if self.explain else None,
        )

    def _inputs(self, step: PlanStep, model: CompiledModel) -> Iterator[InputView]:
        moving = {str(other.table) for other in self.planned.steps if other.decision.run_type is not RunType.SKIP}
        inputs, recorded = step.inputs, step.progress.tables if step.progress else {}
        for name in sorted({*inputs.tables, *map(str, model.depends_on)}):
            before, now = recorded.get(name), inputs.tables.get(name)
            yield InputView(
                table=inputs.short(name),
                from_snapshot=before.snapshot_id if before else None,
                to_snapshot=now.snapshot_id if now and name not in moving else None,
                changed_rows=None if name in moving else _changed_rows(inputs, name, before is not None),
            )
        for name, read in sorted(inputs.delta.items()):
            last_read = step.progress.delta.get(name) if step.progress else None
            changed_rows = _changed_rows(inputs, name, last_read is not None)
            version = last_read.version if last_read else None
            yield InputView(inputs.short(name), version, read.version, changed_rows)


def _delta_sql(step: PlanStep) -> str | None:
    delta = step.decision.delta
    if delta is None:
        return None
    from tidegate.planner.deltas.delta_query import OWN, delta_image_sql, image_sql
    from tidegate.planner.deltas.rewrite import explain

    images = {}
    for read in delta.reads:
        if str(read.table) in step.inputs.delta:
            images[read.name] = delta_image_sql(read.table, read.image, step.decision.changes[read.table])
            continue
        used_columns = step.progress.tables[str(read.table)].used if step.progress else None
        columns = tuple(used_columns) if used_columns else step.inputs.metadata[str(read.table)].column_names
        images[read.name] = image_sql(read.table, read.image, step.decision.changes[read.table], columns)
    return explain(delta, {**images, OWN: f"SELECT * FROM {step.table.quoted}"})


def _changed_rows(inputs: Inputs, name: str, was_read: bool) -> int | None:
    if not was_read or name not in {*inputs.tables, *inputs.delta}:
        return None
    change = inputs.changed.get(name)
    if isinstance(change, TableChange):
        return change.rows
    return 0 if change is None and name not in inputs.unread else None
