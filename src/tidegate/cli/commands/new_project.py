"""`init` and `demo`: new projects."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click

from tidegate.cli.console import open_console
from tidegate.cli.invocation import Invocation, common_options, pass_invocation
from tidegate.cli.terminal import OutputLine, TextTable, print_lines
from tidegate.config import Settings, load_settings
from tidegate.operations.new_project import MEASURES, DemoMeasure, deliver, measure, write_demo, write_project
from tidegate.runs.options import RunOptions
from tidegate.runs.result import RunResult

__all__ = ["demo", "init"]


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@common_options
@pass_invocation
def init(invocation: Invocation, folder: Path) -> None:
    """Write an empty project that runs.

    \b
    Example:
      tidegate init shop
    """
    written = write_project(folder)

    def lines() -> Iterator[str]:
        yield f"A new project in {folder}:"
        yield from (f"  {name}" for name in written)
        yield ""
        yield "Next:" if folder.resolve() == Path.cwd() else f"Next: cd {folder}, then"
        yield "  tidegate run                    builds silver.tides on a branch and publishes it"
        yield "  tidegate preview silver.tides   shows its rows"

    invocation.output().show({"project": str(folder.resolve()), "files": list(written)}, lines)


@click.command()
@click.argument("directory", metavar="[DIR]", default=Path("demo"), type=click.Path(path_type=Path))
@common_options
@pass_invocation
def demo(invocation: Invocation, directory: Path) -> int:
    """Write a sample project, run it twice, and show what happened.

    The second run gets changed and bad data. DIR is ./demo by default; an earlier demo in it is replaced.

    \b
    Example:
      tidegate demo
    """
    stream, color = sys.stderr if invocation.json else sys.stdout, not invocation.no_color
    write_demo(directory)
    settings = load_settings(directory)
    print_lines(_first_day(directory), stream, color)
    runs = [_run(settings, invocation)]
    measures: list[Mapping[str, str]] = []
    if runs[0].exit_code == 0:
        before = measure(settings)
        print_lines(_second_day(deliver(directory, "day-2")), stream, color)
        runs.append(_run(settings, invocation))
        after = measure(settings)
        measures = [{"table": m.table, "measure": m.what, "before": before[m], "after": after[m]} for m in MEASURES]
        print_lines(_what_happened(runs[1], before, after), stream, color)
        print_lines(_what_next(directory, runs[1]), stream, color)
    if invocation.json:
        documents = [result.to_dict() for result in runs]
        folder = str(directory.absolute())
        invocation.output().show({"folder": folder, "runs": documents, "measures": measures}, lambda: ())
    return 0 if [result.status for result in runs] == ["success", "partial"] else 1


def _run(settings: Settings, invocation: Invocation) -> RunResult:
    from tidegate.operations.run import run_project  # only here: `init` runs nothing

    with open_console(invocation) as console:
        result = run_project(settings, RunOptions(), [console])
        console.show(result)
    return result


def _first_day(directory: Path) -> Iterator[str]:
    yield f"A small shop is now in {directory}: files in landing/, models in models/."
    yield "Each run builds on a branch of the lake, checks what it built, and then"
    yield "publishes every table in one step."
    yield ""
    yield "Day 1: the first files."
    yield ""


def _second_day(arrived: Sequence[Path]) -> Iterator[str]:
    yield ""
    yield "Day 2: new files arrive. Ada has moved, orders are new, shipped or cancelled,"
    yield "one payment has a negative amount, and three of four returns are wrong."
    for path in arrived:
        yield f"  {path}"
    yield ""


def _what_happened(
    result: RunResult, before: Mapping[DemoMeasure, str], after: Mapping[DemoMeasure, str]
) -> Iterator[OutputLine]:
    yield ""
    yield "What main holds after each day:"
    yield ""
    outcomes = _outcomes(result)
    rows = [(m.table, m.what, before[m], after[m], outcomes.get(m.table, "")) for m in MEASURES]
    yield TextTable(("table", "", "day 1", "day 2", "in the second run"), rows)
    yield ""
    yield "The gate of silver.payments closed: it and what is built from it are as they"
    yield "were after day 1, while everything else moved on, all in one step. Some models"
    yield f"failed, so `tidegate run` would have ended with exit code {result.exit_code}."
    yield ""
    yield "The contract of the returns kept three of them out, each with its reason: they"
    yield "are in silver.returns__quarantine, and the fourth is in silver.returns."
    yield ""
    yield "Two models are Python. gold.customer_segments ran in the sandbox: it could read"
    yield "the table that it declares, and nothing else of this machine. tidegate.toml"
    yield "trusts gold.customer_value_usd, so that one may read the environment."


def _outcomes(result: RunResult) -> Mapping[str, str]:
    """The outcome of each table in the run, in words."""
    words = {"skipped": "nothing new", "failed": "kept: its check failed", "blocked": "kept: its input was kept"}
    outcomes = {}
    for m in result.materializations:
        if m.strategy == "view":
            outcomes[m.model] = "a view: always current"
        elif m.model in result.publish.tables:
            outcomes[m.model] = "published"
        else:
            outcomes[m.model] = words.get(m.status, m.status)
    return outcomes


def _what_next(directory: Path, result: RunResult) -> Iterator[str]:
    tidegate, folder = _program(), shlex.quote(str(directory))
    yield ""
    yield "What to try next:"
    yield ""
    yield f'  {tidegate} sql --project {folder} "SELECT * FROM gold.customer_value"'
    yield f"  {tidegate} preview --project {folder} silver.customers"
    yield f"  {tidegate} show --project {folder} silver.payments"
    yield f"  {tidegate} show --project {folder} gold.customer_segments"
    yield f"  {tidegate} quarantine show --project {folder} silver.returns"
    yield f"  {tidegate} logs --project {folder} {result.run_id}"
    yield ""
    yield "The payment provider sends a correction, and the gate opens:"
    yield ""
    yield f"  cp {folder}/deliveries/correction/payments/* {folder}/landing/payments/"
    yield f"  {tidegate} run --project {folder}"


def _program() -> str:
    """How the person can call this program: by name if that finds it, else by its path."""
    if shutil.which("tidegate"):
        return "tidegate"
    program = Path(sys.argv[0])
    return shlex.quote(str(program)) if program.name == "tidegate" else "tidegate"
