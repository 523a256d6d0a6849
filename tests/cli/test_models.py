"""ls and show: the project as it is on disk, with what is known of its runs."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli.calling import Call
from tidegate.state import ModelRunRecord, QualityRecord, open_state

NOON = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)


@pytest.fixture
def models(project: Path) -> Path:
    folder = project / "models"
    (folder / "silver").mkdir(parents=True)
    (folder / "gold").mkdir()
    (folder / "silver" / "orders.sql").write_text(
        "-- @description: All orders.\n-- @merge_strategy: incremental\n-- @unique_key: id\n-- @tags: daily, core\n"
        "SELECT 1 AS id, 5 AS amount\n"
    )
    (folder / "gold" / "revenue.sql").write_text("SELECT sum(amount) AS revenue FROM silver.orders\n")
    return folder


def test_models_are_listed_with_their_last_status(models: Path, project: Path, tidegate: Call) -> None:
    with open_state(f"sqlite:///{project}/.tidegate/state.db") as store:
        store.add_model_run(
            ModelRunRecord("silver.orders", "completed", "incremental", "full", "", run_id="run-1", finished_at=NOON)
        )
    _header, _rule, gold, silver = tidegate("ls").out.splitlines()
    assert gold.split() == ["gold.revenue", "full_refresh", "silver.orders", "-", "never", "run"]
    assert silver.split() == ["silver.orders", "incremental", "-", "daily,", "core", "completed"]
    listed = tidegate("ls", "--json").document["models"]
    assert [(m["model"], m["upstreams"], m["last_run"]) for m in listed] == [
        ("gold.revenue", ["silver.orders"], None),
        ("silver.orders", [], "run-1"),
    ]


def test_one_model_is_shown_with_neighbours_runs_and_checks(models: Path, project: Path, tidegate: Call) -> None:
    with open_state(f"sqlite:///{project}/.tidegate/state.db") as store:
        store.add_model_run(
            ModelRunRecord("silver.orders", "completed", "incremental", "full", "", run_id="run-1", finished_at=NOON)
        )
        store.add_check(
            QualityRecord("silver.orders", "no_gaps", "audit", "error", "failed", 2, "", 1, run_id="run-1", at=NOON)
        )
        store.add_model_run(
            ModelRunRecord("silver.orders", "skipped", "incremental", "skip", "same", run_id="run-2", finished_at=NOON)
        )
    out = tidegate("show", "silver.orders").out
    assert "All orders." in out
    assert "downstreams  gold.revenue" in out
    assert "unique_key   id" in out
    assert "not published yet" in out
    document = tidegate("show", "shop.silver.orders", "--json").document
    assert [run["run_id"] for run in document["runs"]] == ["run-2", "run-1"]
    assert [check["name"] for check in document["check_results"]] == ["no_gaps"]
    assert document["table"] is None


def test_a_misspelt_model_is_told_with_the_nearest(models: Path, tidegate: Call) -> None:
    told = tidegate("show", "silver.order")
    assert told.code == 1
    assert "There is no model 'silver.order'" in told.err
    assert "Did you mean silver.orders?" in told.err
    assert tidegate("show", "ordres").code == 1
    assert tidegate("show", "orders").out == tidegate("show", "silver.orders").out


def test_looking_at_a_broken_project_lists_it_and_says_so(models: Path, tidegate: Call) -> None:
    (models / "gold" / "broken.sql").write_text("SELECT * FROM silver.ordres\n")
    told = tidegate("ls")
    assert told.code == 0
    assert "silver.orders" in told.out
    assert "1 error" in told.err
