"""`doctor`: what the machine and the project have, what they lack, and how to get it."""

from __future__ import annotations

from collections.abc import Iterator

import click

from tidegate.amounts import plural
from tidegate.cli.invocation import Invocation, common_options, open_workspace, pass_invocation
from tidegate.errors import ConfigError
from tidegate.operations.doctor import DoctorReport, examine
from tidegate.operations.workspace import Workspace

__all__ = ["doctor"]

_TAGS = {"ok": "[OK]  ", "warn": "[WARN]", "fail": "[FAIL]"}


@click.command()
@click.option("--spark", "start_spark", is_flag=True, help="Start Spark too, and run SELECT 1.")
@common_options
@pass_invocation
def doctor(invocation: Invocation, start_spark: bool) -> int:
    """Check this machine and this project, and report how to fix them.

    \b
    Example:
      tidegate doctor --spark
    """
    project: Workspace | ConfigError
    try:
        project = open_workspace(invocation)
    except ConfigError as error:
        project = error
    output = invocation.output()
    done = examine(project, bool(invocation.project or invocation.config), start_spark, output.note)
    output.show(done.document(), lambda: _lines(done))
    return done.exit_code


def _lines(done: DoctorReport) -> Iterator[str]:
    width = max(len(finding.name) for finding in done.findings)
    for finding in done.findings:
        yield f"{_TAGS[finding.status]} {finding.name:<{width}}  {finding.detail}".rstrip()
        if finding.fix:
            yield f"       fix: {finding.fix}"
    yield f"{plural(done.failed, 'problem')} to fix." if done.failed else "Everything that a run needs is here."
