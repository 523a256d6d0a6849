"""Two runs at once: different tables both publish; on the same table nothing is lost."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.runs.conftest import FakeClock, ProjectFolder
from tidegate.lake.port import MAIN
from tidegate.runs import RunOptions, RunResult, run_project
from tidegate.runs.events import Event

pytestmark = pytest.mark.spark


def test_two_runs_on_different_tables_both_publish(shop: ProjectFolder) -> None:
    shop.model("a.one", "SELECT 1 AS x")
    shop.model("a.two", "SELECT 2 AS x")
    results: dict[str, RunResult] = {}
    meet = threading.Barrier(2, timeout=120)

    def wait_for_the_other(event: Event) -> None:
        if event.name == "after_materialize":
            meet.wait()

    def work(name: str, clock: FakeClock) -> None:
        results[name] = run_project(shop.settings, RunOptions(select=(name,)), [wait_for_the_other], clock)

    threads = [
        threading.Thread(target=work, args=(name, FakeClock(f"2024-06-01T12:00:0{n}")))
        for n, name in enumerate(["a.one", "a.two"])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [results[name].publish.tables for name in ("a.one", "a.two")] == [("a.one",), ("a.two",)]
    assert shop.rows("SELECT * FROM a.one UNION ALL SELECT * FROM a.two") == [(1,), (2,)]


def test_on_the_same_table_the_second_run_builds_again_and_no_update_is_lost(shop: ProjectFolder) -> None:
    shop.model("bronze.events", "SELECT * FROM {{ landing_zone('events') }}", merge_strategy="append_only")
    shop.model("gold.total", "SELECT sum(n) AS total FROM bronze.events")
    shop.file("landing/events/a.csv", "n\n1\n")
    assert shop.run().exit_code == 0
    shop.file("landing/events/b.csv", "n\n10\n")
    inner: list[RunResult] = []

    def let_another_run_publish_first(event: Event) -> None:
        if event.name == "after_materialize" and event.model == "gold.total" and not inner:
            inner.append(run_project(shop.settings, RunOptions(), [], FakeClock("2024-06-02T12:00:00")))
            shop.file("landing/events/c.csv", "n\n100\n")

    outer = shop.run(listener=let_another_run_publish_first)
    assert inner[0].exit_code == 0
    assert outer.exit_code == 0
    assert outer.publish.conflicts == 1
    assert shop.rows("bronze.events") == [(1,), (10,), (100,)]
    assert shop.rows("gold.total") == [(111,)]
    assert shop.branches() == []


def test_a_conflict_that_does_not_end_fails_and_publishes_nothing(shop: ProjectFolder) -> None:
    shop.model("a.one", "SELECT {{ var('n', 0) }} AS x")
    other = shop.settings
    rounds: list[Any] = []

    def always_be_first(event: Event) -> None:
        if event.name == "after_materialize" and event.run_id.startswith("run-20240601") and len(rounds) < 9:
            rounds.append(1)
            clock = FakeClock(f"2024-07-0{len(rounds)}T12:00:00")
            assert run_project(other, RunOptions(vars={"n": str(len(rounds))}), [], clock).exit_code == 0

    result = shop.run(listener=always_be_first, vars={"n": "1000"})
    assert (result.status, result.exit_code, result.failure_kind) == ("failed", 1, "Conflict")
    assert shop.rows("a.one") == [(len(rounds),)]
    assert shop.clock.slept == sorted(shop.clock.slept)
    assert shop.branches() == []


def test_compaction_on_main_is_no_conflict(shop: ProjectFolder) -> None:
    shop.model("a.log", "SELECT * FROM {{ landing_zone('log') }}", merge_strategy="append_only")
    for n in range(3):
        shop.file(f"landing/log/{n}.csv", f"n\n{n}\n")
        assert shop.run().exit_code == 0
    shop.file("landing/log/3.csv", "n\n3\n")

    def compact(event: Event) -> None:
        if event.name == "after_materialize":
            from tidegate.spark.session import child_session

            session = child_session(shop.spark, shop.catalog.spark_conf(MAIN), MAIN)
            options = "map('min-input-files', '2', 'rewrite-all', 'true')"
            session.sql(f"CALL main.system.rewrite_data_files(table => 'shop.a.log', options => {options})")

    result = shop.run(listener=compact)
    assert (result.exit_code, result.publish.conflicts) == (0, 0)
    assert shop.rows("a.log") == [(0,), (1,), (2,), (3,)]
