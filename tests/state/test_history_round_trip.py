from __future__ import annotations

import json
import math
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from sqlalchemy import create_engine

from tidegate.errors import StateError
from tidegate.state import (
    EventRecord,
    ModelRunRecord,
    QualityRecord,
    RunRecord,
    StateStore,
    migrations,
    open_reader,
    open_state,
)

NOON = datetime(2026, 11, 15, 12, 0, 0, 123456, tzinfo=UTC)


def a_run(run_id: str = "run-1", started_at: datetime = NOON) -> RunRecord:
    return RunRecord(run_id, "shop", "run", run_id, "run", started_at, heartbeat_at=started_at, pid=7, host="here")


def a_model_run(model: str = "silver.orders", run_id: str = "run-1", **changes: object) -> ModelRunRecord:
    values: dict[str, object] = {
        "status": "completed",
        "strategy": "incremental",
        "run_type": "full",
        "reason": "",
        **changes,
    }
    return ModelRunRecord(run_id=run_id, model=model, finished_at=NOON, **values)  # type: ignore[arg-type]


def a_check(status: str = "failed", **changes: object) -> QualityRecord:
    values: dict[str, object] = {"value": 2, "expected": "no rows", "duration_ms": 5, "at": NOON, **changes}
    return QualityRecord("silver.orders", "no_orphans", "audit", "error", status, run_id="run-1", **values)  # type: ignore[arg-type]


@pytest.fixture
def store(url: str) -> Iterator[StateStore]:
    with open_state(url) as store:
        yield store


def test_a_run_begins_pending_and_keeps_every_fact_of_its_end(store: StateStore, url: str) -> None:
    store.start_run(a_run())
    with open_reader(url) as reader:
        assert reader.run("run-1") == a_run()
        assert a_run().status == "pending"
        store.set_status("run-1", "running")
        store.heartbeat("run-1", NOON + timedelta(seconds=5))
        store.finish_run(
            "run-1",
            "partial",
            finished_at=NOON + timedelta(seconds=9),
            duration_ms=9000,
            rows_written=3,
            phase_profiles={"build_result": 12},
            result={"version": "1", "publish": {"tables": ["silver.orders"]}},
            error="one failed",
        )
        run = reader.run("run-1")
    assert run is not None
    assert (run.status, run.duration_ms, run.rows_written, run.error) == ("partial", 9000, 3, "one failed")
    assert run.phase_profiles == {"build_result": 12}
    assert run.result == {"version": "1", "publish": {"tables": ["silver.orders"]}}
    assert run.heartbeat_at == NOON + timedelta(seconds=5)


def test_times_come_back_in_utc_whatever_zone_they_were_given_in(store: StateStore) -> None:
    store.start_run(a_run(started_at=NOON.astimezone(timezone(timedelta(hours=-8)))))
    run = store.reader().run("run-1")
    assert run is not None
    assert run.started_at == NOON
    assert run.started_at.tzinfo is UTC


def test_runs_are_listed_newest_first_and_page_on(store: StateStore) -> None:
    for hour in range(4):
        store.start_run(a_run(f"run-{hour}", NOON + timedelta(hours=hour)))
    reader = store.reader()
    assert [run.run_id for run in reader.runs(limit=2)] == ["run-3", "run-2"]
    assert [run.run_id for run in reader.runs(before=NOON + timedelta(hours=2))] == ["run-1", "run-0"]


def test_a_model_built_twice_in_a_run_has_one_record_with_the_last_outcome(store: StateStore) -> None:
    store.add_model_run(a_model_run(status="failed", error="conflict", where="a.sql:1", remedy="wait"))
    last = a_model_run(attempts=({"n": 1},), phases={"iceberg_write": 4}, snapshot_id=2**62)
    store.add_model_run(last)
    assert store.reader().model_runs("run-1") == (last,)


def test_the_latest_record_of_each_model_is_found_over_all_runs(store: StateStore) -> None:
    store.add_model_run(a_model_run("silver.a", "run-1", status="completed"))
    store.add_model_run(a_model_run("silver.a", "run-2", status="failed"))
    store.add_model_run(a_model_run("silver.b", "run-1", status="skipped"))
    latest = store.reader().latest_of_each_model()
    assert {model: record.status for model, record in latest.items()} == {"silver.a": "failed", "silver.b": "skipped"}
    assert [record.run_id for record in store.reader().runs_of_model("silver.a", 1)] == ["run-2"]


