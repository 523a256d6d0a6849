"""history, logs, branches: what they tell of a project, without a JVM."""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.cli.calling import Call
from tidegate.lake import EmbeddedCatalog
from tidegate.state import EventRecord, ModelRunRecord, QualityRecord, RunRecord, StateStore, open_state

NOON = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)


def state_of(project: Path) -> StateStore:
    return open_state(f"sqlite:///{project}/.tidegate/state.db")


def start(store: StateStore, run_id: str, pid: int | None = None, minutes: int = 0) -> None:
    at = NOON + timedelta(minutes=minutes)
    store.start_run(RunRecord(run_id, "shop", "run", run_id, "run", at, "running", pid=pid, host=socket.gethostname()))


def finish(store: StateStore, run_id: str) -> None:
    result = {"materializations": [{}, {}], "publish": {"mode": "run", "tables": ["silver.orders"]}}
    store.finish_run(
        run_id, "partial", finished_at=NOON, duration_ms=2100, rows_written=7, result=result, error="one failed\nlong"
    )


def test_a_project_without_runs_says_so_and_stays_untouched(project: Path, tidegate: Call) -> None:
    assert "No run yet" in tidegate("history").out
    assert tidegate("history", "--json").document["runs"] == []
    assert "No branches" in tidegate("branches").out
    assert tidegate("logs").code == 1
    assert not (project / ".tidegate").exists()


def test_history_lists_runs_newest_first(project: Path, tidegate: Call) -> None:
    with state_of(project) as store:
        start(store, "run-1")
        finish(store, "run-1")
        start(store, "run-2", pid=os.getpid(), minutes=5)
    _header, _rule, second, first = tidegate("history").out.splitlines()
    assert second.split()[:2] == ["run-2", "running"]
    assert first.split() == ["run-1", "partial", "2026-11-15", "12:00:00", "2.1s", "2", "7", "1", "one", "failed"]
    runs = tidegate("history", "--json", "--limit", "1").document["runs"]
    assert [(run["run_id"], run["status"], run["alive"]) for run in runs] == [("run-2", "running", True)]


def test_a_run_whose_process_is_gone_is_shown_as_interrupted(project: Path, tidegate: Call) -> None:
    with state_of(project) as store:
        start(store, "run-1", pid=2**22 + 1)
    told = tidegate("history").out
    assert "interrupted" in told
    assert "no heartbeat since 2026-11-15 12:00:00" in told
    assert tidegate("history", "--json").document["runs"][0]["alive"] is False
    assert "no heartbeat since 2026-11-15 12:00:00 UTC" in tidegate("logs", "run-1").out.splitlines()


def test_a_run_elsewhere_is_alive_by_its_heartbeat(project: Path, tidegate: Call) -> None:
    with state_of(project) as store:
        run = RunRecord("run-1", "shop", "run", "run-1", "run", NOON, "running", pid=1, host="elsewhere")
        store.start_run(replace(run, heartbeat_at=datetime.now(UTC)))
        store.start_run(replace(run, run_id="run-2", heartbeat_at=datetime.now(UTC) - timedelta(minutes=2)))
    runs = tidegate("history", "--json").document["runs"]
    assert [(run["run_id"], run["alive"]) for run in runs] == [("run-2", False), ("run-1", True)]


