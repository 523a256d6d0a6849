"""Runs that are killed where they stand: nobody sees a mix, and whoever comes next ends with the same tables."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.conftest import QUICK_JVM
from tests.lake.places import Place
from tests.operations.test_chaos_copies import may_create_schemas
from tests.projects import ProjectFolder
from tests.recorded import files_taken, runs_in
from tests.runs.test_killed import start, write_shop
from tidegate.errors import BranchMissingError
from tidegate.lake.sweep import sweep
from tidegate.operations.chaos.kills import KillRequest
from tidegate.operations.chaos.lake_copy import make_scratch
from tidegate.operations.chaos.trials import run_chaos
from tidegate.operations.maintain import maintain
from tidegate.operations.new_project import deliver, write_demo
from tidegate.operations.publish import publish_run
from tidegate.operations.query import query
from tidegate.operations.reap import reap
from tidegate.operations.run import run_project
from tidegate.runs import RunOptions
from tidegate.runs.clock import FixedClock

PROVE = bool(os.environ.get("TIDEGATE_PROVE"))
ONE = {
    "embedded": KillRequest(("between_commits:gold.parts",), then="resume"),
    "jdbc": KillRequest(("after_write:silver.events",), then="rerun"),
    "nessie": KillRequest(("inside_branch",), then="resume"),
}
"""In the quick form one kill each. The long one is about every point that the runs come to."""
ALL = {"embedded": KillRequest(then="both"), "jdbc": KillRequest(), "nessie": KillRequest(then="both")}

TOML = """[project]
name = "shop"

[lake]
warehouse = "{warehouse}"
{lake}

[spark]
master = "local[2]"
memory = "768m"

[spark.conf]
"spark.driver.extraJavaOptions" = "{jvm}"
"spark.sql.codegen.wholeStage" = "false"

