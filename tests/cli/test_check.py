"""check: what can be told without a JVM; the answers themselves are those of runs/checkup."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.cli.calling import Call
from tests.cli.test_plan import publish
from tidegate.state import QualityRecord, open_state

NOON = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)


@pytest.fixture
def orders(project: Path) -> Path:
    file = project / "models" / "silver" / "orders.sql"
    file.parent.mkdir(parents=True)
    file.write_text("SELECT 1 AS id\n")
    return file


def test_a_project_without_checks_is_not_read(orders: Path, tidegate: Call) -> None:
    told = tidegate("check")
    assert (told.code, told.out) == (0, "0 checks of 0 models\n")


def test_a_table_that_is_not_there_is_told(orders: Path, tidegate: Call) -> None:
    orders.write_text("-- @audit: row_count(>, 0)\nSELECT 1 AS id\n")
    told = tidegate("check")
    assert (told.code, told.out.splitlines()[0]) == (0, "[WARN] silver.orders: not published yet, so not checked")
    assert tidegate("check", "--json").document["missing"] == ["silver.orders"]


def test_a_wrong_check_is_an_error_of_the_project(orders: Path, tidegate: Call) -> None:
    orders.write_text("-- @audit: row_cuont(>, 0)\nSELECT 1 AS id\n")
    told = tidegate("check")
    assert told.code != 0
    assert "row_count" in told.err


def test_a_plan_says_that_changed_checks_are_run_again(project: Path, orders: Path, tidegate: Call) -> None:
    publish(project, "run-1", {"silver.orders": (11,)})
    orders.write_text("-- @audit: row_count(>, 0)\nSELECT 1 AS id\n")
    told = tidegate("plan").out
    assert "unchanged; checks changed: run again" in told
    assert "Nothing would run" not in told


def test_a_model_is_shown_with_the_history_of_its_checks(project: Path, orders: Path, tidegate: Call) -> None:
    orders.write_text("-- @audit: row_count(>, 0)\n-- @warning: min(id, <, 9)\nSELECT 1 AS id\n")
    with open_state(f"sqlite:///{project}/.tidegate/state.db") as store:
        for number, (status, value) in enumerate([("passed", 3), ("failed", 0), ("passed", 2), ("passed", 5)]):
            record = QualityRecord(
                "silver.orders", "row_count(>, 0)", "before_publish", "error", status, value,
                "rows > 0", 1, kind="audit", run_id=f"run-{number}", at=NOON + timedelta(days=number),
            )  # fmt: skip
            store.add_check(record)
    table = [line.split("  ") for line in tidegate("show", "silver.orders").out.splitlines() if "(" in line]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in table]
    assert [
        "row_count(>, 0)",
        "before_publish",
        "error",
        "passed",
        "5",
        "2026-11-18 12:00:00",
        "2 passed, 1 failed",
    ] in cells
    assert ["min(id, <, 9)", "after_publish", "warn", "not run", "-", "-", "-"] in cells
    document = tidegate("show", "silver.orders", "--json").document
    assert [check["name"] for check in document["checks"]] == ["row_count(>, 0)", "min(id, <, 9)"]
    assert [check["value"] for check in document["check_results"]] == [5, 2, 0, 3]