def test_logs_tell_the_events_of_a_run_in_order(project: Path, tidegate: Call) -> None:
    with state_of(project) as store:
        start(store, "run-1")
        store.add_event(EventRecord("run-1", NOON, "pipeline_start", None, {"models": 2}))
        done = {
            "status": "completed",
            "run_type": "full",
            "reason": "inputs changed",
            "rows_written": 3,
            "duration_ms": 9,
        }
        store.add_event(EventRecord("run-1", NOON, "after_model_run", "silver.orders", {"result": done}))
        bad = {"status": "failed", "severity": "error", "name": "no_gaps", "value": 2}
        store.add_event(EventRecord("run-1", NOON, "check_result", "silver.orders", {"result": bad}))
        store.add_event(EventRecord("run-1", NOON, "warning", None, {"message": "odd\x1b[31m"}))
        store.add_model_run(
            ModelRunRecord("silver.orders", "completed", "tracked", "full", "", run_id="run-1", finished_at=NOON)
        )
        store.add_check(
            QualityRecord("silver.orders", "no_gaps", "audit", "error", "failed", 2, "", 1, run_id="run-1", at=NOON)
        )
        finish(store, "run-1")
    assert tidegate("logs", "run-1").out.splitlines() == [
        "run-1  partial  run of shop  started 2026-11-15 12:00:00 UTC",
        "12:00:00.000  pipeline_start                     models=2",
        "12:00:00.000  after_model_run     silver.orders  completed, full, inputs changed, 3 rows, 9ms",
        "12:00:00.000  check_result        silver.orders  failed, no_gaps, value=2",
        "12:00:00.000  warning                            message=odd\\x1b[31m",
        "error: one failed",
        "  long",
        "1 model, 7 rows written, took 2.1s",
    ]
    document = tidegate("logs", "--json").document
    assert [event["seq"] for event in document["events"]] == [1, 2, 3, 4]
    assert document["check_results"][0]["name"] == "no_gaps"


def test_logs_show_the_phases_added_up_and_by_the_wall_clock(project: Path, tidegate: Call) -> None:
    with state_of(project) as store:
        start(store, "run-1")
        profiles, wall = {"build_result": 4000, "iceberg_write": 900}, {"build_result": 2100, "iceberg_write": 900}
        store.finish_run(
            "run-1",
            "success",
            finished_at=NOON,
            duration_ms=3200,
            phase_profiles=profiles,
            result={"phase_wall_ms": wall},
        )
    assert tidegate("logs", "run-1").out.splitlines()[1:] == [
        "",
        "phase          all models  wall clock",
        "-------------  ----------  ----------",
        "build_result   4.0s        2.1s",
        "iceberg_write  900ms       900ms",
        "",
        "0 models, 0 rows written, took 3.2s",
    ]


def test_logs_of_an_unknown_run_name_the_nearest(project: Path, tidegate: Call) -> None:
    with state_of(project) as store:
        start(store, "run-20261115-101112-123")
    told = tidegate("logs", "run-20261115-101112-124")
    assert told.code == 1
    assert "Did you mean run-20261115-101112-123?" in told.err


def test_branches_are_listed_with_their_state(project: Path, tidegate: Call) -> None:
    catalog = EmbeddedCatalog(project / ".tidegate/catalog.db", project / ".tidegate/warehouse")
    catalog.create_branch("run-1")
    catalog.create_branch("run-2")
    catalog.keep_branch("run-2")
    lines = tidegate("branches").out.splitlines()
    assert ["run" in lines[2], "kept for publish" in lines[3]] == [True, True]
    assert lines[-1] == "Publish a kept branch with `tidegate publish RUN`."
    branches = tidegate("branches", "--json").document["branches"]
    assert [(branch["name"], branch["kept"]) for branch in branches] == [("run-1", False), ("run-2", True)]


def test_a_project_is_found_from_a_folder_inside_it(
    project: Path, tidegate: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    with state_of(project) as store:
        start(store, "run-1")
    (project / "models" / "silver").mkdir(parents=True)
    monkeypatch.chdir(project / "models" / "silver")
    assert "run-1" in tidegate("history").out


def test_a_folder_without_a_project_is_told_with_what_to_do(tmp_path: Path, tidegate: Call) -> None:
    told = tidegate("history", "--project", str(tmp_path))
    assert told.code == 1
    assert "tidegate.toml" in told.err
    assert "tidegate init" in told.err


def test_a_damaged_state_database_is_told_without_a_traceback(project: Path, tidegate: Call) -> None:
    (project / ".tidegate").mkdir()
    (project / ".tidegate" / "state.db").write_text("nonsense" * 1000)
    told = tidegate("history")
    assert told.code == 1
    assert "error: The state file is not a database" in told.err
    assert "fix: Move the file away" in told.err


def test_a_project_without_quarantine_says_so(project: Path, tidegate: Call) -> None:
    assert tidegate("quarantine", "list").out == "No published table has a quarantine.\n"
    shown = tidegate("quarantine", "show", "silver.orders")
    assert shown.code == 1
    assert "'silver.orders' has no published quarantine" in shown.err
    assert not (project / ".tidegate").exists()
