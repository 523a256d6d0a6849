"""A history that cannot be written any more, seen from a run that needs no Spark."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from pathlib import Path

from tidegate.config import load_settings
from tidegate.hooks.events import Event
from tidegate.operations.run import run_project
from tidegate.runs.recorder import Recorder
from tidegate.state import RunRecord, open_reader, open_state

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)


def without_table(file: Path, name: str) -> None:
    connection = sqlite3.connect(file)
    connection.execute(f"DROP TABLE {name}")
    connection.close()


def test_what_cannot_be_recorded_is_remembered_once_and_never_raised(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    with open_state(f"sqlite:///{file}") as store:
        store.start_run(RunRecord("run-1", "shop", "run", "run-1", "run", NOON))
        recorder = Recorder(store)
        recorder(Event("pipeline_start", "run-1", NOON, None, {}))
        assert recorder.failure is None
        without_table(file, "events")
        recorder(Event("warning", "run-1", NOON, None, {"message": "odd"}))
        lost = recorder.failure
        assert "The state database lacks a table" in str(lost)
        recorder(Event("phase", "run-1", NOON, None, {}))
        assert recorder.failure is lost


def test_a_run_that_loses_its_history_does_not_succeed(tmp_path: Path) -> None:
    (tmp_path / "tidegate.toml").write_text('[project]\nname = "shop"\n')
    told: list[str] = []

    def listen(event: Event) -> None:
        told.append(event.name)
        if event.name == "compile_complete":
            without_table(tmp_path / ".tidegate" / "state.db", "events")

    result = run_project(load_settings(tmp_path), listeners=[listen])
    assert (result.status, result.exit_code, result.failure_kind) == ("failed", 1, "ConnectionFailed")
    assert "The state database lacks a table" in (result.error or "")
    assert "Move the file away" in (result.remedy or "")
    assert told[-1] == "pipeline_error"
    with open_reader(f"sqlite:///{tmp_path}/.tidegate/state.db") as reader:
        (run,) = reader.runs()
    assert (run.status, run.error) == ("failed", result.error)
