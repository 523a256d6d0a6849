"""`check`: the checks of published tables, without building anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import click

from tidegate.amounts import plural
from tidegate.cli.invocation import Invocation, common_options, open_workspace, pass_invocation, worker_option
from tidegate.cli.run_text import check_lines
from tidegate.cli.shared_options import SelectingCommand, selection_options
from tidegate.operations.check import Checkup, check_project

__all__ = ["check"]


@click.command(cls=SelectingCommand)
@selection_options
@worker_option
@common_options
@pass_invocation
def check(invocation: Invocation, select: tuple[str, ...], exclude: tuple[str, ...]) -> int:
    """Check the published tables; nothing is built or changed.

    Every constraint looks at all rows of its table, and audits, tests and warnings are run as well. SELECT names
    models, as for `tidegate run`. The results are not stored: `tidegate show` has those of runs only. Ends
    with 1 if a check of severity error fails or cannot be run.

    \b
    Example:
      tidegate check silver.orders
    """
    workspace = open_workspace(invocation)
    output = invocation.output()
    checkup = check_project(workspace.settings, select, notify=output.note, exclude=exclude)
    output.show(checkup.document(), lambda: _lines(checkup, invocation.quiet))
    return checkup.exit_code


def _lines(checkup: Checkup, quiet: bool) -> Iterator[str]:
    for result in checkup.results:
        yield from check_lines(result) if result.blocks or not quiet else ()
    for name in checkup.missing if not quiet else ():
        yield f"[WARN] {name}: not published yet, so not checked"
    counts = Counter(result.status for result in checkup.results)
    summary = ", ".join(
        f"{counts[status]} {status}" for status in ("passed", "failed", "warned", "error") if counts[status]
    )
    checks, models = plural(len(checkup.results), "check"), plural(checkup.models, "model")
    yield f"{checks} of {models}{f': {summary}' if summary else ''}"
