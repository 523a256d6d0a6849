"""Runs that are ended from outside while they build: by their record, by a signal, by the reaper."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest

from tests.lake.places import Place
from tests.projects import FakeClock, ProjectFolder, statuses
from tests.runs.test_catalogs import configure
from tests.waiting import eventually
from tidegate.hooks.events import Event
from tidegate.operations.cancel import cancel_run
from tidegate.operations.reap import reap
from tidegate.runs.result import RunResult
from tidegate.state import RunRecord, open_reader

TEN_MINUTES = "SELECT count(*) AS n FROM range(100000000000) WHERE sha2(CAST(id AS string), 512) LIKE '0000000000%'"


def last_run(shop: ProjectFolder) -> RunRecord:
    with open_reader(shop.settings.state.url) as state:
        return state.runs(1)[0]


@contextmanager
def running(shop: ProjectFolder, listener: Callable[[Event], None]) -> Iterator[Callable[[], RunResult]]:
    """In this process and its Spark, as a server would do it."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(shop.run, listener=listener)
        yield lambda: future.result(timeout=10)


@pytest.mark.spark
@pytest.mark.alone
def test_a_ten_minute_query_is_cancelled_in_two_seconds_and_spark_has_no_job_left(shop: ProjectFolder) -> None:
    """One model has a job running; another is between two jobs when it is interrupted, and begins one then."""
    shop.model("a.job", TEN_MINUTES)
    shop.model("a.between", TEN_MINUTES)
    hook = 'name = "pause"\nevents = ["before_materialize"]\nmodels = ["a.between"]\n'
    pause = "touch paused; until test -e go; do sleep 0.05; done"
    with (shop.root / "tidegate.toml").open("a") as toml:
        toml.write(f'\n[[hooks]]\n{hook}command = "{pause}"\n')
    jobs = shop.spark.sparkContext.statusTracker().getActiveJobsIds

    def go_on(event: Event) -> None:
        if "cancelled from outside" in event.data.get("message", ""):
            shop.file("go", "")

    with running(shop, go_on) as result:
        assert eventually(lambda: bool(jobs()) and (shop.root / "paused").exists(), 60)
        asked = time.monotonic()
        done = cancel_run(shop.settings, last_run(shop).run_id)
        assert eventually(lambda: not jobs(), asked + 2 - time.monotonic())
        took = time.monotonic() - asked
        assert result().status == "cancelled"
    assert (done.run.status, took < 2) == ("cancelled", True)
    assert set(statuses(result()).values()) == {"cancelled"}
    assert all(one.duration_ms > 0 for one in result().materializations)
    assert (result().exit_code, shop.catalog.head(), shop.branches()) == (130, {}, [])


def test_a_run_that_is_reaped_while_it_sleeps_publishes_nothing_and_stays_as_the_reaper_left_it(
    pointer_shop: ProjectFolder,
) -> None:
    shop = pointer_shop
    shop.model("a.one", "SELECT 1 AS x", audit="row_count(>, 0)")
    later = FakeClock()
    later.moment = datetime.now(UTC) + timedelta(hours=25)

    def sleep(event: Event) -> None:
        if event.name == "before_checks":
            assert reap(shop.settings, later).errors == ()

    result = shop.run(listener=sleep)
    assert (result.status, result.exit_code, result.publish.tables) == ("failed", 1, ())
    assert (result.error or "").startswith("Another process ended this run as failed: No heartbeat since")
    assert (shop.catalog.head(), shop.branches()) == ({}, [])
    run = last_run(shop)
    assert run.status == "failed"
    assert (run.error or "").startswith("No heartbeat since")
    again = shop.run()
    assert (again.exit_code, shop.built_by()) == (0, {"a.one": again.run_id})


@pytest.fixture(params=["embedded", *(["jdbc", "nessie"] if os.environ.get("TIDEGATE_PROVE") else [])])
def lake(request: pytest.FixtureRequest, shop: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> ProjectFolder:
    fixture = {"jdbc": "postgres_url", "nessie": "nessie_lake"}.get(request.param)
    address = request.getfixturevalue(fixture) if fixture else ""
    configure(shop, Place(request.param, shop.root, address), monkeypatch)
    return shop


@pytest.mark.spark
def test_a_wave_with_a_failure_leaves_every_watermark_of_it_where_it_was(lake: ProjectFolder) -> None:
    for name in ("good", "bad"):
        lake.model(
            f"bronze.{name}",
            f"SELECT id, at FROM {{{{ landing_zone('{name}') }}}}"
            "{% if is_incremental() %} WHERE at > '{{ watermark_value }}'{% endif %}",
            merge_strategy="incremental",
            unique_key="id",
            watermark_column="at",
            archive_landing_zones="true",
            audit="max(id, <, 100)",
        )
        lake.file(f"landing/{name}/1.csv", "id,at\n1,2024-01-01\n")
    lake.model("silver.free", "SELECT 1 AS x")
    assert lake.run(publish="wave").exit_code == 0
    before = lake.catalog.head()

    lake.file("landing/good/2.csv", "id,at\n2,2024-01-02\n")
    late = lake.file("landing/bad/2.csv", "id,at\n200,2024-01-02\n")
    failed = lake.run(publish="wave")
    assert statuses(failed)["bronze.good"] == "completed"
    assert (failed.publish.tables, lake.catalog.head()) == ((), before)
    assert (lake.root / "landing/good/2.csv").exists()

    late.write_text("id,at\n3,2024-01-02\n")
    again = lake.run(publish="wave")
    began = {m.model: m.watermark for m in again.materializations}
    assert (began["bronze.good"], began["bronze.bad"]) == ("2024-01-01", "2024-01-01")
    assert again.publish.tables == ("bronze.bad", "bronze.good")
    assert lake.rows("SELECT id, string(at) FROM bronze.good") == [(1, "2024-01-01"), (2, "2024-01-02")]
    assert lake.rows("SELECT id, string(at) FROM bronze.bad") == [(1, "2024-01-01"), (3, "2024-01-02")]
