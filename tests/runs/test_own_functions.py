"""Checks that are functions of the project, in runs: at every gate, over batches, changed, broken, hiding values."""

from __future__ import annotations

from typing import Any

import pytest

from tests.projects import ProjectFolder, statuses
from tidegate.operations.check import check_project
from tidegate.operations.publish import publish_run
from tidegate.results import CheckResult
from tidegate.runs import RunResult
from tidegate.state import open_reader

pytestmark = pytest.mark.spark

SHORT = '''from pyspark.sql import Column
from pyspark.sql import functions as f


def short(column: Column, limit: int = 10) -> Column:
    """A text of few characters."""
    return f.length(column) <= limit
'''


def outcomes(result: RunResult) -> dict[str, tuple[str, Any]]:
    return {check.name: (check.status, check.value) for check in result.check_results}


def test_a_function_is_a_check_at_every_gate_and_its_change_is_noticed(shop: ProjectFolder) -> None:
    shop.file("checks/short.py", SHORT)
    shop.file(
        "models/silver/names.sql",
        "-- @merge_strategy: append_only\n-- @constraint: short(name, 3)\n-- @warning: short(name, 2)\n"
        "SELECT id, name FROM {{ landing_zone('names') }}\n",
    )
    shop.file("models/silver/names.toml", '[[checks]]\ntype = "short"\ncolumn = "name"\n')
    shop.file("landing/names/1.csv", "id,name\n1,ann\n2,bo\n3,\n")
    first = shop.run()
    assert first.exit_code == 0
    assert outcomes(first) == {
        "short(name, 3)": ("passed", 0),
        "short(name)": ("passed", 0),
        "short(name, 2)": ("warned", 1),
    }
    shop.file("landing/names/2.csv", "id,name\n4,dora\n5,eve\n")
    second = shop.run()
    failed = next(check for check in second.check_results if check.status == "failed")
    assert (failed.name, failed.value, failed.samples) == ("short(name, 3)", 1, ({"name": "dora"},))
    assert second.materializations[0].error == "constraint short(name, 3) failed: 1 row"
    assert len(shop.rows("silver.names")) == 3

    (shop.root / "landing/names/2.csv").unlink()
    shop.file("checks/short.py", SHORT.replace("<= limit", "<= limit - 8"))
    changed = shop.run()
    assert statuses(changed) == {"silver.names": "failed"}
    assert outcomes(changed)["short(name)"] == ("failed", 1)
    found = check_project(shop.settings, (), shop.spark)
    assert {(one.name, one.value) for one in found.results if one.status == "failed"} == {
        ("short(name, 3)", 2),
        ("short(name)", 1),
    }


@pytest.fixture(scope="module")
def judged(module_shop: ProjectFolder) -> RunResult:
    """A run whose checks break, or fail on values that are hidden."""
    shop = module_shop
    shop.file("checks/broken.py", "def broken(column):\n    return column.no_such_method()\n")
    shop.file("checks/number.py", "def number(column):\n    return column + 1\n")
    shop.file("checks/short.py", SHORT)
    shop.model("silver.a", "SELECT 1 AS id", constraint="broken(id)")
    shop.model("silver.b", "SELECT 1 AS id", audit="number(id)")
    shop.model("silver.c", "SELECT 1 AS id", audit="number(id) warn")
    shop.file(
        "models/silver/people.sql",
        "-- @constraint: short(name, 3)\n-- @audit: max(name, <, 'b')\n-- @audit: min(age, >, 50)\n"
        "SELECT 'dora' AS name, 44 AS age\n",
    )
    shop.file("models/silver/people.toml", '[columns.name]\ntags = ["pii"]\n[columns.age]\ntags = ["pii"]\n')
    return shop.run()


def test_a_function_that_breaks_blocks_and_says_where(judged: RunResult) -> None:
    errors = {m.model: m.error for m in judged.materializations}
    assert (errors["silver.a"] or "").startswith("constraint broken(id) could not run: checks/broken.py:2: ")
    assert (
        errors["silver.b"] == "audit number(id) could not run: checks/number.py:1: number gives int, not true or false"
    )
    assert judged.publish.tables == ("silver.c",)
    assert {check.status for check in judged.check_results if check.model != "silver.people"} == {"error"}


def test_values_of_hidden_columns_are_told_of_but_not_shown(judged: RunResult) -> None:
    checks = [check for check in judged.check_results if check.model == "silver.people"]
    assert {check.name: (check.status, check.value) for check in checks} == {
        "short(name, 3)": ("failed", 1),
        "max(name, <, b)": ("failed", "***"),
        "min(age, >, 50)": ("failed", "***"),
    }
    assert "dora" not in str(judged)
    assert "44" not in str([(check.value, check.samples, check.error) for check in checks])


def test_warnings_of_what_is_published_later_are_stored_with_its_run(shop: ProjectFolder) -> None:
    shop.model("silver.a", "SELECT 5 AS x", warning="min(x, <, 3)")
    shop.model("silver.b", "SELECT 5 AS x", audit="min(x, >, 3)")
    kept = shop.run(no_publish=True)
    assert outcomes(kept) == {"min(x, >, 3)": ("passed", 5)}
    heard: list[CheckResult] = []
    published = publish_run(
        shop.settings,
        kept.run_id,
        [lambda event: heard.extend(filter(None, [event.data.get("result")]))],
        shop.clock,
        shop.spark,
    )
    assert (published.exit_code, published.publish.tables) == (0, ("silver.a", "silver.b"))
    assert outcomes(published) == {"min(x, <, 3)": ("warned", 5)}
    assert [check.name for check in heard] == ["min(x, <, 3)"]
    with open_reader(shop.settings.state.url) as reader:
        (stored,) = reader.checks_of_model("silver.a")
    assert (stored.run_id, stored.status, stored.value) == (kept.run_id, "warned", 5)

    again = shop.run("silver.b", full_refresh=True, no_publish=True)
    shop.model("silver.b", "SELECT nope AS x", warning="min(x, <, 3)")
    told = publish_run(shop.settings, again.run_id, (), shop.clock, shop.spark)
    assert (told.exit_code, told.publish.tables, told.check_results) == (0, ("silver.b",), ())
    assert "the project has errors" in told.warnings[0]