[run]
publish = "{publish}"
"""

_PROVE_ONLY = pytest.mark.skipif(not PROVE, reason="tests/lake tries every catalog: only with TIDEGATE_PROVE")
CATALOGS = pytest.mark.parametrize(
    "place", ["embedded", *(pytest.param(kind, marks=_PROVE_ONLY) for kind in ("jdbc", "nessie"))], indirect=True
)

Listing = dict[str, tuple[int, bytes]]


def listing(folder: Path) -> Listing:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def configure(
    shop: ProjectFolder,
    place: Place,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    publish: str = "run",
) -> None:
    lake = ""
    if place.kind == "jdbc":
        may_create_schemas(place, request)
        monkeypatch.setenv("LAKE", place.address)
        lake = 'catalog = "jdbc"\nuri = "${LAKE}"'
    elif place.kind == "nessie":
        uri, main = place.address.split(" ")
        lake = f'catalog = "nessie"\nuri = "{uri}"\nref = "{main}"'
    warehouse = place.folder / "warehouse"
    shop.file("tidegate.toml", TOML.format(warehouse=warehouse, lake=lake, jvm=QUICK_JVM, publish=publish))


def write_rest(shop: ProjectFolder) -> None:
    """What else a run can come to: refused rows, groups that are replaced, a history, a view, time."""
    shop.model(
        "silver.good",
        "SELECT id, n FROM bronze.events",
        quarantine="true",
        constraint="compare(n, <, 4)",
        unique_key="id",
    )
    shop.model(
        "silver.groups",
        "SELECT id % 3 AS part, id FROM bronze.events",
        merge_strategy="delete_insert",
        unique_key="part",
    )
    shop.model("silver.history", "SELECT id, n FROM bronze.events", merge_strategy="scd2", unique_key="id")
    shop.model("gold.shown", "SELECT part FROM gold.parts", materialized="view")
    shop.model("gold.now", "SELECT current_timestamp() AS at, count(*) AS n FROM silver.good")
    shop.model("gold.later", "SELECT at FROM gold.now")


def write_least(shop: ProjectFolder) -> None:
    """Landing files that are moved away, and a table that changes in two commits."""
    shop.model(
        "bronze.events",
        "SELECT * FROM {{ landing_zone('events') }}",
        merge_strategy="append_only",
        archive_landing_zones="true",
    )
    shop.model("gold.parts", "SELECT id % 3 AS part, sum(n) AS n FROM bronze.events GROUP BY id % 3", deltas="always")
    shop.file("landing/events/a.csv", "id,n\n1,1\n2,2\n")


@pytest.mark.spark
@CATALOGS
def test_killed_anywhere_a_run_loses_nothing(
    shop: ProjectFolder, place: Place, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    configure(shop, place, monkeypatch, request)
    if PROVE:
        write_shop(shop)
        write_rest(shop)
    else:
        write_least(shop)
    assert shop.run().exit_code == 0
    shop.file("landing/events/b.csv", "id,n\n3,3\n4,4\n")
    heads, branches = shop.catalog.head(), shop.branches()
    files, landing = listing(place.folder / "warehouse"), listing(shop.root / "landing")

    report = run_chaos(shop.settings, request=(ALL if PROVE else ONE)[place.kind], root=shop.spark)
    assert report.failed == ()
    assert {trial.point for trial in report.trials} == (
        set(report.uninterrupted.reached) if PROVE else set(ONE[place.kind].points)
    )
    assert report.folder is None
    assert (shop.catalog.head(), shop.branches()) == (heads, branches)
    assert listing(place.folder / "warehouse") == files
    assert listing(shop.root / "landing") == landing


@pytest.mark.spark
@pytest.mark.skipif(not PROVE, reason="takes minutes: set TIDEGATE_PROVE")
@CATALOGS
def test_the_demo_loses_nothing_on_its_second_day_wherever_it_is_killed(
    make_project: Callable[[str], ProjectFolder],
    place: Place,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    """A check fails on that day, so that some tables are published and some are not."""
    demo = make_project("demo")
    (demo.root / "tidegate.toml").unlink()
    write_demo(demo.root)
    zones = (demo.root / "tidegate.toml").read_text().partition("[landing.customers]")
    configure(demo, place, monkeypatch, request)
    demo.file("tidegate.toml", (demo.root / "tidegate.toml").read_text() + zones[1] + zones[2])
    assert demo.run().exit_code == 0
    deliver(demo.root, "day-2")
    heads, files = demo.catalog.head(), listing(place.folder / "warehouse")
    report = run_chaos(demo.settings, root=demo.spark)
    assert report.uninterrupted.status == "partial"
    assert report.failed == ()
    assert len(report.trials) == len(report.uninterrupted.reached)
    assert (demo.catalog.head(), listing(place.folder / "warehouse")) == (heads, files)


@pytest.mark.spark
@pytest.mark.skipif(not PROVE, reason="takes minutes: set TIDEGATE_PROVE")
@pytest.mark.parametrize("publish", ["wave", "model", "all"])
@pytest.mark.parametrize("place", ["embedded"], indirect=True)
def test_the_other_ways_to_publish_lose_nothing_either(
    shop: ProjectFolder,
    place: Place,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    publish: str,
) -> None:
    configure(shop, place, monkeypatch, request, publish)
    write_shop(shop)
    assert shop.run().exit_code == 0
    shop.file("landing/events/b.csv", "id,n\n3,3\n4,4\n")
    report = run_chaos(shop.settings, request=KillRequest(every=True, sample=12), root=shop.spark)
    assert report.failed == ()


def call(shop: ProjectFolder, command: str, point: str) -> int:
    """How the program ends that is killed at the point."""
    words = [sys.executable, "-m", "tidegate", *command.split(), "--project", str(shop.root)]
    environment = {**os.environ, "TIDEGATE_FAULT": point}
    return subprocess.run(words, env=environment, capture_output=True, timeout=180, check=False).returncode


def test_publishing_a_kept_branch_can_be_killed_and_done_again(pointer_shop: ProjectFolder) -> None:
    shop = pointer_shop
    shop.model(
        "bronze.events",
        "SELECT * FROM {{ landing_zone('events') }}",
        merge_strategy="append_only",
        archive_landing_zones="true",
    )
    still_there = ("after_publish", "before_publish", "before_cleanup")
    gone = ("after_cleanup", "before_archive", "inside_archive", "after_archive")
    for number, point in enumerate((*still_there, *gone) if PROVE else ("after_publish", "after_cleanup"), 1):
        shop.file(f"landing/events/{number}.csv", f"n\n{number}\n")
        kept, delivered = shop.run(no_publish=True), [f"{n}.csv" for n in range(1, number + 1)]
        assert call(shop, f"publish {kept.run_id}", point) == -signal.SIGKILL, point
        published = delivered[:-1] if point == "before_publish" else delivered
        assert files_taken(shop, "bronze.events", "events") == published, point
        if point in still_there:
            assert publish_run(shop.settings, kept.run_id).exit_code == 0
        else:
            with pytest.raises(BranchMissingError):
                publish_run(shop.settings, kept.run_id)
            assert shop.run().status == "skipped"
        assert files_taken(shop, "bronze.events", "events") == delivered, point
        assert len(runs_in(shop, "bronze.events")) == number, point
        assert [path.name for path in (shop.root / "landing" / "events").iterdir()] == ["_processed"], point
        assert shop.branches() == []


@pytest.mark.spark
@pytest.mark.skipif(not PROVE, reason="another process runs beside: set TIDEGATE_PROVE")
@pytest.mark.parametrize("point", ["before_refresh", "after_refresh", "before_publish@2", "after_write@4"])
def test_a_run_that_is_killed_while_it_builds_again_after_a_conflict_loses_nothing(
    shop: ProjectFolder, point: str
) -> None:
    shop.model("bronze.events", "SELECT * FROM {{ landing_zone('events') }}", merge_strategy="append_only")
    shop.model("gold.total", "SELECT sum(n) AS total FROM bronze.events")
    shop.file("landing/events/a.csv", "n\n1\n")
    assert shop.run().exit_code == 0
    shop.file("landing/events/b.csv", "n\n10\n")
    alone = shop.settings
    wait = "touch ready; while [ ! -e go ]; do sleep 0.05; done"
    hook = f'\n[[hooks]]\nname = "wait"\nevents = ["after_checks"]\ncommand = ["sh", "-c", "{wait}"]\n'
    shop.model("gold.total", "SELECT sum(n) AS total FROM bronze.events", audit="row_count(=, 1)")
    shop.file("tidegate.toml", (shop.root / "tidegate.toml").read_text() + hook)
    process = start(shop.root, TIDEGATE_FAULT=point)
    deadline, tick = time.monotonic() + 120, threading.Event()
    while not (shop.root / "ready").exists() and time.monotonic() < deadline:
        tick.wait(0.05)
    assert run_project(alone, RunOptions(), clock=shop.clock).exit_code == 0
    shop.file("landing/events/c.csv", "n\n100\n")
    (shop.root / "go").touch()
    output, _ = process.communicate(timeout=180)
    assert process.returncode == -signal.SIGKILL, output
    assert shop.rows("gold.total") == [(11,)]
    resumed = run_project(alone, RunOptions(resume="latest"), clock=shop.clock)
    assert resumed.exit_code == 0
    assert shop.rows("bronze.events") == [(1,), (10,), (100,)]
    assert shop.rows("gold.total") == [(111,)]


@pytest.mark.spark
def test_maintenance_that_is_killed_leaves_main_as_it_was_and_can_be_done_again(shop: ProjectFolder) -> None:
    shop.model("gold.total", "SELECT {{ var('n', 0) }} AS n")
    for n in range(2):
        assert shop.run(vars={"n": str(n)}).exit_code == 0
    keep = "\n[maintenance]\nkeep_snapshots = 1\nkeep_days = 0\ncompact = false\n"
    shop.file("tidegate.toml", (shop.root / "tidegate.toml").read_text() + keep)
    heads = shop.catalog.head()
    assert call(shop, "maintain", "inside_maintenance") == -signal.SIGKILL
    assert shop.catalog.head() == heads
    assert len(shop.branches()) == 1
    branches = shop.branches()
    later = FixedClock(datetime.now(UTC) + timedelta(hours=7))
    assert [branch.name for branch in reap(shop.settings, later).dropped_branches] == branches
    assert shop.branches() == []
    assert maintain(shop.settings, shop.catalog, None).expired == {"shop.gold.total": 1}
    assert shop.rows("gold.total") == [(1,)]


@pytest.mark.spark
def test_the_sweep_of_a_copy_deletes_nothing_of_the_lake(shop: ProjectFolder, tmp_path: Path) -> None:
    shop.model("bronze.events", "SELECT * FROM {{ landing_zone('events') }}", merge_strategy="append_only")
    shop.file("landing/events/a.csv", "id,n\n1,1\n2,2\n")
    assert shop.run().exit_code == 0
    shop.file("landing/events/b.csv", "id,n\n3,3\n4,4\n")
    files = listing(shop.settings.lake.warehouse)
    copy = make_scratch(shop.settings, shop.catalog.head(), tmp_path / "copy", "copy")
    assert run_project(copy.settings, clock=shop.clock).exit_code == 0
    assert sum(path.endswith(".parquet") for path in listing(copy.settings.lake.warehouse)) > 0
    swept = sweep(copy.catalog, copy.settings.lake.warehouse, clock=lambda: datetime.now(UTC) + timedelta(days=9))
    assert swept.files
    assert all(Path(file).is_relative_to(copy.folder) for file in swept.files)
    assert listing(shop.settings.lake.warehouse) == files
    rows = query(copy.settings, "SELECT * FROM bronze.events", None, shop.spark).rows
    assert sorted(row["n"] for row in rows) == [1, 2, 3, 4]
    assert shop.rows("bronze.events") == [(1, 1), (2, 2)]
