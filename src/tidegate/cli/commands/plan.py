"""`plan`: what a run would do and why, from the same decisions as the run's own, without a JVM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from tidegate.amounts import duration, plural, size
from tidegate.cli.context import Invocation, common_options, open_workspace, pass_invocation
from tidegate.cli.options import Moment, SelectingCommand, check_times, selection_options, variables_option
from tidegate.cli.table import text_table
from tidegate.compiler.values import BoundQuery, Compiled, RunValues, count_line
from tidegate.errors import ProjectError
from tidegate.lake.changes import TableChange
from tidegate.lake.port import MAIN, Heads, Pointer
from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.operations.failed_sources import FailedSources
from tidegate.operations.workspace import Workspace
from tidegate.planner.decide import RunType, keeps_history
from tidegate.planner.estimate import Estimate, Timing, probable_time
from tidegate.planner.inputs import Inputs
from tidegate.planner.plan import Plan, Step, Wish, make_plan

if TYPE_CHECKING:
    from tidegate.config import Settings
    from tidegate.project import Project

__all__ = ["plan"]

_WIDEST_REASON = 100
_REMEMBERED = 10


@click.command(cls=SelectingCommand)
@selection_options
@click.option("--full-refresh", is_flag=True, help="As if the selected tables were rebuilt from nothing.")
@click.option("--from", "from_", type=Moment(), metavar="TIME", help="First interval of time_interval models (UTC).")
@click.option("--to", type=Moment(), metavar="TIME", help="End of the intervals, not included (UTC).")
@click.option("--explain", is_flag=True, help="Show the SQL that reads only what changed; `tidegate sql` runs it.")
@variables_option
@common_options
@pass_invocation
def plan(
    invocation: Invocation,
    select: tuple[str, ...],
    exclude: tuple[str, ...],
    full_refresh: bool,
    from_: datetime | None,
    to: datetime | None,
    explain: bool,
    variables: dict[str, str],
) -> int:
    """Show what would run and why; nothing is run.

    SELECT names models as for `tidegate run`; without it, all. No JVM is started.

    "perhaps" (in JSON: tentative, and run_type is null) runs only if what it waits for changes something it reads.

    "not plannable" (run_type is null, and it is not tentative) reads a source that does not answer, a table whose
    metadata file is missing, or what is built from one. Ends with 2 then, or with 1 if no model can be planned.

    \b
    Example:
      tidegate plan silver.orders+
      tidegate plan --explain gold.revenue
    """
    check_times(full_refresh, from_, to)
    workspace = open_workspace(invocation)
    project, compiled, discovery = workspace.compile_with_sources(variables)
    if compiled.project_errors:
        raise ProjectError("The project has errors; nothing can be planned", diagnostics=compiled.diagnostics)
    lake = PinnedMain(workspace.catalog(), MAIN, workspace.heads())
    wish = Wish(datetime.now(UTC), full_refresh, from_, to)
    values = RunValues(wish.now.isoformat(), incremental=True, vars=variables)
    query = partial(_query, compiled, workspace.settings, project, values)
    selected = workspace.select(compiled, select, exclude)
    failed = FailedSources(workspace.settings, {failure.source: failure for failure in discovery.failures})
    planned = make_plan(compiled, selected, lake, workspace.settings, wish, query, failed.obstacle)
    shown = _Shown(planned, compiled, failed, _past(planned, compiled, workspace), explain, invocation.quiet)
    output = invocation.output()
    notes = list(_of_the_lake(workspace))
    output.show({"steps": [shown.document(step) for step in planned.steps], "notes": notes}, shown.lines)
    for note in notes:
        output.note(note)
    for line in failed.lines(planned, compiled):
        output.note(line, always=True)
    if compiled.diagnostics:
        output.note(f"The project has {count_line(compiled.diagnostics)}: `tidegate compile` shows them.")
    history = [step for step in planned.steps if keeps_history(compiled.models[step.table])] if full_refresh else []
    if kept := [step.table.short(compiled.namespace) for step in history if step.table in lake.pinned]:
        output.note(f"These tables keep history, so `run --full-refresh` asks for --yes: {', '.join(kept)}")
    lost = [step for step in planned.steps if step.unplannable]
    return 0 if not lost else 1 if len(lost) == len(planned.steps) else 2


def _of_the_lake(workspace: Workspace) -> Iterator[str]:
    """What a run cannot promise with this catalog and these settings."""
    capabilities = workspace.catalog().capabilities
    if not capabilities.atomic_publish:
        yield f"A publish is not one step here: {capabilities.gaps['atomic_publish']}."
    if workspace.settings.lake.on_branch_failure == "direct":
        yield 'If the catalog cannot make a branch, the run writes main itself: [lake] on_branch_failure is "direct".'


@dataclass(frozen=True)
class PinnedMain(BranchView):
    """Main as it was at one moment. A project that never ran has no catalog, and looking must not make one."""

    pinned: Heads = field(default_factory=dict)

    def heads(self) -> Heads:
        return self.pinned

    def pointer(self, table: TableName) -> Pointer | None:
        return self.pinned.get(table)


def _query(compiled: Compiled, settings: Settings, project: Project, values: RunValues, table: TableName) -> BoundQuery:
    from tidegate.compiler import bind

    return bind(compiled, settings, project, table, values)


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


@dataclass(frozen=True)
class _Shown:
    """The plan for people and for programs. `past`: milliseconds of earlier runs of the same kind."""

    planned: Plan
    compiled: Compiled
    failed: FailedSources
    past: Mapping[TableName, Sequence[int]]
    explain: bool
    quiet: bool = False

    def document(self, step: Step) -> Mapping[str, Any]:
        estimate, timing = step.decision.estimate, self._timing(step)
        document = {
            "model": step.table.short(self.compiled.namespace),
            "wave": step.wave + 1,
            "run_type": step.run_type,
            "reason": self.failed.reason(step, self.compiled),
            "warnings": list(step.decision.warnings),
            "strategy": self.compiled.models[step.table].model.settings.written_as,
            "tentative": step.tentative,
            "waits_for": self._waits_for(step),
            "inputs": list(self._inputs(step)),
            "estimated_rows": estimate.rows,
            "estimated_bytes": estimate.bytes,
            "estimated_seconds": {"probable": timing.seconds, "low": timing.low, "high": timing.high}
            if timing
            else None,
        }
        return document | ({"sql": _delta_sql(step)} if self.explain else {})

    def lines(self) -> Iterator[str]:
        if not self.planned.steps:
            empty = "No models yet: put a SQL file into models/<layer>/."
            yield "No model is selected: none is of the state that is asked for." if self.compiled.waves else empty
            return
        headers = ("wave", "model", "strategy", "how", "rows", "size", "time", "why")
        rows = (row for step in self.planned.steps for row in self._rows(step))
        if not self.quiet:
            yield from text_table(headers, rows, _WIDEST_REASON)
            yield ""
        yield _summary(self.planned)
        for step in self.planned.steps:
            for warning in step.decision.warnings:
                yield f"[WARN] {step.table.short(self.compiled.namespace)}: {warning}"
        if self.explain:
            for step in self.planned.steps:
                yield from self._explanation(step)

    def _inputs(self, step: Step) -> Iterator[Mapping[str, Any]]:
        """What was read last and what main has now; None where that is not there, or is another once this has run."""
        moving = {str(other.table) for other in self.planned.steps if other.decision.run_type is not RunType.SKIP}
        inputs, seen = step.inputs, step.progress.tables if step.progress else {}
        names = {*inputs.tables, *map(str, self.compiled.models[step.table].depends_on)}
        for name in sorted(names):
            before, now = seen.get(name), inputs.tables.get(name)
            yield {
                "table": inputs.short(name),
                "from_snapshot": before.snapshot_id if before else None,
                "to_snapshot": now.snapshot_id if now and name not in moving else None,
                "changed_rows": None if name in moving else _changed_rows(inputs, name, before is not None),
            }

    def _rows(self, step: Step) -> Iterator[tuple[str, ...]]:
        """One, and more below it for a reason that is longer than a line: what to do is at its end."""
        *cells, reason = self._row(step)
        first, *more = wrap(reason, _WIDEST_REASON) or [""]
        yield (*cells, first)
        yield from ((*("" for _ in cells), line) for line in more)

    def _row(self, step: Step) -> tuple[str, ...]:
        estimate = Estimate() if step.run_type is RunType.SKIP else step.decision.estimate
        return (
            str(step.wave + 1),
            step.table.short(self.compiled.namespace),
            self.compiled.models[step.table].model.settings.written_as,
            _how(step),
            "-" if estimate.rows is None else str(estimate.rows),
            "-" if estimate.bytes is None else size(estimate.bytes),
            _time(None if step.unplannable else probable_time(self.past.get(step.table, ()), estimate)),
            self._reason(step),
        )

    def _timing(self, step: Step) -> Timing | None:
        if step.unplannable:
            return None
        return probable_time(self.past.get(step.table, ()), step.decision.estimate)

    def _waits_for(self, step: Step) -> list[str]:
        return [table.short(self.compiled.namespace) for table in step.waits_for]

    def _reason(self, step: Step) -> str:
        if not step.provisional:
            return step.decision.reason
        tentative = {other.table for other in self.planned.steps if other.tentative}
        runs = "may run" if tentative.issuperset(step.waits_for) else "runs" if len(step.waits_for) == 1 else "run"
        return f"{step.decision.reason} (as the lake is now; {', '.join(self._waits_for(step))} {runs} first)"

    def _explanation(self, step: Step) -> Iterator[str]:
        if step.run_type is RunType.SKIP:
            return
        yield ""
        name, waits_for = step.table.short(self.compiled.namespace), self._waits_for(step)
        if step.tentative:
            yield f"-- {name}: decided when {', '.join(waits_for)} {'has' if len(waits_for) == 1 else 'have'} run"
            return
        yield f"-- {name}: {_how(step)}, {self._reason(step)}"
        sql = _delta_sql(step)
        if sql is not None:
            yield from sql.splitlines()


def _how(step: Step) -> str:
    return "not plannable" if step.unplannable else str(step.run_type or "perhaps")


def _delta_sql(step: Step) -> str | None:
    """One statement that gives the rows that the step would write; None where it reads all rows."""
    delta = step.decision.delta
    if delta is None:
        return None
    from tidegate.planner.deltas.images import image_sql
    from tidegate.planner.deltas.rewrite import explain

    images = {}
    for read in delta.reads:
        seen = step.progress.tables[str(read.table)].used if step.progress else None
        columns = tuple(seen) if seen else step.inputs.metadata[str(read.table)].column_names
        images[read.name] = image_sql(read.table, read.image, step.decision.changes[read.table], columns)
    return explain(delta, images)


def _changed_rows(inputs: Inputs, name: str, seen: bool) -> int | None:
    if not seen or name not in inputs.tables:
        return None
    found = inputs.changed.get(name)
    if isinstance(found, TableChange):
        return found.rows
    return 0 if found is None and name not in inputs.unread else None


def _time(timing: Timing | None) -> str:
    if timing is None:
        return "-"
    probable, low, high = (duration(round(value * 1000)) for value in (timing.seconds, timing.low, timing.high))
    return probable if low == high else f"{probable} ({low} to {high})"


def _summary(planned: Plan) -> str:
    total = plural(len(planned.steps), "model")
    lost = sum(step.unplannable for step in planned.steps)
    unknown = f"; {lost} cannot be planned" if lost else ""
    running = [s for s in planned.steps if s.decision.run_type is not RunType.SKIP and not s.unplannable]
    again = sum(step.decision.check_again for step in planned.steps)
    checked = f"; checks of {plural(again, 'model')} changed and would run again" if again else ""
    if not running:
        if lost:
            return f"{plural(lost, 'model')} of {len(planned.steps)} cannot be planned; nothing else would run{checked}"
        return f"Nothing would be built{checked}." if again else f"Nothing would run: {total} up to date."
    perhaps = sum(step.tentative for step in running)
    condition = f", {perhaps} of them only if what they read changes" if perhaps else ""
    return f"{len(running)} of {total} would run{condition}{checked}{unknown}"
