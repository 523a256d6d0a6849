"""Cancelling from outside, up to where Spark begins: what the one who cancels sees, and what the run does."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.projects import FakeClock
from tests.waiting import eventually
from tidegate.config import Settings, load_settings
from tidegate.errors import SelectionError, TidegateError
from tidegate.lake import open_catalog
from tidegate.operations.cancel import cancel_run
from tidegate.runs.clock import SystemClock
from tidegate.runs.control import heartbeat
from tidegate.runs.control.heartbeat import Heartbeat
from tidegate.state import RunRecord, StateStore, open_reader, open_state

NOW = datetime.now(UTC)
RUN = "run-20240601-120000-001"


@pytest.fixture(autouse=True)
def frequent_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "_POLL_SECONDS", 0.02)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "tidegate.toml").write_text('[project]\nname = "shop"\n')
    return load_settings(tmp_path)


@pytest.fixture
def store(settings: Settings) -> Iterator[StateStore]:
    with open_state(settings.state.url) as store:
        yield store


def begin(store: StateStore, pid: int | None = None, host: str | None = None) -> RunRecord:
    own = os.getpid() if pid is None else pid
    here = host or socket.gethostname()
    run = RunRecord(RUN, "shop", "run", RUN, "run", NOW, "running", heartbeat_at=NOW, pid=own, host=here)
    store.start_run(run)
    return run


def gone() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def unwanted(value: object) -> None:
    raise AssertionError(value)


def status(store: StateStore) -> str:
    run = store.reader().run(RUN)
    assert run is not None
    return run.status


def test_a_run_that_hears_it_ends_as_cancelled(settings: Settings, store: StateStore) -> None:
    asked = threading.Event()
    heartbeat = Heartbeat(begin(store), store, SystemClock(), lambda record: asked.set(), unwanted)

    def work() -> None:
        asked.wait(10)
        heartbeat.stop()
        store.finish_run(RUN, "cancelled", finished_at=NOW, duration_ms=1)

    heartbeat.start()
    worker = threading.Thread(target=work)
    worker.start()
    done = cancel_run(settings, RUN)
    worker.join()
    assert (done.requested, done.ended, done.run.status) == (True, True, "cancelled")
    assert done.run.cancel_requested_at is not None


def test_a_run_whose_process_is_gone_is_ended_and_its_branch_dropped_at_once(
    settings: Settings, store: StateStore
) -> None:
    pid = gone()
    begin(store, pid)
    catalog = open_catalog(settings)
    catalog.create_branch(RUN)
    done = cancel_run(settings, RUN, patience=0.5)
    assert (done.run.status, done.left) == ("cancelled", None)
    assert done.run.error == f"Cancelled when process {pid} on {socket.gethostname()} was gone"
    assert catalog.list_branches() == ()


def test_hooks_are_told_of_a_run_that_is_ended_in_the_place_of_its_process(tmp_path: Path) -> None:
    told = '[[hooks]]\nname = "told"\nevents = "*"\ncommand = "echo $TIDEGATE_EVENT $TIDEGATE_STATUS >> told; exit 1"\n'
    (tmp_path / "tidegate.toml").write_text(f'[project]\nname = "shop"\n{told}')
    settings = load_settings(tmp_path)
    with open_state(settings.state.url) as store:
        begin(store, gone())
    done = cancel_run(settings, RUN, patience=0.5)
    assert (tmp_path / "told").read_text() == "pipeline_error cancelled\nstate_synced cancelled\n"
    assert done.warnings == tuple(
        f"hook 'told' on {event} failed: exit code 1" for event in ("pipeline_error", "state_synced")
    )
    assert cancel_run(settings, RUN).warnings == ()


def test_a_branch_that_cannot_be_dropped_is_told(settings: Settings, store: StateStore) -> None:
    begin(store, gone())
    settings.lake.catalog_path.write_text("not a database at all, however long one looks at it\n" * 100)
    done = cancel_run(settings, RUN, patience=0.5)
    assert done.run.status == "cancelled"
    assert done.left


def test_a_run_that_had_ended_stays_as_it_was(settings: Settings, store: StateStore) -> None:
    begin(store)
    store.finish_run(RUN, "success", finished_at=NOW, duration_ms=1)
    done = cancel_run(settings, "latest")
    assert (done.requested, done.run.status, done.run.cancel_requested_at) == (False, "success", None)


def test_a_run_that_does_not_answer_is_left_with_the_wish(settings: Settings, store: StateStore) -> None:
    begin(store, 7, "elsewhere")
    done = cancel_run(settings, RUN, patience=0.2)
    assert (done.ended, status(store)) == (False, "running")
    assert done.run.cancel_requested_at is not None


def test_an_unknown_run_and_one_of_another_project_are_not_found(settings: Settings, store: StateStore) -> None:
    begin(store)
    with pytest.raises(SelectionError, match="There is no run 'run-20240601-120000-002'") as raised:
        cancel_run(settings, "run-20240601-120000-002")
    assert f"Did you mean {RUN}?" in (raised.value.remedy or "")
    other = RunRecord("run-2", "other", "run", "run-2", "run", NOW, "running", pid=gone(), host=socket.gethostname())
    store.start_run(other)
    with pytest.raises(SelectionError):
        cancel_run(settings, "run-2")


def test_the_heart_beats_in_the_state_and_in_the_lake(settings: Settings, store: StateStore) -> None:
    run = begin(store)
    catalog = open_catalog(settings)
    catalog.create_branch(RUN)
    began = catalog.list_branches()[0].heartbeat_at
    clock = FakeClock("2030-01-01T00:00:00")
    heartbeat = Heartbeat(run, store, clock, unwanted, unwanted, beat_seconds=0)
    heartbeat.start()
    with heartbeat.with_branch(catalog, RUN):
        assert eventually(lambda: catalog.list_branches()[0].heartbeat_at > began)
        assert eventually(lambda: (store.reader().run(RUN) or run).heartbeat_at > NOW)  # type: ignore[operator]
    heartbeat.stop()
    assert not heartbeat.taken_over


def test_a_run_hears_and_gives_signs_of_life_while_the_lake_does_not_answer(
    settings: Settings, store: StateStore
) -> None:
    run = begin(store)
    catalog = open_catalog(settings)
    catalog.create_branch(RUN)
    asked: list[RunRecord] = []
    heartbeat = Heartbeat(run, store, FakeClock("2030-01-01T00:00:00"), asked.append, unwanted, beat_seconds=0)
    with (
        closing(sqlite3.connect(settings.lake.catalog_path, isolation_level=None)) as other,
        heartbeat.with_branch(catalog, RUN),
    ):
        other.execute("BEGIN EXCLUSIVE")
        heartbeat.start()
        assert eventually(lambda: (store.reader().run(RUN) or run).heartbeat_at > NOW)  # type: ignore[operator]
        store.request_cancel(RUN, NOW)
        assert eventually(lambda: bool(asked), 5)
        other.execute("ROLLBACK")
    heartbeat.stop()


def test_a_run_that_others_ended_is_lost_and_said_so_once(settings: Settings, store: StateStore) -> None:
    told: list[TidegateError] = []
    heartbeat = Heartbeat(begin(store), store, SystemClock(), unwanted, told.append)
    heartbeat.start()
    store.finish_run(RUN, "failed", finished_at=NOW, duration_ms=1, error="No heartbeat since noon")
    assert eventually(lambda: heartbeat.taken_over)
    heartbeat.check_record()
    heartbeat.stop()
    assert [str(error) for error in told] == [
        "Another process ended this run as failed: No heartbeat since noon",
    ]


def test_a_run_that_was_ended_just_before_it_stores_its_result_is_lost(store: StateStore) -> None:
    told: list[TidegateError] = []
    heartbeat = Heartbeat(begin(store), store, SystemClock(), unwanted, told.append)
    heartbeat.start()
    store.finish_run(RUN, "failed", finished_at=NOW, duration_ms=1)
    heartbeat.stop()
    assert (heartbeat.taken_over, len(told)) == (True, 1)


def test_a_run_whose_branch_is_gone_is_stopped_but_still_ends_its_record(settings: Settings, store: StateStore) -> None:
    told: list[TidegateError] = []
    heartbeat = Heartbeat(begin(store), store, SystemClock(), unwanted, told.append, beat_seconds=0)
    heartbeat.start()
    with heartbeat.with_branch(open_catalog(settings), RUN):
        assert eventually(lambda: bool(told))
    heartbeat.stop()
    assert "dropped the branch of this run" in str(told[0])
    assert not heartbeat.taken_over


def test_a_run_that_writes_main_directly_has_no_branch_to_miss(settings: Settings, store: StateStore) -> None:
    run = begin(store)
    heartbeat = Heartbeat(run, store, FakeClock("2030-01-01T00:00:00"), unwanted, unwanted, beat_seconds=0)
    heartbeat.start()
    with heartbeat.with_branch(open_catalog(settings), "main"):
        assert eventually(lambda: (store.reader().run(RUN) or run).heartbeat_at != NOW)
    heartbeat.stop()


@pytest.mark.parametrize("how", ["cancel", "SIGTERM", "SIGINT"])
def test_a_run_is_cancelled_before_its_branch_stands_whatever_it_is_at(settings: Settings, how: str) -> None:
    """Here it waits for a hook."""
    root = settings.root
    (root / "models/a").mkdir(parents=True)
    (root / "models/a/one.sql").write_text("SELECT 1 AS x\n")
    hook = '\n[[hooks]]\nevents = ["compile_complete"]\ncommand = "touch waiting; exec sleep 600"\n'
    (root / "tidegate.toml").write_text('[project]\nname = "shop"\n' + hook)
    command = [sys.executable, "-m", "tidegate", "run", "--project", str(root)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert eventually(lambda: (root / "waiting").exists(), 30)
        if how == "cancel":
            assert cancel_run(settings, "latest").run.status == "cancelled"
        else:
            process.send_signal(signal.Signals[how])
        output, _ = process.communicate(timeout=3)
    finally:
        process.kill()
    assert (process.returncode, "Traceback" in output) == (130, False), output
    assert "ancelled" in output
    with open_reader(settings.state.url) as state:
        (run,) = state.runs()
    assert run.status == "cancelled"
    assert open_catalog(settings).list_branches() == ()
