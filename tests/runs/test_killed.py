"""The process dies at every boundary of a run: main is whole, and the next run puts things right."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path

import pytest

from tests.pointer_run import run_in_process
from tests.projects import ProjectFolder, run_types
from tests.recorded import files_taken, is_current, runs_in
from tidegate.operations.reap import reap
from tidegate.runs.clock import FixedClock
from tidegate.runs.options import LATEST
from tidegate.state import open_reader

PROVE = bool(os.environ.get("TIDEGATE_PROVE"))
LEFT_BEHIND = ("before_branch", "before_write:silver.events", "after_entry:gold.total", "before_publish")
"""Points before main moves."""
PUBLISHED = ("after_publish", "before_archive", "inside_archive", "before_cleanup", "before_history")
"""Points after it."""
KILLS = [("before_write:silver.events", "resume"), ("after_publish", "rerun")]
if PROVE:
    KILLS = list(product((*LEFT_BEHIND, *PUBLISHED), ("rerun", "resume")))


def start(root: Path, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tidegate", "run", "--project", str(root), *arguments]
    return subprocess.Popen(
        command, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def write_shop(shop: ProjectFolder) -> None:
    """Landing files that are moved away, a merge, a check, an aggregate from all rows and one from changes."""
    shop.model(
        "bronze.events",
        "SELECT * FROM {{ landing_zone('events') }}",
        merge_strategy="append_only",
        archive_landing_zones="true",
    )
    shop.model("silver.events", "SELECT id, n FROM bronze.events", merge_strategy="incremental", unique_key="id")
    shop.file("models/silver/events/tests/quality/t.sql", "SELECT * FROM {{ this }} WHERE n < 0")
    shop.model("gold.total", "SELECT sum(n) AS total FROM silver.events")
    shop.model("gold.parts", "SELECT id % 3 AS part, sum(n) AS n FROM silver.events GROUP BY id % 3", deltas="always")
    shop.file("landing/events/a.csv", "id,n\n1,1\n2,2\n")


@pytest.mark.spark
@pytest.mark.skipif(not PROVE, reason="chaos kills a run with rows, and every point is below: make prove")
@pytest.mark.parametrize("point", ["before_publish", "after_publish"])
def test_killed_around_the_publish_main_is_whole_and_the_next_run_succeeds(shop: ProjectFolder, point: str) -> None:
    """With rows. Without them every point is below, and all points with rows are tried by chaos."""
    write_shop(shop)
    assert shop.run().exit_code == 0
    before = shop.catalog.head()
    shop.file("landing/events/b.csv", "id,n\n3,3\n4,4\n")
    tables = (
        "SELECT 'events' AS name, id, n FROM bronze.events UNION ALL SELECT 'total', 0, total FROM gold.total"
        " UNION ALL SELECT 'parts', part, n FROM gold.parts"
    )
    whole = sorted(
        [("events", n, n) for n in (1, 2, 3, 4)]
        + [("total", 0, 10), ("parts", 0, 3), ("parts", 1, 5), ("parts", 2, 2)],
        key=str,
    )

    process = start(shop.root, TIDEGATE_FAULT=point)
    output, _ = process.communicate(timeout=180)
    assert process.returncode == -signal.SIGKILL, output
    published = point == "after_publish"
    assert shop.rows(tables) == whole if published else shop.catalog.head() == before
    with open_reader(shop.settings.state.url) as reader:
        (parts,) = [run for run in reader.model_runs(reader.runs(1)[0].run_id) if run.model == "gold.parts"]
    assert parts.run_type == "incremental"

    shop.clock.set("2024-06-02T12:00:00")
    result = shop.run()
    assert (result.exit_code, run_types(result)["gold.parts"]) == (0, "skip" if published else "incremental")
    assert shop.rows(tables) == whole
    assert [p.name for p in (shop.root / "landing/events").iterdir()] == ["_processed"]


@pytest.mark.parametrize(("point", "way"), KILLS)
def test_whatever_comes_after_a_kill_ends_as_if_there_had_been_none(
    pointer_shop: ProjectFolder, point: str, way: str
) -> None:
    """Without rows: each file is taken once, each table is of what main has, and nothing is left behind."""
    shop = pointer_shop
    write_shop(shop)
    assert shop.run().exit_code == 0
    before = shop.catalog.head()
    shop.file("landing/events/b.csv", "id,n\n3,3\n4,4\n")
    killed = run_in_process(shop.root, point)
    assert killed.returncode == -signal.SIGKILL, killed.stdout + killed.stderr
    if point in LEFT_BEHIND:
        assert shop.catalog.head() == before
    else:
        assert len(set(shop.built_by().values())) == 1

    shop.clock.set("2024-06-02T12:00:00")
    assert shop.run(**({"resume": LATEST} if way == "resume" else {})).exit_code == 0
    assert files_taken(shop, "bronze.events", "events") == ["a.csv", "b.csv"]
    assert len(runs_in(shop, "bronze.events")) == 2
    assert all(is_current(shop, name) for name in ("silver.events", "gold.total", "gold.parts"))
    assert [p.name for p in (shop.root / "landing/events").iterdir()] == ["_processed"]
    assert reap(shop.settings, FixedClock(datetime.now(UTC) + timedelta(hours=25))).errors == ()
    assert shop.branches() == []


@pytest.mark.spark
@pytest.mark.alone
def test_interrupting_ends_every_model_whatever_it_is_at_and_publishes_nothing(shop: ProjectFolder) -> None:
    """A job that builds, a job of a check, a person's code that does not listen, and a model that is ready.

    Each job has one task, and there is room for more, so that none waits for another."""
    toml = shop.root / "tidegate.toml"
    toml.write_text(toml.read_text().replace("local[2]", "local[4]") + '\n[sandbox]\nmode = "trusted"\n')
    shop.model("a.quick", "SELECT 1 AS x")
    numbers = "range(0, 100000000000, 1, 1)"
    shop.model("a.slow", f"SELECT count(*) AS n FROM {numbers} WHERE sha2(CAST(id AS string), 512) LIKE '0000000000%'")
    shop.model("a.job", "SELECT 1 AS x")
    shop.file(
        "models/a/job/tests/quality/slow.sql",
        "SELECT max(hash(id)) AS h FROM range(0, 1000000000000, 1, 1) HAVING h IS NULL",
    )
    shop.model("a.code", "SELECT 1 AS x", constraint="waits(x)")
    shop.file("checks/waits.py", "import threading\n\n\ndef waits(column):\n    threading.Event().wait()\n")
    process = start(shop.root, "--concurrency", "4")
    begun = (("before_materialize", "a.slow"), ("before_checks", "a.job"), ("before_checks", "a.code"))
    wait_for_events(shop, process, *begun, ("after_model_run", "a.quick"))
    process.send_signal(signal.SIGINT)
    expect_cancelled(shop, process)


def wait_for_events(shop: ProjectFolder, process: subprocess.Popen[str], *wanted: tuple[str, str]) -> None:
    tick = threading.Event()
    for _ in range(3600):
        state = shop.root / ".tidegate" / "state.db"
        if state.exists():
            with open_reader(shop.settings.state.url) as reader:
                runs = reader.runs(1)
                events = reader.events(runs[0].run_id) if runs else ()
            if {(event.name, event.model) for event in events} >= set(wanted):
                return
        tick.wait(0.05)
    process.kill()
    raise AssertionError(process.communicate()[0])


def expect_cancelled(shop: ProjectFolder, process: subprocess.Popen[str]) -> None:
    try:
        output, _ = process.communicate(timeout=3)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError("still running 3 s after SIGINT:\n" + process.communicate()[0]) from None
    assert process.returncode == 130, output
    assert "Traceback" not in output
    assert shop.branches() == []
    assert shop.catalog.head() == {}
    with open_reader(shop.settings.state.url) as reader:
        assert reader.runs(1)[0].status == "cancelled"
