"""`chaos`: kill the project's run at its fault points, on a copy of its lake."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from tidegate.amounts import plural
from tidegate.cli.invocation import Invocation, common_options, open_workspace, pass_invocation
from tidegate.cli.shared_options import SelectingCommand, selection_options, variables_option
from tidegate.cli.terminal import OutputLine, Paint, TextTable
from tidegate.faults import FAULT_POINTS, parse_fault
from tidegate.operations.chaos.kills import BOTH, RERUN, RESUME, ChaosReport, KillRequest, Trial
from tidegate.runs.options import RunOptions

__all__ = ["chaos"]


def _points(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[str, ...]:
    points = tuple(filter(None, (point.strip() for point in (value or "").split(","))))
    for point in points:
        parse_fault(point, "--points")
    return points


@click.command(cls=SelectingCommand)
@selection_options
@click.option("--points", callback=_points, metavar="P,...", help="Only these: point, point:model, point@2, ...")
@click.option("--all", "every", is_flag=True, help="Each point for each model, with a rerun and with a resume.")
@click.option("--then", type=click.Choice([RERUN, RESUME, BOTH]), help="What follows a kill; else the two in turn.")
@click.option("--sample", type=click.IntRange(min=1), metavar="N", help="So many of them, chosen by chance.")
@click.option("--seed", type=int, default=0, show_default=True, help="For --sample: another number, other points.")
@click.option("--full-refresh", is_flag=True, help="Let the runs on the copy rebuild their tables from nothing.")
@variables_option
@click.option("--keep", is_flag=True, help="Keep the copies, also where nothing is wrong.")
@click.option("--list", "listing", is_flag=True, help="List the fault points; nothing is run.")
@common_options
@pass_invocation
def chaos(
    invocation: Invocation,
    select: tuple[str, ...],
    exclude: tuple[str, ...],
    points: tuple[str, ...],
    every: bool,
    then: str | None,
    sample: int | None,
    seed: int,
    full_refresh: bool,
    variables: dict[str, str],
    keep: bool,
    listing: bool,
) -> int:
    """Kill the project's run at its fault points, on a copy of its lake, and check that nothing is lost.

    After each kill the run is started again, or resumed. Readers must never have seen a mix, the tables must end as
    those of a run that was not disturbed, and no branch may be left. The lake, its files and its history are not
    touched, and no hook is called. SELECT is that of `tidegate run`.

    \b
    Example:
      tidegate chaos --sample 5
    """
    if listing:
        document = [
            {"name": name, "of_model": point.of_model, "means": point.means} for name, point in FAULT_POINTS.items()
        ]
        invocation.output().show({"points": document}, _list)
        return 0
    if points and every:
        raise click.UsageError("--points names some points, --all takes each: give one of them.")
    # Only here: it needs Spark, and listing the points does not.
    from tidegate.operations.chaos.trials import run_chaos

    workspace = open_workspace(invocation)
    stream = sys.stderr if invocation.json else sys.stdout
    paint = invocation.painter(stream)

    def notify(line: str) -> None:
        print(line, file=stream, flush=True)

    def show(trial: Trial) -> None:
        for line in _trial(trial, paint):
            notify(line)

    options = RunOptions(select=select, exclude=exclude, full_refresh=full_refresh, vars=variables)
    request = KillRequest(points, every, then, sample, seed)
    report = run_chaos(workspace.settings, options, request, keep, notify, show)
    invocation.output().show(report.document(), lambda: _lines(report))
    return report.exit_code


def _list() -> Iterator[OutputLine]:
    rows = (
        (name, "each model" if point.of_model else "chunked load" if point.of_load else "run", point.means)
        for name, point in FAULT_POINTS.items()
    )
    yield TextTable(("point", "of", "what has happened there"), rows)


def _trial(trial: Trial, paint: Paint) -> Iterator[str]:
    state = "[OK]  " if trial.passed else paint("[FAIL]", "error")
    yield f"{state} {trial.point:<32} {trial.way:<6} {trial.seconds:6.1f} s"
    for problem in trial.problems:
        yield f"       {problem}"
    if not trial.passed:
        yield f"       see {trial.left}"


def _lines(report: ChaosReport) -> Iterator[str]:
    for model, why in report.left_out.items():
        yield f"not compared: {model}: {why}"
    if report.not_reached:
        yield f"not reached by this run: {', '.join(report.not_reached)}"
    failed = len(report.failed)
    passed = len(report.trials) - failed
    yield f"{plural(len(report.trials), 'kill')}: {passed} passed, {failed} failed in {report.seconds:.0f} s"
    if report.folder:
        yield f"The copies are kept in {report.folder}"
