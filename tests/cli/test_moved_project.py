"""A project that was moved or copied with its lake: refused at once, before Spark is started."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.calling import Call
from tidegate.config import load_settings
from tidegate.lake import open_catalog

COMMANDS = [
    ["run"],
    ["plan"],
    ["compile"],
    ["sql", "SELECT 1 AS x"],
    ["preview", "a.b"],
    ["profile", "a.b"],
    ["check"],
    ["diff", "run-1"],
    ["branches"],
    ["maintain"],
    ["doctor"],
]


@pytest.fixture
def copy(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (project / "models" / "a").mkdir(parents=True)
    (project / "models" / "a" / "b.sql").write_text("SELECT 1 AS x")
    open_catalog(load_settings(project)).create_branch("begins-the-warehouse")
    there = project.parent / "copy"
    shutil.copytree(project, there)
    monkeypatch.chdir(there)
    return there


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_copied_project_is_refused_before_spark_is_started(
    command: list[str], copy: Path, project: Path, tidegate: Call
) -> None:
    outcome = tidegate(*command)
    text = outcome.out + outcome.err
    assert outcome.code == 1, text
    assert f"was moved or copied here from {project / '.tidegate' / 'warehouse'}" in text
    assert f"move it back to {project / '.tidegate' / 'warehouse'}" in text
    assert "rows of landing files that were archived, deleted or replaced since they were read do not come back" in text
    assert not (copy / ".tidegate" / "logs").exists()


def test_a_moved_run_is_recorded_as_failed_with_its_kind(copy: Path, tidegate: Call) -> None:
    document = tidegate("run", "--json").document
    assert (document["status"], document["failure_kind"]) == ("failed", "QueryRejected")


def test_a_copy_without_its_lake_is_a_new_project(copy: Path, tidegate: Call) -> None:
    shutil.rmtree(copy / ".tidegate")
    assert tidegate("plan").code == 0
