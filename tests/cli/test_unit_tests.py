"""`tidegate test` where no Spark is needed: no tests, projects with errors; and its lines."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.cli.calling import Call
from tests.compiler.projects import write_project
from tidegate.cli.commands.test import summary_line, unit_test_lines
from tidegate.operations.unit_tests.unit_test_result import RowDifference, UnitTestResult


def test_a_project_without_tests_says_how_to_write_one(tidegate: Call, project: Path) -> None:
    write_project(project, {"models/silver/orders.sql": "select 1 as id"})
    told = tidegate("test")
    assert (told.code, told.err) == (0, "")
    assert told.out.startswith("No unit tests: write [[tests]] into a model's settings file, or tests/NAME.yaml.")
    assert tidegate("test", "--json").document["tests"] == []


def test_errors_of_the_project_are_told_instead(tidegate: Call, project: Path) -> None:
    tests = "tests: [{name: a, model: silver.order, expect: []}]"
    write_project(project, {"models/silver/orders.sql": "select 1 as id", "tests/a.yaml": tests})
    told = tidegate("test")
    assert told.code == 1
    assert "error[UnknownTestModel]: there is no model 'silver.order' that could be tested" in told.err
    assert "error: The project has errors; no test was run" in told.err
    assert tidegate("test", "--json").document["diagnostics"][0]["code"] == "UnknownTestModel"


def test_a_selection_of_nothing_is_told(tidegate: Call, project: Path) -> None:
    write_project(project, {"models/silver/orders.sql": "select 1 as id"})
    told = tidegate("test", "silver.ordes")
    assert told.code == 1
    assert "did you mean silver.orders?" in told.err


def result(status: str = "failed", **more: object) -> UnitTestResult:
    return UnitTestResult("gold.total", "a\ntest", status, 1234, "tests/a.yaml", 3, **more)  # type: ignore[arg-type]


def test_a_row_that_differs_is_shown_where_it_differs() -> None:
    pair = RowDifference({"id": 1, "name": None, "note": "x"}, {"id": 1, "name": "Ada", "note": "x"}, ("name",))
    shown = result(columns=("id", "name", "note"), expected_rows=1, actual_rows=1, differing=(pair,))
    assert list(unit_test_lines(shown)) == [
        r"[FAIL] gold.total: a\ntest (1.2s)",
        "       1 row different (expected 1 row, got 1)",
        "       where: tests/a.yaml:3",
        "          id  name        note",
        "       -  --  ----------  ----",
        "       ~   1  NULL → Ada  x",
        "       ~ expected → given",
    ]


def test_long_and_strange_values_stay_on_their_line() -> None:
    rows = ({"a": "x" * 100}, {"a": "line\nbreak"}, {"a": [1, None]})
    lines = list(unit_test_lines(result(columns=("a",), expected_rows=3, actual_rows=0, missing=rows)))
    assert lines[5:8] == [f"       -  {'x' * 39}…", r"       -  line\nbreak", "       -  [1, null]"]


def test_an_error_says_where_and_what_to_do() -> None:
    shown = result("error", error="the well is dry", where="models/a.sql:3", remedy="dig deeper", description="water")
    assert list(unit_test_lines(shown))[1:] == [
        "       water",
        "       the well is dry",
        "       where: models/a.sql:3",
        "       fix: dig deeper",
    ]


def test_the_last_line_counts() -> None:
    results = [result("passed"), result("passed"), result("failed"), result("error")]
    assert summary_line(results, 2.04) == "4 tests: 2 passed, 1 failed, 1 error in 2.0s"
    assert summary_line(results[:1], 0.5) == "1 test: 1 passed in 500ms"


def test_tests_that_are_not_there_need_no_spark(tidegate: Call, project: Path) -> None:
    before = "pyspark" in sys.modules
    tidegate("test")
    assert ("pyspark" in sys.modules) == before
