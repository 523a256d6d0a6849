"""What is left of processes that are gone is cleared up; what lives, or may be resumed, is left alone."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.cli.test_plan import write_table
from tests.hooks.receiver import receiving
from tests.lake.places import Place
from tests.projects import FakeClock
from tidegate.config import Settings, load_settings
from tidegate.lake import BranchCatalog, EmbeddedCatalog, open_catalog
from tidegate.lake.progress import Progress
from tidegate.names import TableName
from tidegate.operations.cancel import close_run
from tidegate.operations.reap import ReapReport, reap
from tidegate.state import RunRecord, StateStore, open_reader, open_state

NOW = datetime.now(UTC)
RUN = "run-20240601-120000-001"


@pytest.fixture(autouse=True)
def now() -> None:
    """Branches tell the real time, and other tests may have taken long."""
    global NOW
    NOW = datetime.now(UTC)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return project(tmp_path)


@pytest.fixture
def store(settings: Settings) -> Iterator[StateStore]:
    with open_state(settings.state.url) as store:
        yield store


def project(root: Path, text: str = "") -> Settings:
    (root / "tidegate.toml").write_text(f'[project]\nname = "shop"\n{text}')
    return load_settings(root)


def lake_on(place: Place, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The state is on PostgreSQL where the lake is."""
    lines = ["[lake]", f'warehouse = "{place.folder / "warehouse"}"']
    if place.kind == "jdbc":
        monkeypatch.setenv("LAKE", place.address)
        lines += ['catalog = "jdbc"', 'uri = "${LAKE}"', "[state]", 'url = "${LAKE}"']
    elif place.kind == "nessie":
        uri, main = place.address.split(" ")
        lines += ['catalog = "nessie"', f'uri = "{uri}"', f'ref = "{main}"']
    return project(place.folder, "\n".join(lines) + "\n")


def begin(
    store: StateStore,
    catalog: BranchCatalog | None = None,
    run_id: str = RUN,
    pid: int | None = 1,
    host: str = "elsewhere",
    project: str = "shop",
    status: str = "running",
) -> RunRecord:
    run = RunRecord(run_id, project, "run", run_id, "run", NOW, status, heartbeat_at=NOW, pid=pid, host=host)
    store.start_run(run)
    if catalog is not None:
        catalog.create_branch(run_id)
    return run


def after(settings: Settings, dry_run: bool = False, **time: float) -> ReapReport:
    clock = FakeClock()
    clock.moment = NOW + timedelta(**time)
    return reap(settings, clock, dry_run)


def names(report: ReapReport) -> tuple[list[str], list[str]]:
    assert report.errors == ()
    return [run.name for run in report.failed_runs], [branch.name for branch in report.dropped_branches]


def branches(catalog: BranchCatalog) -> list[str]:
    return [branch.name for branch in catalog.list_branches()]


