"""A source that does not answer: commands do what they can without it, and report what they could not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.calling import Call
from tests.cli.test_plan import publish
from tidegate.config import load_settings
from tidegate.lake import open_catalog, view

DOWN = (
    '[project]\nname = "shop"\n[sources.crm]\nkind = "database"\nurl = "postgresql://postgres@127.0.0.1:1/postgres"\n'
)
MODELS = {
    "silver/first": "SELECT 1 AS id\n",
    "silver/people": "SELECT id FROM crm.public.people\n",
    "gold/people": "SELECT count(*) AS n FROM silver.people\n",
    "gold/first": "SELECT id FROM silver.first\n",
}
KEYS = {"version", "command", "steps", "notes"}


@pytest.fixture
def shop(project: Path) -> Path:
    (project / "tidegate.toml").write_text(DOWN)
    for name, sql in MODELS.items():
        write(project, name, sql)
    return project


def write(project: Path, name: str, sql: str) -> None:
    file = project / "models" / f"{name}.sql"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(sql)


def test_models_that_do_not_read_the_source_are_planned(shop: Path, tidegate: Call) -> None:
    told = tidegate("plan", "--json")
    steps = {step["model"]: step for step in told.document["steps"]}
    assert (told.code, set(told.document)) == (2, KEYS)
    assert {name: step["run_type"] for name, step in steps.items()} == {
        "gold.first": "backfill",
        "gold.people": None,
        "silver.first": "backfill",
        "silver.people": None,
    }
    assert not any(step["tentative"] for step in steps.values())
    assert steps["silver.people"]["reason"].startswith("source 'crm': the database cannot be reached")
    assert "; fix: " in steps["silver.people"]["reason"]
    assert steps["gold.people"]["reason"] == "silver.people, which it reads, cannot be planned"
    assert {frozenset(step) for step in steps.values()} == {frozenset(steps["gold.first"])}


def test_a_plan_shows_what_it_cannot_plan_and_what_to_do(shop: Path, tidegate: Call) -> None:
    told = tidegate("plan")
    lines = [line.split() for line in told.out.splitlines()]
    assert [line[:5] for line in lines if "silver.people" in line[:2]] == [
        ["1", "silver.people", "full_refresh", "not", "plannable"]
    ]
    assert told.out.splitlines()[-1] == "2 of 4 models would run; 2 cannot be planned"
    assert "Not planned: silver.people, because source 'crm': the database cannot be reached" in told.err
    assert "fix: " in told.err


def test_a_missing_metadata_file_is_reported_also_where_a_source_is_down(shop: Path, tidegate: Call) -> None:
    write(shop, "silver/people", "SELECT 1 AS id\n")
    publish(shop, "run-1", {"silver.people": (11,)})
    write(shop, "silver/people", MODELS["silver/people"])
    (head,) = open_catalog(load_settings(shop)).head().values()
    Path(head.location.removeprefix("file:")).unlink()
    view._read.cache_clear()  # as in a process that did not read the file before
    told = tidegate("plan", "--json", "silver.people")
    (step,) = told.document["steps"]
    assert step["reason"].startswith("shop.silver.people: a metadata file")
    assert "; fix: restore the file" in step["reason"]
    assert "Not planned: silver.people, because shop.silver.people: a metadata file" in told.err
    assert "source 'crm'" not in told.err


def test_a_selection_that_does_not_read_the_source_is_planned_whole(shop: Path, tidegate: Call) -> None:
    told = tidegate("plan", "+gold.first")
    assert (told.code, told.out.splitlines()[-1]) == (0, "2 of 2 models would run")


def test_a_plan_of_which_no_step_can_be_planned_could_not_be_made(shop: Path, tidegate: Call) -> None:
    assert tidegate("plan", "silver.people").code == 1


def test_a_plan_explains_the_steps_that_it_can(shop: Path, tidegate: Call) -> None:
    told = tidegate("plan", "--explain")
    assert told.code == 2
    assert "-- silver.people: not plannable, source 'crm'" in told.out


def test_other_errors_of_the_project_are_told_with_that_of_the_source(shop: Path, tidegate: Call) -> None:
    write(shop, "gold/bad", "SELECT * FROM silver.ordres\n")
    for command in ("plan", "check", "test"):
        told = tidegate(command, "--json")
        assert told.code == 1
        assert {one["code"] for one in told.document["diagnostics"]} == {"UnknownDependency", "SourceUnavailable"}


def test_a_check_that_reads_the_source_is_reported_as_not_run(shop: Path, tidegate: Call) -> None:
    """No other check is declared, so Spark need not start."""
    quality = shop / "models" / "silver" / "limits" / "tests" / "quality"
    quality.mkdir(parents=True)
    (quality.parents[1] / "pipeline.sql").write_text("SELECT 3L AS n\n")
    (quality / "within.sql").write_text("SELECT n FROM {{ this }} JOIN crm.public.limits ON n > most\n")
    publish(shop, "run-1", {"silver.limits": (11,)})
    told = tidegate("check")
    assert told.code == 1
    assert "[FAIL] silver.limits: test within could not run: source 'crm': the database cannot be reached" in told.out
    assert told.out.splitlines()[-1] == "1 check of 1 model: 1 error"
    document = tidegate("check", "--json").document
    (result,) = document["check_results"]
    assert (document["status"], result["status"]) == ("failed", "error")


def test_a_unit_test_of_a_model_that_reads_the_source_is_reported_as_not_run(shop: Path, tidegate: Call) -> None:
    """What types the rows of the source have is not known, nor those of a table that was never built from them."""
    (shop / "models" / "silver" / "people.yaml").write_text(
        "tests: [{name: one, given: {crm.public.people: [{id: 1}]}, expect: [{id: 1}]}]"
    )
    (shop / "models" / "gold" / "people.yaml").write_text(
        "tests: [{name: none, given: {silver.people: [{id: 1}]}, expect: [{n: 1}]}]"
    )
    told = tidegate("test", "--json")
    assert (told.code, told.document["status"]) == (1, "failed")
    found = {test["model"]: test for test in told.document["tests"]}
    assert {name: test["status"] for name, test in found.items()} == {"gold.people": "error", "silver.people": "error"}
    assert all("source 'crm': the database cannot be reached" in test["error"] for test in found.values())
    assert all(test["remedy"] for test in found.values())
    assert "[ERROR] silver.people: one" in tidegate("test").out
