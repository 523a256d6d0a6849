"""`run` and `publish`: the commands that change main."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime

import click

from tidegate.cli.console import RunConsole, open_console
from tidegate.cli.invocation import Invocation, common_options, open_workspace, pass_invocation, worker_option
from tidegate.cli.shared_options import Moment, SelectingCommand, check_times, selection_options, variables_option
from tidegate.operations.run import result_document, run_project
from tidegate.operations.workspace import Workspace
from tidegate.runs.options import LATEST, RunOptions, is_secret
from tidegate.runs.result import RunResult

__all__ = ["publish", "run"]


@click.command(cls=SelectingCommand)
@selection_options
@click.option("--full-refresh", is_flag=True, help="Rebuild the selected tables from nothing.")
@click.option("--publish", "mode", type=click.Choice(["run", "wave", "model", "all"]), help="When to publish what.")
@click.option("--from", "from_", type=Moment(), metavar="TIME", help="First interval of time_interval models (UTC).")
@click.option("--to", type=Moment(), metavar="TIME", help="End of the intervals, not included (UTC).")
@click.option("--concurrency", type=click.IntRange(min=1), metavar="N", help="How many models run side by side.")
@variables_option
@click.option("--fail-fast", is_flag=True, help="Start no further model after the first failure.")
@click.option("--no-publish", is_flag=True, help="Keep the branch, for `tidegate publish RUN`.")
@click.option("--no-ingest", is_flag=True, help="Read no source of a contract: only files that are landed already.")
@click.option("--verify", is_flag=True, help="Check each table built from changes against a full build.")
@click.option("--allow-deletes", is_flag=True, help="Let a model delete more than half of its table's keys.")
@click.option("--yes", is_flag=True, help="Do not ask before a full refresh of tables that keep history.")
@click.option("--resume", metavar="RUN", help="Continue a run that failed or was interrupted, with its own options.")
@click.option("--resume-latest", is_flag=True, help="The same, with the latest run.")
@click.option("--idempotency-key", metavar="KEY", help="Run once per key: a later call gives the same result again.")
@worker_option
@common_options
@pass_invocation
def run(
    invocation: Invocation,
    select: tuple[str, ...],
    exclude: tuple[str, ...],
    full_refresh: bool,
    mode: str | None,
    from_: datetime | None,
    to: datetime | None,
    concurrency: int | None,
    variables: dict[str, str],
    fail_fast: bool,
    no_publish: bool,
    no_ingest: bool,
    verify: bool,
    allow_deletes: bool,
    yes: bool,
    resume: str | None,
    resume_latest: bool,
    idempotency_key: str | None,
) -> int:
    """Build models on a branch, check them, and publish them in one step.

    SELECT names what to run: silver.orders or just orders, +orders (with upstreams), orders+ (with downstreams),
    2+orders+1 (so many steps), @orders (all that orders+ needs), 'silver.*', tag:daily, path:models/silver,
    state:modified; a comma intersects. Without it, everything.

    \b
    Example:
      tidegate run silver.orders+
    """
    check_times(full_refresh, from_, to)
    if resume or resume_latest:
        fixed = {
            "SELECT": select,
            "--exclude": exclude,
            "--full-refresh": full_refresh,
            "--publish": mode,
            "--from": from_,
            "--to": to,
            "--var": [name for name, value in variables.items() if not is_secret(name, value)],
            "--no-publish": no_publish,
            "--no-ingest": no_ingest,
            "--idempotency-key": idempotency_key,
            "--resume-latest": resume and resume_latest,
        }
        _check_resumed([name for name, value in fixed.items() if value])
    workspace = open_workspace(invocation)
    options = RunOptions(
        select=select,
        exclude=exclude,
        full_refresh=full_refresh,
        publish=mode,
        concurrency=concurrency,
        vars=variables,
        fail_fast=fail_fast,
        no_publish=no_publish,
        no_ingest=no_ingest,
        verify=verify,
        allow_deletes=allow_deletes,
        confirmed=yes or (full_refresh and _confirm(workspace, select, exclude, variables)),
        from_=from_,
        to=to,
        resume=resume or (LATEST if resume_latest else None),
        idempotency_key=idempotency_key,
    )
    with open_console(invocation) as console:
        result = run_project(workspace.settings, options, [console])
        return _end(invocation, console, workspace, result)


@click.command()
@click.argument("run_id", metavar="RUN")
@worker_option
@common_options
@pass_invocation
def publish(invocation: Invocation, run_id: str) -> int:
    """Publish a branch that `run --no-publish` kept, then check the warnings of its tables.

    \b
    Example:
      tidegate publish run-20261115-101112-123
    """
    from tidegate.operations.publish import publish_run  # only here: `run` needs none of it

    workspace = open_workspace(invocation)
    with open_console(invocation) as console:
        return _end(invocation, console, workspace, publish_run(workspace.settings, run_id, [console]))


def _check_resumed(names: Sequence[str]) -> None:
    if names:
        raise click.UsageError(
            f"A resumed run keeps the options that it began with: leave out {', '.join(names)}, or start a new run."
        )


def _end(invocation: Invocation, console: RunConsole, workspace: Workspace, result: RunResult) -> int:
    console.show(result)
    if invocation.json:
        document = result_document(workspace, result)
        invocation.output().show({**document, "command": invocation.command}, lambda: ())
    return result.exit_code


def _confirm(
    workspace: Workspace, select: tuple[str, ...], exclude: tuple[str, ...], variables: dict[str, str]
) -> bool:
    """Ask on a terminal; elsewhere the run itself refuses, and names the tables."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    names = workspace.history_at_stake(select, exclude, variables)
    if not names:
        return False
    click.echo("A full refresh rebuilds these tables from what their inputs hold now:", err=True)
    for name in names:
        click.echo(f"  {name}", err=True)
    click.confirm("Go on?", abort=True, err=True)
    return True
