"""`plan`: what a run would do and why, from the same decisions as the run's own, without a JVM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import click

from tidegate.cli.context import Invocation, Workspace, common_options, open_workspace, pass_invocation
from tidegate.cli.diagnostics import count_line
from tidegate.cli.options import Moment, check_times, variables_option
from tidegate.cli.table import plural, text_table
from tidegate.compiler.values import Compiled
from tidegate.errors import ProjectError
from tidegate.lake.port import MAIN, Heads, Pointer
from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.planner.decide import RunType, keeps_history
from tidegate.planner.inputs import read_inputs
from tidegate.planner.plan import Plan, Step, Wish, make_plan
from tidegate.planner.selection import select as select_models

__all__ = ["plan"]

_WIDEST_REASON = 100


@click.command()
@click.argument("select", nargs=-1)
@click.option("--full-refresh", is_flag=True, help="As if the selected tables were rebuilt from nothing.")
@click.option("--from", "from_", type=Moment(), metavar="TIME", help="First interval of time_interval models (UTC).")
@click.option("--to", type=Moment(), metavar="TIME", help="End of the intervals, not included (UTC).")
@variables_option
@common_options
@pass_invocation
def plan(
    invocation: Invocation,
    select: tuple[str, ...],
    full_refresh: bool,
    from_: datetime | None,
    to: datetime | None,
    variables: dict[str, str],
) -> None:
    """Show what would run and why; nothing is run.

    SELECT names models as for `tidegate run`; without it, all. No JVM is started.

    \b
    Example:
      tidegate plan silver.orders+
    """
    check_times(full_refresh, from_, to)
    workspace = open_workspace(invocation)
    compiled = workspace.compile(variables)
    if compiled.errors:
        raise ProjectError("The project has errors; nothing can be planned", diagnostics=compiled.diagnostics)
    lake = PinnedMain(workspace.catalog(), MAIN, workspace.heads())
    wish = Wish(datetime.now(UTC), full_refresh, from_, to)
    planned = make_plan(compiled, select_models(compiled, select), lake, workspace.settings, wish)
    output = invocation.output()
    output.show(
        {"steps": [_document(step, planned, compiled, lake, workspace) for step in planned.steps]},
        lambda: _lines(planned, compiled),
    )
    if compiled.diagnostics:
        output.note(f"The project has {count_line(compiled.diagnostics)}: `tidegate compile` shows them.")
    history = [step for step in planned.steps if keeps_history(compiled.models[step.table])] if full_refresh else []
    if kept := [step.table.short(compiled.namespace) for step in history if step.table in lake.pinned]:
        output.note(f"These tables keep history, so `run --full-refresh` asks for --yes: {', '.join(kept)}")


@dataclass(frozen=True)
class PinnedMain(BranchView):
    """Main as it was at one moment. A project that never ran has no catalog, and looking must not make one."""

    pinned: Heads = field(default_factory=dict)

    def heads(self) -> Heads:
        return self.pinned

    def pointer(self, table: TableName) -> Pointer | None:
        return self.pinned.get(table)


def _document(
    step: Step, planned: Plan, compiled: Compiled, lake: BranchView, workspace: Workspace
) -> Mapping[str, Any]:
    return {
        "model": step.table.short(compiled.namespace),
        "wave": step.wave + 1,
        "run_type": step.decision.run_type,
        "reason": step.decision.reason,
        "strategy": compiled.models[step.table].model.settings.written_as,
        "tentative": step.tentative,
        "inputs": list(_inputs(step, planned, compiled, lake, workspace)),
    }


def _inputs(
    step: Step, planned: Plan, compiled: Compiled, lake: BranchView, workspace: Workspace
) -> Iterator[Mapping[str, Any]]:
    """What was read last and what main has now; None where that is not there, or will be another once this has run."""
    progress = lake.progress(step.table)
    inputs = read_inputs(compiled.models[step.table], compiled, lake, workspace.settings, progress)
    moving = {str(other.table) for other in planned.steps if other.decision.run_type is not RunType.SKIP}
    seen = progress.tables if progress else {}
    names = {*inputs.tables, *map(str, compiled.models[step.table].depends_on)}
    for name in sorted(names):
        before, now = seen.get(name), inputs.tables.get(name)
        yield {
            "table": inputs.short(name),
            "from_snapshot": before.snapshot_id if before else None,
            "to_snapshot": now.snapshot_id if now and name not in moving else None,
        }


def _lines(planned: Plan, compiled: Compiled) -> Iterator[str]:
    if not planned.steps:
        yield "No models yet: put a SQL file into models/<layer>/."
        return
    headers = ("wave", "model", "strategy", "how", "why")
    rows = [
        (
            str(step.wave + 1),
            step.table.short(compiled.namespace),
            compiled.models[step.table].model.settings.written_as,
            "perhaps" if step.tentative else str(step.decision.run_type),
            step.decision.reason,
        )
        for step in planned.steps
    ]
    yield from text_table(headers, rows, _WIDEST_REASON)
    yield ""
    yield _summary(planned)


def _summary(planned: Plan) -> str:
    total = plural(len(planned.steps), "model")
    running = [step for step in planned.steps if step.decision.run_type is not RunType.SKIP]
    if not running:
        return f"Nothing would run: {total} up to date."
    perhaps = sum(step.tentative for step in running)
    condition = f", {perhaps} of them only if what they read changes" if perhaps else ""
    return f"{len(running)} of {total} would run{condition}"
