"""What lets a run be taken up, cancelled by others, or answered once per key: on every database."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import create_engine, text

from tests.state.test_history_round_trip import NOON, a_model_run, a_run
from tidegate.errors import KeyTakenError, RunTakenOverError
from tidegate.state import KeyRecord, ProgressEntry, RunRecord, StateStore, open_reader, open_state
from tidegate.state.migrations import MIGRATIONS, migrate


@pytest.fixture
def store(url: str) -> Iterator[StateStore]:
    with open_state(url) as store:
        yield store


def taken(seen: RunRecord, pid: int) -> RunRecord:
    return replace(seen, status="pending", pid=pid, heartbeat_at=NOON + timedelta(hours=1), resumes=seen.resumes + 1)


def found(store: StateStore, run_id: str = "run-1") -> RunRecord:
    run = store.reader().run(run_id)
    assert run is not None
    return run


def test_runs_from_before_keep_what_they_were(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidegate.state.migrations.MIGRATIONS", MIGRATIONS[:3])
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    if url.startswith("sqlite"):
        open_state(url).close()  # makes the folder
    with engine.begin() as connection:
        migrate(connection, url)
        columns = "run_id, project, command, branch, publish_mode, started_at, status, rows_written, phase_profiles"
        values = "'run-0', 'shop', 'run', 'run-0', 'run', '2026-11-15 12:00:00', 'failed', 3, '{}'"
        connection.execute(text(f"INSERT INTO runs ({columns}) VALUES ({values})"))
    engine.dispose()
    monkeypatch.undo()
    with open_reader(url) as reader:
        run = reader.run("run-0")
    assert run is not None
    assert (run.status, run.options, run.resumes, run.cancel_requested_at) == ("failed", {}, 0, None)


def test_of_all_who_saw_the_same_record_one_takes_the_run(store: StateStore, url: str) -> None:
    store.start_run(a_run())
    seen, together, won = found(store), threading.Barrier(4), []

    def take(pid: int) -> None:
        with open_state(url) as own:
            together.wait()
            if own.take_over(seen, taken(seen, pid)):
                won.append(pid)

    threads = [threading.Thread(target=take, args=(pid,)) for pid in range(101, 105)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert (found(store).pid, found(store).resumes) == (won[0], 1)


def test_a_run_that_gave_a_sign_of_life_meanwhile_is_not_taken(store: StateStore) -> None:
    store.start_run(a_run())
    seen = found(store)
    store.heartbeat("run-1", NOON + timedelta(seconds=30))
    assert not store.take_over(seen, taken(seen, 8))
    assert found(store).pid == 7


def test_who_lost_the_run_writes_nothing_about_it(store: StateStore) -> None:
    store.start_run(a_run())
    seen = found(store)
    assert store.take_over(seen, taken(seen, 8))
    with pytest.raises(RunTakenOverError, match="taken over by another process: 8 on here"):
        store.finish_run("run-1", "success", finished_at=NOON, duration_ms=1, resumes=0)
    with pytest.raises(RunTakenOverError):
        store.heartbeat("run-1", NOON, resumes=0)
    assert found(store) == taken(seen, 8)
    store.finish_run("run-1", "success", finished_at=NOON, duration_ms=1, resumes=1)
    assert found(store).status == "success"


def test_the_wish_to_cancel_is_seen_by_a_run_that_has_not_ended(store: StateStore) -> None:
    store.start_run(a_run())
    assert store.request_cancel("run-1", NOON)
    assert found(store).cancel_requested_at == NOON
    store.finish_run("run-1", "cancelled", finished_at=NOON, duration_ms=1)
    assert not store.request_cancel("run-1", NOON + timedelta(hours=1))
    assert not store.request_cancel("run-2", NOON)
    assert found(store).cancel_requested_at == NOON


def test_what_a_run_says_of_a_model_replaces_what_it_said_before(store: StateStore) -> None:
    first = ProgressEntry("run-1", "shop.silver.orders", NOON, pointers={"shop.silver.orders": "file:/1"})
    second = replace(first, pointers={"shop.silver.orders": "file:/2", "shop.silver.orders__quarantine": None})
    store.add_progress(first, ["events/a.csv", "events/b.csv"])
    store.add_progress(replace(first, run_id="run-2"))
    store.add_progress(second, ["events/c.csv"])
    entries = store.reader().progress_entries("run-1")
    assert entries == (second, ProgressEntry("run-1", "shop.silver.orders", NOON, "events/c.csv"))


def test_a_kept_model_keeps_its_record_and_gets_one_where_there_is_none(store: StateStore) -> None:
    store.add_model_run(a_model_run(rows_written=3))
    store.add_kept_model(a_model_run(status="skipped"))
    store.add_kept_model(a_model_run("gold.total", status="skipped"))
    records = store.reader().model_runs("run-1")
    assert {(each.model, each.status) for each in records} == {
        ("silver.orders", "completed"),
        ("gold.total", "skipped"),
    }


def test_a_key_and_its_run_are_written_together_or_not_at_all(store: StateStore) -> None:
    key = KeyRecord("shop", "k", "run-1", "d", NOON)
    store.start_run(a_run(), key)
    assert store.reader().key("shop", "k") == key
    assert store.reader().key("other", "k") is None
    with pytest.raises(KeyTakenError):
        store.start_run(a_run("run-2"), replace(key, run_id="run-2"))
    assert store.reader().run("run-2") is None
    store.start_run(a_run("run-2"), replace(key, run_id="run-2"), key)
    assert store.reader().key("shop", "k") == replace(key, run_id="run-2")


def test_the_runs_of_one_project_are_told_apart(store: StateStore) -> None:
    store.start_run(a_run())
    store.start_run(replace(a_run("run-2", NOON + timedelta(hours=1)), project="other"))
    assert [run.run_id for run in store.reader().runs(project="shop")] == ["run-1"]
