"""What `tidegate reap` says, without a JVM."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.cli.calling import Call
from tests.operations.test_reap import staged
from tidegate.config import load_settings
from tidegate.lake import EmbeddedCatalog, open_catalog
from tidegate.state import RunRecord, open_state

LONG_AGO = datetime(2024, 6, 1, 12, 0, 0, tzinfo=UTC)
RUN = "run-20240601-120000-001"


def begin(project: Path) -> None:
    with open_state(f"sqlite:///{project}/.tidegate/state.db") as store:
        beat = LONG_AGO + timedelta(minutes=1)
        store.start_run(
            RunRecord(RUN, "shop", "run", RUN, "run", LONG_AGO, "running", heartbeat_at=beat, pid=7, host="elsewhere")
        )
    EmbeddedCatalog(
        project / ".tidegate/catalog.db", project / ".tidegate/warehouse", clock=lambda: LONG_AGO
    ).create_branch(RUN)


def test_what_was_done_is_told_line_by_line(project: Path, tidegate: Call) -> None:
    begin(project)
    would = tidegate("reap", "--dry-run")
    assert (would.code, would.out.splitlines()) == (
        0,
        [
            f"run {RUN} would be failed: no heartbeat since 2024-06-01 12:01:00 UTC",
            f"branch {RUN} would be dropped: no heartbeat since 2024-06-01 12:00:00 UTC",
        ],
    )
    document = tidegate("reap", "--json").document
    assert [run["name"] for run in document["failed_runs"]] == [RUN]
    assert [branch["name"] for branch in document["dropped_branches"]] == [RUN]
    assert (document["status"], document["errors"], document["dry_run"]) == ("success", [], False)
    assert tidegate("reap").out == "Nothing to do.\n"
    assert "No heartbeat since 2024-06-01 12:01:00 UTC from process 7 on elsewhere" in tidegate("logs", RUN).out


def test_a_table_that_a_killed_run_left_on_main_is_told(project: Path, tidegate: Call) -> None:
    begin(project)
    staged(open_catalog(load_settings(project)), project / "left", RUN)
    line = "table shop.silver.left__staging dropped: a run that wrote main itself was killed while it made it"
    assert line in tidegate("reap").out.splitlines()
    assert tidegate("reap").out == "Nothing to do.\n"


def test_what_could_not_be_done_is_told_and_makes_the_exit_code_2(project: Path, tidegate: Call) -> None:
    begin(project)
    (project / ".tidegate/catalog.db").write_text("not a database at all, however long one looks at it\n" * 100)
    told = tidegate("reap")
    assert told.code == 2
    assert f"run {RUN} failed" in told.out
    assert "[WARN] orphan branches: " in told.out


def test_the_setting_that_moved_is_told_with_its_new_place(project: Path, tidegate: Call) -> None:
    (project / "tidegate.toml").write_text("[maintenance]\norphan_branch_max_age_hours = 3\n")
    told = tidegate("reap")
    assert told.code == 1
    assert "'orphan_branch_max_age_hours' is not in [maintenance] any more: write it in [reaper]" in told.err


def test_one_setting_under_both_of_its_names_is_refused(project: Path, tidegate: Call) -> None:
    (project / "tidegate.toml").write_text(
        "[reaper]\norphan_branch_max_age_hours = 3\nnessie_orphan_branch_max_age_hours = 4\n"
    )
    assert "is another name of 'orphan_branch_max_age_hours': keep one" in tidegate("reap").err
