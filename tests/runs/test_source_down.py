"""A source that does not answer: tables that do not need it are checked, tested and published with their warnings."""

from __future__ import annotations

import pytest

from tests.projects import ProjectFolder
from tidegate.operations.check import check_project
from tidegate.operations.publish import publish_run
from tidegate.operations.unit_tests.runner import run_unit_tests

pytestmark = pytest.mark.spark

DOWN = '[sources.crm]\nkind = "database"\nurl = "postgresql://postgres@127.0.0.1:1/postgres"\n'


def lose_source(shop: ProjectFolder) -> None:
    file = shop.root / "tidegate.toml"
    file.write_text(f"{file.read_text()}\n{DOWN}")


def test_all_checks_that_do_not_read_the_source_are_run(shop: ProjectFolder) -> None:
    shop.model("silver.first", "SELECT 1 AS id", audit="row_count(=, 1)")
    shop.model("silver.people", "SELECT 2 AS id", audit="row_count(=, 1)")
    assert shop.run().exit_code == 0
    lose_source(shop)
    shop.model("silver.people", "SELECT id FROM crm.public.people", audit="row_count(=, 1)")
    within = "SELECT id FROM {{ this }} JOIN crm.public.limits ON id > most\n"
    shop.file("models/silver/first/tests/quality/within.sql", within)
    found = check_project(shop.settings, (), shop.spark)
    assert sorted((one.model, one.name, one.status) for one in found.results) == [
        ("silver.first", "row_count(=, 1)", "passed"),
        ("silver.first", "within", "error"),
        ("silver.people", "row_count(=, 1)", "passed"),
    ]
    assert not found.passed


def test_unit_tests_that_do_not_need_the_source_are_run(shop: ProjectFolder) -> None:
    lose_source(shop)
    shop.model("silver.first", "SELECT 1 AS id")
    shop.model("silver.people", "SELECT id FROM crm.public.people")
    given = "given: {crm.public.people: [{id: 1}]}, "
    for model, rows in {"first": "", "people": given}.items():
        shop.file(f"models/silver/{model}.yaml", f"tests: [{{name: one, {rows}expect: [{{id: 1}}]}}]")
    results = run_unit_tests(shop.settings, root=shop.spark).results
    assert {result.model: result.status for result in results} == {"silver.first": "passed", "silver.people": "error"}


def test_warnings_that_do_not_read_the_source_are_checked_after_a_publish(shop: ProjectFolder) -> None:
    shop.model("silver.first", "SELECT 1 AS id", warning="row_count(=, 1)")
    kept = shop.run(no_publish=True)
    lose_source(shop)
    shop.model("silver.people", "SELECT id FROM crm.public.people")
    result = publish_run(shop.settings, kept.run_id, root=shop.spark)
    assert (result.status, result.publish.tables) == ("success", ("silver.first",))
    assert [(one.name, one.status) for one in result.check_results] == [("row_count(=, 1)", "passed")]
    assert result.warnings == ()
