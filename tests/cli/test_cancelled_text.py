"""What a run says that an interrupt ended before it had a result."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.calling import Call


@pytest.fixture
def interrupted(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (project / "models" / "a").mkdir(parents=True)
    (project / "models" / "a" / "b.sql").write_text("SELECT 1 AS x")

    def interrupt(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tidegate.runs.lifecycle.make_plan", interrupt)
    return project


def test_an_interrupted_run_says_what_became_of_main_and_how_to_go_on(interrupted: Path, tidegate: Call) -> None:
    outcome = tidegate("run")
    assert outcome.code == 130
    lines = outcome.err.splitlines()
    assert "error: Cancelled, main is unchanged" in lines
    assert re.fullmatch(r"  fix: resume it: tidegate run --resume run-\S+", lines[-1])


def test_the_way_on_that_is_named_is_one(interrupted: Path, tidegate: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    remedy = tidegate("run", "--json").document["remedy"]
    again = tidegate(*remedy.partition("tidegate ")[2].split())
    assert again.code == 130  # taken up, and interrupted again
    assert "main is unchanged" in again.err


def test_other_commands_say_no_more_than_that(
    interrupted: Path, tidegate: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tidegate.operations.workspace.Workspace.compile_with_sources", interrupt)
    assert tidegate("compile").err == "error: Cancelled\n"
