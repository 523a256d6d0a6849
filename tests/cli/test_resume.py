"""`run --resume` and `--idempotency-key` as a person meets them, where no JVM is needed."""

from __future__ import annotations

import socket
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli.calling import Call
from tests.cli.test_plan import publish
from tests.runs.test_register import dead
from tidegate.config import load_settings
from tidegate.lake import open_catalog
from tidegate.runs.clock import SystemClock
from tidegate.runs.options import RunOptions
from tidegate.runs.register import RegisteredRun, register_run
from tidegate.state import ModelRunRecord, ProgressEntry, QualityRecord, open_state


@pytest.fixture
def idle(project: Path) -> Path:
    """Two models that are up to date."""
    layer = project / "models" / "silver"
    layer.mkdir(parents=True)
    (layer / "a.sql").write_text("SELECT 1 AS amount\n")
    (layer / "b.sql").write_text("SELECT amount FROM silver.a\n")
    publish(project, "run-1", {"silver.a": (1,), "silver.b": (2,)})
    return project


def interrupt(project: Path, branch: bool = True, **options: object) -> str:
    """A run whose process is gone."""
    settings = load_settings(project)
    with open_state(settings.state.url) as store:
        begun = register_run(store, settings, RunOptions(**options), SystemClock())  # type: ignore[arg-type]
        assert isinstance(begun, RegisteredRun)
        run = begun.record
        assert store.take_over(run, replace(run, status="running", pid=dead(), host=socket.gethostname()))
    if branch:
        open_catalog(settings).create_branch(run.run_id)
    return run.run_id


def test_what_the_run_was_asked_for_is_not_asked_for_again(idle: Path, tidegate: Call) -> None:
    told = tidegate("run", "silver.a", "--resume-latest", "--var", "x=1", "--no-publish")
    assert told.code != 0
    assert "leave out SELECT, --var, --no-publish, or start a new run" in told.err
    assert "leave out --resume-latest" in tidegate("run", "--resume", "run-1", "--resume-latest").err
    assert "leave out --idempotency-key" in tidegate("run", "--resume", "run-1", "--idempotency-key", "k").err


def test_a_run_that_is_not_there_is_told_with_the_nearest(idle: Path, tidegate: Call) -> None:
    told = tidegate("run", "--resume", "run-7")
    assert (told.code, "There is no run 'run-7'" in told.err) == (1, True)
    assert "There is no run yet" in tidegate("run", "--resume-latest").err


def test_a_resumed_run_that_has_nothing_left_to_do_leaves_no_branch(idle: Path, tidegate: Call) -> None:
    run_id = interrupt(idle)
    told = tidegate("run", "--resume-latest")
    assert (told.code, told.err) == (0, "")
    assert told.out.splitlines()[0] == f"Resuming 2 models on {run_id}"
    assert open_catalog(load_settings(idle)).list_branches() == ()
    document = tidegate("run", "--resume", run_id, "--json").document
    assert (document["run_id"], document["repeated"], document["resumed_from"]) == (run_id, True, run_id)
    assert (document["resumed"], document["resumes"], document["status"]) == (True, 1, "skipped")
    assert tidegate("run", "--resume", run_id).out == f"{run_id} has succeeded already: nothing was run.\n"


def test_an_interrupted_run_is_told_by_the_next_one_and_in_the_history(idle: Path, tidegate: Call) -> None:
    run_id = interrupt(idle, branch=False)
    hint = f"tidegate run --resume {run_id}"
    assert tidegate("history").out.splitlines()[-1] == f"Go on with the one that was interrupted: {hint}"
    assert tidegate("run").out.splitlines()[0] == f"{run_id} was interrupted; to resume it: {hint}"
    assert "interrupted" not in tidegate("run").out
    assert "Go on" not in tidegate("history").out


def test_a_run_that_lives_is_not_resumed(idle: Path, tidegate: Call) -> None:
    settings = load_settings(idle)
    with open_state(settings.state.url) as store:
        register_run(store, settings, RunOptions(), SystemClock())
    told = tidegate("run", "--resume-latest")
    assert (told.code, told.out) == (1, "")
    assert "is at work: process " in told.err
    assert "fix: Wait for it, or end it with: tidegate cancel run-" in told.err


def test_the_same_key_gives_the_same_result_again(idle: Path, tidegate: Call) -> None:
    first = tidegate("run", "--idempotency-key", "k", "--json").document
    assert (first["idempotency_key"], first["repeated"]) == ("k", False)
    again = tidegate("run", "--idempotency-key", "k", "--json")
    assert (again.code, again.document) == (0, {**first, "repeated": True})
    told = tidegate("run", "--idempotency-key", "k")
    expected = f"{first['run_id']} has succeeded already for the idempotency key 'k': nothing was run.\n"
    assert (told.code, told.out) == (0, expected)
    other = tidegate("run", "silver.a", "--idempotency-key", "k")
    assert other.code == 1
    assert f"belongs to another request, that of run {first['run_id']} (not the same: select)" in other.err
    assert len(tidegate("history", "--json").document["runs"]) == 1


def test_a_secret_variable_may_be_given_again_and_no_other(idle: Path, tidegate: Call) -> None:
    run_id = interrupt(idle, vars={"api_key": "t0ken-of-mine"})
    told = tidegate("run", "--resume-latest")
    assert told.code == 1
    assert f"fix: Give it again: tidegate run --resume {run_id} --var api_key=…" in told.err
    assert "leave out --var" in tidegate("run", "--resume-latest", "--var", "x=1", "--var", "api_key=1").err
    assert tidegate("run", "--resume-latest", "--var", "api_key=t0ken-of-mine").code == 0
    assert "t0ken-of-mine" not in tidegate("history", "--json").out + tidegate("logs", "--json").out


def test_what_an_earlier_try_built_is_in_the_result_as_it_was_built(idle: Path, tidegate: Call) -> None:
    run_id, at = interrupt(idle, branch=False), datetime(2026, 11, 15, tzinfo=UTC)
    with open_state(load_settings(idle).state.url) as store:
        built = ModelRunRecord(
            "silver.a", "completed", "full_refresh", "backfill", "first run", 7, run_id=run_id, finished_at=at
        )
        store.add_model_run(built)
        store.add_check(
            QualityRecord("silver.a", "row_count", "audit", "error", "passed", 7, "> 0", 5, run_id=run_id, at=at)
        )
        store.add_progress(ProgressEntry(run_id, "shop.silver.a", at))
    document = tidegate("run", "--resume-latest", "--json").document
    first, second = document["materializations"]
    assert (first["status"], first["run_type"], first["rows_written"]) == ("completed", "backfill", 7)
    assert (second["model"], second["status"], second["rows_written"]) == ("silver.b", "skipped", 0)
    assert [(check["model"], check["value"]) for check in document["check_results"]] == [("silver.a", 7)]
    assert document["rows_written"] == 7
