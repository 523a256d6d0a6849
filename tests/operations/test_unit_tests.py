"""Each file of tests/cases/unit_tests is a project with unit tests, and what a person is told of them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.compiler.projects import write_project
from tests.projects import ProjectFolder
from tidegate.cli.commands.test import unit_test_lines
from tidegate.cli.main import run_cli
from tidegate.config import load_settings
from tidegate.errors import ProjectError, SelectionError
from tidegate.operations.unit_tests.runner import run_unit_tests
from tidegate.operations.unit_tests.unit_test_result import UnitTestResult

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

CASES = Path(__file__).parents[1] / "cases" / "unit_tests"
ORDERS = {
    "models/silver/orders.sql": "select cast(1 as bigint) as id",
    "models/silver/orders.yaml": "tests: [{name: one, expect: [{id: 1}]}]",
    "models/gold/total.sql": "select count(*) as n from silver.orders",
    "models/gold/total.yaml": "tests: [{name: none, expect: [{n: 0}]}, {name: wrong, expect: [{n: 1}]}]",
}


def run(root: Path, files: dict[str, str], spark: SparkSession, *select: str) -> tuple[UnitTestResult, ...]:
    return run_unit_tests(load_settings(write_project(root, files)), select, root=spark).results


@pytest.mark.parametrize("path", sorted(CASES.glob("*.txt")), ids=lambda path: path.stem)
def test_a_person_is_told_what_the_case_says(path: Path, tmp_path: Path, spark: SparkSession) -> None:
    parts = re.split(r"^--- (.*)\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    files = dict(zip(parts[::2], parts[1::2], strict=True))
    expected = files.pop("expect").splitlines()
    lines = [line for result in run(tmp_path, files, spark) for line in unit_test_lines(result)]
    assert [re.sub(r" \(\d+m?s\)$| \(\d+\.\ds\)$", "", line) for line in lines] == expected


def test_the_lake_is_neither_made_nor_touched(shop: ProjectFolder, spark: SparkSession) -> None:
    for path, text in ORDERS.items():
        shop.file(path, text)
    run_unit_tests(shop.settings, root=spark)
    assert not shop.settings.lake.catalog_path.exists()
    assert not shop.settings.lake.warehouse.exists()
    shop.run()
    heads = shop.catalog.head()
    results = run_unit_tests(shop.settings, root=spark).results
    assert [result.status for result in results] == ["passed", "failed", "passed"]
    assert shop.catalog.head() == heads
    assert shop.branches() == []
    assert spark.catalog.listTables() == []


def test_published_tables_lend_their_columns_and_never_their_rows(shop: ProjectFolder, spark: SparkSession) -> None:
    shop.file("landing/orders/a.csv", "id,name\n1,a\n2,b\n")
    shop.model("bronze.orders", "select * from {{ landing_zone('orders') }}", merge_strategy="append_only")
    shop.model("silver.names", "select * from bronze.orders")
    shop.run()
    shop.file(
        "tests/a.yaml",
        "tests: [{model: silver.names, name: a, given: {bronze.orders: [{id: 7}]}, expect: [{name: null}]}]",
    )
    (result,) = run_unit_tests(shop.settings, root=spark).results
    assert result.status == "passed"
    assert result.actual_rows == 1


def test_models_are_selected_as_for_a_run(tmp_path: Path, spark: SparkSession) -> None:
    assert [r.name for r in run(tmp_path, ORDERS, spark, "silver.*")] == ["one"]
    assert [r.name for r in run(tmp_path, ORDERS, spark, "+gold.total")] == ["none", "wrong", "one"]
    with pytest.raises(SelectionError, match=r"gold\.ttal"):
        run(tmp_path, ORDERS, spark, "gold.ttal")


def test_each_result_is_told_as_it_ends(tmp_path: Path, spark: SparkSession) -> None:
    told: list[str] = []
    settings = load_settings(write_project(tmp_path, ORDERS))
    results = run_unit_tests(settings, on_result=lambda result: told.append(result.name), root=spark).results
    assert told == [result.name for result in results] == ["none", "wrong", "one"]


def test_a_result_says_all_that_a_program_needs(tmp_path: Path, spark: SparkSession) -> None:
    document = run(tmp_path, ORDERS, spark, "gold.total")[1].document()
    assert document.pop("duration_ms") >= 0
    assert document == {
        "model": "gold.total",
        "name": "wrong",
        "status": "failed",
        "file": "models/gold/total.yaml",
        "line": 1,
        "description": "",
        "columns": ("n",),
        "expected_rows": 1,
        "actual_rows": 1,
        "missing": ({"n": 1},),
        "unexpected": ({"n": 0},),
        "differing": (),
        "disordered": False,
        "error": None,
        "where": None,
        "remedy": None,
    }


def test_the_command_shows_each_test_and_ends_with_1_if_one_failed(
    shop: ProjectFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    for path, text in ORDERS.items():
        shop.file(path, text)
    project = ("--project", str(shop.root))
    assert run_cli(["test", *project]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.rpartition(" (")[0] for line in lines if line.startswith("[")] == [
        "[OK]   gold.total: none",
        "[FAIL] gold.total: wrong",
        "[OK]   silver.orders: one",
    ]
    assert lines[-1].startswith("3 tests: 2 passed, 1 failed in ")
    assert run_cli(["test", "silver.orders", "--json", *project]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["command"], document["status"]) == ("test", "success")
    assert [(test["name"], test["status"]) for test in document["tests"]] == [("one", "passed")]


def test_a_project_with_errors_is_not_tested(tmp_path: Path, spark: SparkSession) -> None:
    with pytest.raises(ProjectError, match="no test was run"):
        run(tmp_path, {**ORDERS, "models/gold/broken.sql": "select x from silver.orders"}, spark)
