"""`doctor`: what the machine and the project have, what they lack, and how to get it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

import click

from tidegate.amounts import plural
from tidegate.cli.context import Invocation, common_options, open_workspace, pass_invocation
from tidegate.errors import ConfigError
from tidegate.operations.doctor import Finding, check_machine, check_project, check_spark

__all__ = ["doctor"]

_TAGS = {"ok": "[OK]  ", "warn": "[WARN]", "fail": "[FAIL]"}


@click.command()
@click.option("--spark", "start_spark", is_flag=True, help="Start Spark too, and run SELECT 1.")
@common_options
@pass_invocation
def doctor(invocation: Invocation, start_spark: bool) -> int:
    """Check this machine and this project, and say how to fix them.

    \b
    Example:
      tidegate doctor --spark
    """
    findings = list(_examine(invocation, start_spark))
    failed = sum(finding.status == "fail" for finding in findings)

    def lines() -> Iterator[str]:
        width = max(len(finding.name) for finding in findings)
        for finding in findings:
            yield f"{_TAGS[finding.status]} {finding.name:<{width}}  {finding.detail}".rstrip()
            if finding.fix:
                yield f"       fix: {finding.fix}"
        yield f"{plural(failed, 'problem')} to fix." if failed else "Everything that a run needs is here."

    invocation.output().show(
        {"status": "error" if failed else "success", "checks": [asdict(finding) for finding in findings]}, lines
    )
    return 1 if failed else 0


def _examine(invocation: Invocation, start_spark: bool) -> Iterator[Finding]:
    yield from check_machine()
    workspace = None
    try:
        workspace = open_workspace(invocation)
    except ConfigError as error:
        problems = "".join(f"\n       - {problem}" for problem in error.problems)
        # Without a project, the machine can still be checked: that is no fault of it.
        status = "fail" if error.problems or invocation.project or invocation.config else "warn"
        yield Finding("project", status, f"{error.message}{problems}", error.remedy or "")
    if workspace is not None:
        yield Finding("project", "ok", f"{workspace.settings.project.name} in {workspace.settings.root}")
        yield from check_project(workspace)
    if start_spark:
        if workspace is None:
            yield Finding("spark", "fail", "not started: there is no project whose settings it could use")
        else:
            yield check_spark(workspace, invocation.output().note)
