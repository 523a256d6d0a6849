"""`test`: the unit tests of models, on rows that the tests give."""

from __future__ import annotations

import sys

import click

from tidegate.cli.context import Invocation, common_options, open_workspace, pass_invocation
from tidegate.cli.options import SelectingCommand, selection_options, variables_option
from tidegate.cli.unit_test_text import summary_line, unit_test_lines
from tidegate.operations.unit_tests.result import UnitTestResult
from tidegate.operations.unit_tests.run import run_unit_tests

__all__ = ["test"]


@click.command(cls=SelectingCommand)
@selection_options
@variables_option
@common_options
@pass_invocation
def test(invocation: Invocation, select: tuple[str, ...], exclude: tuple[str, ...], variables: dict[str, str]) -> int:
    """Run the unit tests of models on given rows; the lake is not touched.

    SELECT names models as for `run`: orders, +silver.orders, 'silver.*', tag:daily. Without it, all tests.
    Ends with 1 if a test failed or could not run.

    \b
    Example:
      tidegate test silver.orders
    """
    workspace = open_workspace(invocation)
    output = invocation.output()
    paint = invocation.painter(sys.stdout)

    def tell(result: UnitTestResult) -> None:
        shown = not invocation.json and not (invocation.quiet and result.status == "passed")
        for line in unit_test_lines(result, paint) if shown else ():
            print(line, flush=True)

    report = run_unit_tests(workspace.settings, select, variables, tell, output.note, exclude=exclude)
    output.show(report.document(), lambda: [summary_line(report.results, report.seconds)])
    return report.exit_code
