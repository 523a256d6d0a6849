from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.calling import Call
from tests.lake.test_missing_files import write_table
from tidegate.config import load_settings
from tidegate.lake import open_catalog
from tidegate.names import TableName


def findings(document: dict[str, object]) -> dict[str, dict[str, str]]:
    checks = document["checks"]
    assert isinstance(checks, list)
    return {check["name"]: check for check in checks}


def test_a_healthy_project_is_told_part_by_part(project: Path, tidegate: Call) -> None:
    told = tidegate("doctor", "--json")
    found = findings(told.document)
    assert {found[name]["status"] for name in ("python", "packages", "project", "lake", "state", "models")} == {"ok"}
    assert found["warehouse folder"]["status"] in ("ok", "warn")
    assert not (project / ".tidegate").exists()


def test_what_is_broken_is_told_with_a_fix_and_exits_1(
    project: Path, tidegate: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (project / ".tidegate").mkdir()
    (project / ".tidegate" / "state.db").write_text("nonsense" * 1000)
    (project / "models" / "silver").mkdir(parents=True)
    (project / "models" / "silver" / "orders.sql").write_text("SELECT * FROM silver.nowhere\n")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "none"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("tidegate.spark.java._packaged_runtime", lambda: None)
    told = tidegate("doctor")
    assert told.code == 1
    assert "[FAIL] java" in told.out
    assert "[FAIL] state" in told.out
    assert "[FAIL] models" in told.out
    assert "silver.nowhere" in told.out
    assert told.out.count("fix: ") >= 3
    assert told.out.splitlines()[-1] == "3 problems to fix."


def test_without_a_project_the_machine_is_still_checked(
    tmp_path: Path, tidegate: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = findings(tidegate("doctor", "--json").document)
    assert found["python"]["status"] == "ok"
    assert found["project"]["status"] == "warn"


def test_wrong_settings_are_all_listed(project: Path, tidegate: Call) -> None:
    (project / "tidegate.toml").write_text("[project]\nnmae = 'x'\n[rnu]\n")
    told = tidegate("doctor")
    assert told.code == 1
    assert "nmae" in told.out
    assert "rnu" in told.out


def test_files_that_main_refers_to_and_that_are_gone_are_found(project: Path, tidegate: Call) -> None:
    settings = load_settings(project)
    catalog = open_catalog(settings)
    catalog.create_branch("begins-the-warehouse")
    table = TableName("shop", "silver", "orders")
    catalog.create_namespace("main", table)
    catalog.restore("main", table, write_table(settings.lake.warehouse))
    assert "every file of 1 table on main is there" in tidegate("doctor").out
    next(settings.lake.warehouse.rglob("*.parquet")).unlink()
    outcome = tidegate("doctor")
    assert outcome.code == 1
    assert "silver.orders: a data file of snapshot" in outcome.out
    assert "fix: restore the file from a backup of the warehouse, or rebuild the table" in outcome.out


def test_the_walls_of_the_sandbox_are_listed(project: Path, tidegate: Call) -> None:
    found = findings(tidegate("doctor", "--json").document)["sandbox"]
    assert found["status"] == "ok"
    assert "no new privileges" in found["detail"]
