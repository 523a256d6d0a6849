"""`test`: the unit tests of models, on the rows that the tests give."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from tidegate.amounts import duration, plural
from tidegate.cli.invocation import Invocation, common_options, open_workspace, pass_invocation, worker_option
from tidegate.cli.shared_options import SelectingCommand, selection_options, variables_option
from tidegate.cli.terminal import Paint, TextTable, clean, plain
from tidegate.jsontext import json_text, json_value
from tidegate.operations.unit_tests.runner import run_unit_tests
from tidegate.operations.unit_tests.unit_test_result import UnitTestResult

__all__ = ["summary_line", "test", "unit_test_lines"]


@click.command(cls=SelectingCommand)
@selection_options
@variables_option
@worker_option
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

    def show(result: UnitTestResult) -> None:
        visible = not invocation.json and not (invocation.quiet and result.status == "passed")
        for line in unit_test_lines(result, paint) if visible else ():
            print(line, flush=True)

    report = run_unit_tests(workspace.settings, select, variables, show, output.note, exclude=exclude)
    output.show(report.document(), lambda: [summary_line(report.results, report.seconds)])
    return report.exit_code


_TAGS = {"passed": ("[OK]", "help"), "failed": ("[FAIL]", "error"), "error": ("[ERROR]", "error")}
_INDENT = " " * 7
_MOST_SHOWN = 10
_WIDEST = 40
_LEGEND = {"-": "- expected, and missing", "+": "+ given, and not expected", "~": "~ expected → given"}


def unit_test_lines(result: UnitTestResult, paint: Paint = plain) -> Iterator[str]:
    tag, role = _TAGS[result.status]
    yield f"{paint(f'{tag:<6}', role)} {result.model}: {clean(result.name)} ({duration(result.duration_ms)})"
    if result.status == "passed":
        return
    if result.description:
        yield f"{_INDENT}{clean(result.description)}"
    if result.status == "error":
        yield from _error_lines(result)
        return
    yield f"{_INDENT}{_summary(result)}"
    yield f"{_INDENT}where: {result.file}:{result.line}"
    yield from (f"{_INDENT}{line}".rstrip() for line in _table(result))


def summary_line(results: Sequence[UnitTestResult], seconds: float) -> str:
    if not results:
        return "No unit tests: write [[tests]] into a model's settings file, or tests/NAME.yaml."
    counts = Counter(result.status for result in results)
    parts = [f"{counts['passed']} passed"]
    parts += [f"{counts['failed']} failed"] if counts["failed"] else []
    parts += [plural(counts["error"], "error")] if counts["error"] else []
    return f"{plural(len(results), 'test')}: {', '.join(parts)} in {duration(round(seconds * 1000))}"


def _error_lines(result: UnitTestResult) -> Iterator[str]:
    for line in (result.error or "").splitlines():
        yield f"{_INDENT}{clean(line)}"
    yield f"{_INDENT}where: {result.where or f'{result.file}:{result.line}'}"
    if result.remedy:
        yield f"{_INDENT}fix: {result.remedy}"


def _summary(result: UnitTestResult) -> str:
    if result.disordered:
        return "all rows are there, but in another order"
    counts = (("missing", result.missing), ("unexpected", result.unexpected), ("different", result.differing))
    summary = ", ".join(f"{plural(len(rows), 'row')} {what}" for what, rows in counts if rows)
    return f"{summary} (expected {plural(result.expected_rows or 0, 'row')}, got {result.actual_rows})"


def _table(result: UnitTestResult) -> Iterator[str]:
    kinds: list[tuple[str, list[list[str]]]] = [
        ("~", [[_changed(pair.expected, pair.actual, name) for name in result.columns] for pair in result.differing]),
        ("-", [[_value(row[name]) for name in result.columns] for row in result.missing]),
        ("+", [[_value(row[name]) for name in result.columns] for row in result.unexpected]),
    ]
    rows = [[sign, *row] for sign, different in kinds for row in different[:_MOST_SHOWN]]
    yield from TextTable(("", *result.columns), rows, widest=2 * _WIDEST).lines()
    hidden = sum(max(0, len(different) - _MOST_SHOWN) for _, different in kinds)
    if hidden:
        yield f"… and {plural(hidden, 'row')} more; --json has all"
    yield "; ".join(_LEGEND[sign] for sign, different in kinds if different)


def _changed(expected: Mapping[str, Any], actual: Mapping[str, Any], name: str) -> str:
    one, other = _value(expected[name]), _value(actual[name])
    return one if one == other else f"{one} → {other}"


def _value(value: Any) -> str:
    if value is None:
        return "NULL"
    plain_value = json_value(value)
    text = clean(plain_value if isinstance(plain_value, str) else json_text(plain_value))
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"
