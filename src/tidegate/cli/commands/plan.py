"""`plan`: what a run would do and why, without a JVM."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from textwrap import wrap

import click

from tidegate.amounts import duration, plural, size
from tidegate.cli.invocation import Invocation, common_options, open_workspace, pass_invocation
from tidegate.cli.shared_options import Moment, SelectingCommand, check_times, selection_options, variables_option
from tidegate.cli.terminal import OutputLine, TextTable
from tidegate.compiler.compiled import count_line
from tidegate.operations.plan import PlanView, StepView, plan_run

__all__ = ["obstacle_lines", "plan"]

_WIDEST_REASON = 100


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
    view = plan_run(open_workspace(invocation), select, exclude, variables, full_refresh, from_, to, explain)
    output = invocation.output()
    output.show(view.document(), lambda: _lines(view, invocation.quiet))
    for note in view.notes:
        output.note(note)
    for line in obstacle_lines(view):
        output.note(line, always=True)
    if view.diagnostics:
        output.note(f"The project has {count_line(view.diagnostics)}: `tidegate compile` shows them.")
    if tables := view.history_at_stake:
        output.note(f"These tables keep history, so `run --full-refresh` needs --yes: {', '.join(tables)}")
    return view.exit_code


def obstacle_lines(view: PlanView) -> Iterator[str]:
    for models, error in view.obstacles:
        yield f"Not planned: {', '.join(models)}, because {error}"
        if error.remedy:
            yield f"  fix: {error.remedy}"


def _lines(view: PlanView, quiet: bool) -> Iterator[OutputLine]:
    if not view.steps:
        empty = "No models yet: put a SQL file into models/<layer>/."
        yield "No model is selected: none has the state that SELECT names." if view.has_models else empty
        return
    reasons = {step.model: _reason(view, step) for step in view.steps}
    if not quiet:
        headers = ("wave", "model", "strategy", "how", "rows", "size", "time", "why")
        rows = (row for step in view.steps for row in _rows(step, reasons[step.model]))
        yield TextTable(headers, rows, _WIDEST_REASON)
        yield ""
    yield _summary(view)
    for step in view.steps:
        for warning in step.planned.decision.warnings:
            yield f"[WARN] {step.model}: {warning}"
    if view.explained:
        for step in view.steps:
            yield from _explanation(step, reasons[step.model])


def _rows(step: StepView, reason: str) -> Iterator[tuple[str, ...]]:
    """One, and more below it for a reason that is longer than a line: what to do is at its end."""
    first, *more = wrap(reason, _WIDEST_REASON) or [""]
    rows, bytes = step.planned.decision.estimate.rows, step.planned.decision.estimate.bytes
    estimates = ("-" if rows is None else str(rows), "-" if bytes is None else size(bytes), _time(step))
    cells = (
        str(step.planned.wave + 1),
        step.model,
        step.strategy,
        _how(step),
        *(("-",) * 3 if step.skipped else estimates),
    )
    yield (*cells, first)
    yield from ((*("" for _ in cells), line) for line in more)


def _reason(view: PlanView, step: StepView) -> str:
    reason = step.planned.decision.reason
    if not step.planned.provisional:
        return reason
    tentative = {other.model for other in view.steps if other.planned.tentative}
    runs = "may run" if tentative.issuperset(step.waits_for) else "runs" if len(step.waits_for) == 1 else "run"
    return f"{reason} (as the lake is now; {', '.join(step.waits_for)} {runs} first)"


def _explanation(step: StepView, reason: str) -> Iterator[str]:
    if step.skipped:
        return
    yield ""
    if step.planned.tentative:
        have = "has" if len(step.waits_for) == 1 else "have"
        yield f"-- {step.model}: decided when {', '.join(step.waits_for)} {have} run"
        return
    yield f"-- {step.model}: {_how(step)}, {reason}"
    if step.sql is not None:
        yield from step.sql.splitlines()


def _how(step: StepView) -> str:
    return "not plannable" if step.planned.unplannable else str(step.planned.run_type or "perhaps")


def _time(step: StepView) -> str:
    timing = step.timing
    if timing is None:
        return "-"
    probable, low, high = (duration(round(value * 1000)) for value in (timing.seconds, timing.low, timing.high))
    return probable if low == high else f"{probable} ({low} to {high})"


def _summary(view: PlanView) -> str:
    steps, total = view.steps, plural(len(view.steps), "model")
    lost = sum(step.planned.unplannable for step in steps)
    unknown = f"; {lost} cannot be planned" if lost else ""
    running = [step for step in steps if step.runs]
    again = sum(step.planned.decision.check_again for step in steps)
    checked = f"; checks of {plural(again, 'model')} changed and would run again" if again else ""
    if not running:
        if lost:
            return f"{plural(lost, 'model')} of {len(steps)} cannot be planned; nothing else would run{checked}"
        return f"Nothing would be built{checked}." if again else f"Nothing would run: {total} up to date."
    perhaps = sum(step.planned.tentative for step in running)
    condition = f", {perhaps} of them only if what they read changes" if perhaps else ""
    return f"{len(running)} of {total} would run{condition}{checked}{unknown}"