def gone() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_a_silent_run_is_failed_and_its_branch_stays_for_resume_until_it_is_old(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = lake_on(place, monkeypatch)
    catalog = open_catalog(settings)
    with open_state(settings.state.url) as store:
        begin(store, catalog)
    assert names(after(settings, minutes=29)) == ([], [])
    assert names(after(settings, minutes=31)) == ([RUN], [])
    assert names(after(settings, minutes=31)) == ([], [])
    assert branches(catalog) == [RUN]
    with open_reader(settings.state.url) as state:
        run = state.run(RUN)
        assert run is not None
        assert (run.status, run.error) == (
            "failed",
            f"No heartbeat since {NOW:%Y-%m-%d %H:%M:%S} UTC from process 1 on elsewhere",
        )
        assert run.finished_at is not None
        assert [event.name for event in state.events(RUN)] == ["pipeline_error"]
    assert names(after(settings, hours=5.9)) == ([], [])
    assert names(after(settings, hours=6.1)) == ([], [RUN])
    assert branches(catalog) == []


def test_a_sign_of_life_in_either_place_keeps_the_branch(settings: Settings, store: StateStore) -> None:
    catalog = open_catalog(settings)
    begin(store, catalog)
    store.heartbeat(RUN, NOW + timedelta(hours=7))
    assert names(after(settings, hours=7.1)) == ([], [])
    assert branches(catalog) == [RUN]
    begin(store, catalog, "run-2")
    lake = settings.lake
    EmbeddedCatalog(lake.catalog_path, lake.warehouse, clock=lambda: NOW + timedelta(hours=7)).heartbeat("run-2")
    assert names(after(settings, hours=7.2)) == (["run-2"], [])
    assert names(after(settings, hours=14)) == ([RUN], [RUN, "run-2"])


def test_a_process_that_is_here_is_left_alone_for_a_day(settings: Settings, store: StateStore) -> None:
    catalog = open_catalog(settings)
    begin(store, catalog, pid=os.getpid(), host=socket.gethostname())
    assert names(after(settings, hours=23)) == ([], [])
    assert branches(catalog) == [RUN]
    assert names(after(settings, hours=25)) == ([RUN], [RUN])


def test_a_process_that_is_gone_from_here_is_not_waited_for(settings: Settings, store: StateStore) -> None:
    begin(store, pid=gone(), host=socket.gethostname())
    assert names(after(settings, minutes=29)) == ([], [])
    assert names(after(settings, minutes=31)) == ([RUN], [])


def test_a_run_that_no_process_took_up_is_failed_after_a_day(settings: Settings, store: StateStore) -> None:
    begin(store, pid=None, host="", status="pending")
    assert names(after(settings, hours=23)) == ([], [])
    assert names(after(settings, hours=25)) == ([RUN], [])
    run = store.reader().run(RUN)
    assert run is not None
    assert (run.error or "").endswith("from no process")


def test_only_branches_that_nobody_minds_are_dropped(settings: Settings) -> None:
    catalog = open_catalog(settings)
    for name in ("run-old", "read-old", "maintain-old", "run-kept", "mine"):
        catalog.create_branch(name)
    catalog.keep_branch("run-kept")
    assert names(after(settings, hours=7)) == ([], ["run-old", "read-old", "maintain-old"])
    assert sorted(branches(catalog)) == ["mine", "run-kept"]


def test_a_dry_run_tells_the_same_and_does_nothing(settings: Settings, store: StateStore) -> None:
    catalog = open_catalog(settings)
    run = begin(store, catalog)
    told = after(settings, dry_run=True, hours=7)
    assert (names(told), told.dry_run) == (([RUN], [RUN]), True)
    assert (store.reader().run(RUN), branches(catalog)) == (run, [RUN])
    done = after(settings, hours=7)
    assert (done.failed_runs, done.dropped_branches) == (told.failed_runs, told.dropped_branches)


def test_the_times_are_those_of_the_settings(tmp_path: Path) -> None:
    settings = project(tmp_path, "[reaper]\nstuck_run_timeout_minutes = 5\nnessie_orphan_branch_max_age_hours = 1\n")
    with open_state(settings.state.url) as store:
        begin(store, open_catalog(settings))
    assert names(after(settings, minutes=6)) == ([RUN], [])
    assert names(after(settings, minutes=61)) == ([], [RUN])


def test_the_runs_of_other_projects_are_left_to_them(settings: Settings, store: StateStore) -> None:
    begin(store, project="other")
    assert names(after(settings, hours=48)) == ([], [])


def test_a_lake_that_does_not_answer_keeps_no_run_from_being_failed(settings: Settings, store: StateStore) -> None:
    begin(store, open_catalog(settings))
    settings.lake.catalog_path.write_text("not a database at all, however long one looks at it\n" * 100)
    report = after(settings, hours=7)
    assert [run.name for run in report.failed_runs] == [RUN]
    (error,) = report.errors
    assert error.startswith("orphan branches: ")


def test_no_branch_is_dropped_where_the_state_cannot_tell_who_lives(settings: Settings) -> None:
    catalog = open_catalog(settings)
    catalog.create_branch(RUN)
    settings.root.joinpath(".tidegate/state.db").write_text("not a database, whatever its name says\n" * 100)
    report = after(settings, hours=7)
    assert (report.dropped_branches, branches(catalog)) == ((), [RUN])
    assert [error.split(": ")[0] for error in report.errors] == ["stuck runs", "orphan branches"]


HOOKS = """
[[hooks]]
name = "told"
events = "*"
command = "cat >> told.json; echo >> told.json"

[[hooks]]
name = "broken"
events = ["pipeline_error"]
command = "exit 3"
on_failure = "abort"
"""


def test_hooks_and_callback_are_told_once_of_a_run_that_is_failed(tmp_path: Path) -> None:
    with receiving() as receiver:
        settings = project(tmp_path, f'{HOOKS}\n[callback]\nurl = "{receiver.url}/{{run_id}}"\n')
        with open_state(settings.state.url) as store:
            begin(store)
        assert after(settings, dry_run=True, minutes=31).errors == ()
        assert not (tmp_path / "told.json").exists()
        report = after(settings, minutes=31)
        assert names(after(settings, minutes=32)) == ([], [])
    assert [run.name for run in report.failed_runs] == [RUN]
    assert report.errors == (f"run {RUN}: hook 'broken' on pipeline_error failed: exit code 3",)
    told = [json.loads(line) for line in (tmp_path / "told.json").read_text().splitlines()]
    assert [(each["event"], each["run_id"], each["command"], each["status"]) for each in told] == [
        ("pipeline_error", RUN, "reap", "failed"),
        ("state_synced", RUN, "reap", "failed"),
    ]
    assert told[0]["error"].endswith("from process 1 on elsewhere")
    (came,) = receiver.posts
    assert (came.path, came.document["status"], came.document["run_id"]) == (f"/{RUN}", "failed", RUN)


def staged(catalog: BranchCatalog, folder: Path, run_id: str | None = RUN, mark: str = "tidegate.staging") -> TableName:
    """A table of main as a run that writes main itself leaves it when it is killed."""
    pointer = write_table(folder, (1,), Progress("", "", "full", "full_refresh"))
    file = Path(pointer.location.removeprefix("file:"))
    data = json.loads(file.read_text())
    (snapshot,) = data["snapshots"]
    snapshot["timestamp-ms"] = int(NOW.timestamp() * 1000)
    snapshot["summary"] |= {"tidegate.run-id": run_id} if run_id else {}
    file.write_text(json.dumps({**data, "properties": {mark: "true"}}))
    table = TableName("shop", "silver", f"{folder.name}__staging")
    catalog.create_namespace("main", table)
    catalog.restore("main", table, pointer)
    return table


def test_tables_that_were_to_live_for_one_write_are_dropped_from_main_when_their_run_is_over(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = lake_on(place, monkeypatch)
    catalog, root = open_catalog(settings), place.folder
    with open_state(settings.state.url) as store:
        begin(store)
    left, nobodys = staged(catalog, root / "left"), staged(catalog, root / "nobodys", None)
    users = staged(catalog, root / "users", mark="mine")
    assert after(settings, minutes=29).dropped_tables == ()
    told = after(settings, dry_run=True, minutes=31)
    assert (told.dropped_tables, set(catalog.head())) == ((), {left, nobodys, users})
    report = after(settings, minutes=31)
    assert ([table.name for table in report.dropped_tables], report.errors) == ([str(left)], ())
    assert catalog.head().keys() == {nobodys, users}
    assert [table.name for table in after(settings, hours=7).dropped_tables] == [str(nobodys)]
    assert catalog.head().keys() == {users}


def test_a_table_in_the_making_goes_at_once_where_its_process_is_known_to_be_gone(
    settings: Settings, store: StateStore
) -> None:
    catalog = open_catalog(settings)
    begin(store, pid=gone(), host=socket.gethostname())
    left = staged(catalog, settings.root / "left")
    told = after(settings, dry_run=True)
    assert ([table.name for table in told.dropped_tables], set(catalog.head())) == ([str(left)], {left})
    assert after(settings).dropped_tables == told.dropped_tables
    assert catalog.head() == {}


def test_a_run_that_has_moved_on_since_it_was_seen_is_not_closed(store: StateStore) -> None:
    seen = begin(store)
    store.finish_run(RUN, "success", finished_at=NOW, duration_ms=1)
    assert close_run(store, seen, "failed", "too late", NOW) is None
    run = store.reader().run(RUN)
    assert run is not None
    assert (run.status, run.error) == ("success", None)


def test_a_project_without_a_lake_stays_without_one(settings: Settings) -> None:
    assert names(after(settings, hours=7)) == ([], [])
    assert not (settings.root / ".tidegate").exists()