def test_the_limit_counts_only_runs_of_the_status_and_type_asked_for(store: StateStore) -> None:
    for n, (status, kind) in enumerate([("completed", "full"), ("completed", "incremental"), ("failed", "full")]):
        store.add_model_run(a_model_run("silver.a", f"run-{n}", status=status, run_type=kind))
    for n in range(3, 9):
        store.add_model_run(a_model_run("silver.a", f"run-{n}", status="skipped", run_type="skip"))
    reader = store.reader()
    assert [r.run_id for r in reader.runs_of_model("silver.a", 2, "completed")] == ["run-1", "run-0"]
    assert [r.run_id for r in reader.runs_of_model("silver.a", 2, "completed", "full")] == ["run-0"]
    assert [r.run_id for r in reader.runs_of_model("silver.a", 2)] == ["run-8", "run-7"]


def test_samples_of_a_check_may_hold_any_value_that_spark_gives(store: StateStore) -> None:
    odd = {"d": date(2026, 1, 2), "m": Decimal("1.10"), "n": math.nan, "b": b"\x00", "t": NOON, "deep": [{"x": (1,)}]}
    store.add_check(a_check("error", value=None))
    store.add_check(a_check(samples=(odd,)))
    (check,) = store.reader().checks("run-1", "silver.orders")
    assert check.status == "failed"
    plain = {"d": "2026-01-02", "m": "1.10", "n": "nan", "b": "AA==", "t": NOON.isoformat(), "deep": [{"x": [1]}]}
    assert check.samples == (plain,)
    assert json.dumps(check.samples, allow_nan=False)
    assert store.reader().checks("run-1", "gold.other") == ()


def test_events_of_many_threads_are_all_there_in_one_order(store: StateStore) -> None:
    def tell(worker: int) -> None:
        for number in range(20):
            store.add_event(EventRecord("run-1", NOON, "phase", f"m{worker}", {"n": number}))

    threads = [threading.Thread(target=tell, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    events = store.reader().events("run-1")
    assert [event.seq for event in events] == list(range(1, 81))
    for worker in range(4):
        assert [event.data["n"] for event in events if event.model == f"m{worker}"] == list(range(20))
    assert [event.seq for event in store.reader().events("run-1", after=78)] == [79, 80]


def test_a_second_run_of_the_same_id_and_an_unknown_run_are_refused(store: StateStore) -> None:
    store.start_run(a_run())
    with pytest.raises(StateError, match="run-1 is in the state database already"):
        store.start_run(a_run())
    with pytest.raises(StateError, match="run-9 is not in the state database"):
        store.heartbeat("run-9", NOON)


@pytest.mark.parametrize("value", [7, 2.5, "12.50", "2026-01-31 06:00:00", True, None])
def test_what_a_check_found_comes_back_as_it_was(store: StateStore, value: object) -> None:
    store.add_check(a_check(value=value, unit="row", kind="audit"))
    (check,) = store.reader().checks("run-1")
    assert (check.value, type(check.value)) == (value, type(value))
    assert (check.unit, check.kind) == ("row", "audit")


def test_the_checks_of_a_model_are_told_of_its_latest_runs_newest_first(store: StateStore) -> None:
    for number in range(4):
        at = NOON + timedelta(minutes=number)
        for name in ("a", "b"):
            store.add_check(replace(a_check(), run_id=f"run-{number}", name=name, at=at, value=number))
    store.add_check(replace(a_check(), model="gold.other", run_id="run-9", at=NOON + timedelta(hours=1)))
    found = store.reader().checks_of_model("silver.orders", 2)
    assert [(check.run_id, check.name) for check in found] == [
        ("run-3", "a"),
        ("run-3", "b"),
        ("run-2", "a"),
        ("run-2", "b"),
    ]


def test_results_from_before_values_could_be_anything_are_kept(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as past:
        past.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:1])
        open_state(url).close()
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        for name, value in (("some", "3"), ("none", "NULL")):
            row = f"'run-1', 'silver.orders', 'before_publish', '{name}', 'error', 'failed', {value}, '0 rows', 5"
            at = "'2026-11-15 12:00:00.000000', '[]', '', '', NULL"
            connection.exec_driver_sql(f"INSERT INTO quality_results VALUES ({row}, {at})")
    engine.dispose()
    with open_reader(url) as reader:
        assert {check.name: (check.value, check.kind, check.unit) for check in reader.checks("run-1")} == {
            "some": (3, "test", "row"),
            "none": (None, "test", "row"),
        }
