"""What is said of a table that its checks keep from being published."""

from __future__ import annotations

from dataclasses import replace

from tidegate.checks.check_values import Check, Stage
from tidegate.checks.parsing import parse_call
from tidegate.problems import Place
from tidegate.results import CheckResult
from tidegate.runs.checks import failure_of

PLACE = Place("models/silver/orders.sql", 4, 17)
TEXT = "compare(day, >, 2026-13-01)"
CHECK = Check(TEXT, Stage.BEFORE_WRITE, PLACE, parse_call(TEXT)[0])
BROKEN = CheckResult(
    "silver.orders", TEXT, "before_write", "error", "error", None, "", 0, error="'2026-13-01' is not a date"
)


def test_a_check_that_cannot_run_is_what_to_change() -> None:
    failure = failure_of([BROKEN], [CHECK])
    assert failure is not None
    assert failure.where == "models/silver/orders.sql:4"
    assert failure.remedy is not None
    assert failure.remedy.startswith("Change the check: correct models/silver/orders.sql:4")


def test_what_the_author_of_a_check_says_goes_first() -> None:
    failure = failure_of([replace(BROKEN, remediation="Ask Ada.")], [CHECK])
    assert failure is not None
    assert failure.remedy == "Ask Ada."


def test_rows_that_break_a_rule_are_no_fault_of_the_check() -> None:
    failure = failure_of([replace(BROKEN, status="failed", value=3, unit="row", error=None)], [CHECK])
    assert failure is not None
    assert failure.remedy is None
