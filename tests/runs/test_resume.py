"""A run that was interrupted or failed goes on where it was: nothing that is right already is built again."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.pointer_run import run_in_process
from tests.projects import ProjectFolder, statuses
from tests.recorded import files_taken, is_current, progress_of
from tidegate.hooks.events import Event
from tidegate.runs.options import LATEST
from tidegate.runs.result import KEPT, RunResult
from tidegate.state import RunRecord, open_reader, open_state

WAVES, WIDTH = 4, 5


def reasons(result: RunResult) -> dict[str, str]:
    return {m.model: m.reason for m in result.materializations}


def written(events: Sequence[Event]) -> list[str]:
    return sorted(str(event.model) for event in events if event.name == "before_materialize")


def latest(shop: ProjectFolder) -> RunRecord:
    with open_reader(shop.settings.state.url) as reader:
        return reader.runs(1)[0]


def test_after_a_kill_at_60_percent_of_20_models_only_the_rest_is_executed(pointer_shop: ProjectFolder) -> None:
    """Twelve are put down; of the thirteenth, rows and checks are on the branch, but nobody said so."""
    shop, names = pointer_shop, []
    for number in range(WAVES * WIDTH):
        wave, place = divmod(number, WIDTH)
        names.append(f"w{wave}.m{number:02}")
        if wave == 0:
            shop.model(names[-1], f"SELECT {number} AS n, '{{{{ run_started_at }}}}' AS at")
        else:
            one, two = (f"w{wave - 1}.m{(wave - 1) * WIDTH + at % WIDTH:02}" for at in (place, place + 1))
            shop.model(names[-1], f"SELECT a.n + b.n + {number} AS n, a.at FROM {one} AS a CROSS JOIN {two} AS b")
    killed = run_in_process(shop.root, "before_entry@13")
    assert killed.returncode == -signal.SIGKILL, killed.stdout + killed.stderr
    assert (shop.catalog.head(), shop.branches()) == ({}, [latest(shop).run_id])
    before = latest(shop)
    with open_reader(shop.settings.state.url) as reader:
        done = [entry.model.removeprefix("shop.") for entry in reader.progress_entries(before.run_id)]
        seen = len(reader.events(before.run_id))
        first = {model.model: model for model in reader.model_runs(before.run_id)}
    assert len(done) == 12

    result = shop.run(resume=LATEST)

    rest = sorted({*names} - {*done})
    assert (result.exit_code, result.run_id, result.resumes) == (0, before.run_id, 1)
    assert (result.started_at, latest(shop).status) == (before.started_at, "success")
    assert {name for name, reason in reasons(result).items() if reason == KEPT} == set(done)
    assert sorted(shop.builder.builds) == rest
    with open_reader(shop.settings.state.url) as reader:
        events = reader.events(before.run_id)
        models = {model.model: model for model in reader.model_runs(before.run_id)}
    assert sorted(e.model for e in events[seen:] if e.name == "before_materialize" and e.model) == rest
    assert [e.data["resumes"] for e in events if e.name == "pipeline_start" and "resumes" in e.data] == [1]
    assert {name: models[name] for name in done} == first
    assert {models[name].status for name in rest} == {"completed"}
    assert shop.built_by() == dict.fromkeys(names, before.run_id)
    assert all(is_current(shop, name) for name in names if not name.startswith("w0"))
    assert shop.branches() == []


@pytest.mark.spark
def test_rows_and_profiles_of_what_is_kept_are_those_of_the_first_attempt(shop: ProjectFolder) -> None:
    shop.model("a.clock", "SELECT current_timestamp() AS at, 1 AS x")
    shop.model("a.bad", "SELECT 1 AS x", audit="row_count(>, 1)")
    shop.model("b.on_bad", "SELECT b.x, at FROM a.bad AS b JOIN a.clock USING (x)")
    shop.profiles = True
    failed = shop.run(publish="all")
    assert (failed.status, failed.branch_kept_for, shop.catalog.head()) == ("partial", "resume", {})

    shop.model("a.bad", "SELECT 1 AS x UNION ALL SELECT 2", audit="row_count(>, 1)")
    shop.events.clear()
    result = shop.run(resume=failed.run_id)
    assert (result.status, reasons(result)["a.clock"]) == ("success", KEPT)
    assert written(shop.events) == ["a.bad", "b.on_bad"]
    assert shop.rows("SELECT x, c.at = b.at FROM a.clock AS c JOIN b.on_bad AS b USING (x)") == [(1, True)]
    with open_reader(shop.settings.state.url) as reader:
        assert [profile.run_id for profile in reader.profiles("a.clock")] == [failed.run_id]


def test_all_or_nothing_waits_for_the_one_that_failed(pointer_shop: ProjectFolder) -> None:
    shop = pointer_shop
    shop.builder.failing_checks = {"row_count(>, 1)": 1}
    shop.model("a.files", "SELECT * FROM {{ landing_zone('events') }}", merge_strategy="append_only")
    shop.file("landing/events/1.csv", "id,n\n1,1\n")
    shop.model("a.clock", "SELECT current_timestamp() AS at, 1 AS x")
    shop.model("a.shown", "SELECT n FROM a.files", materialized="view")
    shop.model("a.changed", "SELECT 1 AS x")
    shop.model("a.bad", "SELECT 1 AS x", audit="row_count(>, 1)")
    shop.model("b.on_clock", "SELECT x, at FROM a.clock")
    shop.model("b.on_changed", "SELECT x FROM a.changed")
    shop.model("b.on_bad", "SELECT x FROM a.bad")

    failed = shop.run(publish="all")
    assert (failed.status, failed.branch_kept_for, failed.publish.tables) == ("partial", "resume", ())
    assert statuses(failed)["b.on_bad"] == "blocked"
    assert (shop.catalog.head(), shop.branches()) == ({}, [failed.run_id])
    with open_reader(shop.settings.state.url) as reader:
        entries = reader.progress_entries(failed.run_id)
        assert ("shop.a.files", "events/1.csv") in [(entry.model, entry.file) for entry in entries]

    shop.model("a.bad", "SELECT 1 AS x UNION ALL SELECT 2", audit="row_count(>, 1)")
    shop.builder.failing_checks.clear()
    shop.model("a.changed", "SELECT 2 AS x")
    shop.events.clear()
    result = shop.run(resume=failed.run_id)
    assert (result.status, result.run_id, shop.branches()) == ("success", failed.run_id, [])
    assert written(shop.events) == ["a.bad", "a.changed", "b.on_bad", "b.on_changed"]
    told = reasons(result)
    assert {name for name, reason in told.items() if reason == KEPT} == {"a.clock", "a.files", "a.shown", "b.on_clock"}
    assert told["a.changed"] == "first run; built before the run was interrupted, but its definition changed"
    assert len(result.publish.tables) == 8
    assert all(is_current(shop, name) for name in ("b.on_clock", "b.on_changed", "b.on_bad"))
    assert files_taken(shop, "a.files", "events") == ["1.csv"]
    again = shop.run(resume=LATEST)
    assert (again.repeated, again.exit_code, again.publish) == (True, 0, result.publish)


def test_a_run_that_failed_in_part_builds_only_what_failed_and_what_that_blocked(
    pointer_shop: ProjectFolder,
) -> None:
    shop = pointer_shop
    shop.builder.failing_checks = {"row_count(>, 1)": 1}
    shop.model("a.source", "SELECT 1 AS x")
    assert shop.run().exit_code == 0
    shop.model("a.good", "SELECT current_timestamp() AS at")
    shop.model("a.reads", "SELECT x FROM a.source")
    shop.model("a.bad", "SELECT 1 AS x", audit="row_count(>, 1)")
    shop.model("b.below", "SELECT x FROM a.bad")
    failed = shop.run(full_refresh=True)
    assert (failed.status, sorted(failed.publish.tables)) == ("partial", ["a.good", "a.reads", "a.source"])

    shop.model("a.source", "SELECT 2 AS x")
    assert shop.run("a.source").exit_code == 0  # somebody else, meanwhile
    shop.model("a.bad", "SELECT 7 AS x", audit="row_count(>, 0)")
    shop.events.clear()
    result = shop.run(resume=failed.run_id)
    # A full refresh makes anew what it did not make itself: the source is another run's by now.
    assert written(shop.events) == ["a.bad", "a.reads", "a.source", "b.below"]
    assert (result.status, reasons(result)["a.good"]) == ("success", KEPT)
    assert reasons(result)["a.reads"].startswith("--full-refresh; built before the run was interrupted, but a.source ")
    assert is_current(shop, "b.below")
    assert is_current(shop, "a.reads")
    assert progress_of(shop, "a.good").run_id == failed.run_id


def test_whoever_lost_the_run_publishes_nothing_and_leaves_its_branch(pointer_shop: ProjectFolder) -> None:
    shop = pointer_shop
    shop.model("a.one", "SELECT 1 AS x", audit="row_count(>, 0)")

    def lose(event: Event) -> None:
        if event.name == "after_checks":
            with open_state(shop.settings.state.url) as other:
                seen = other.reader().run(event.run_id)
                assert seen is not None
                assert other.take_over(seen, replace(seen, pid=1, host="elsewhere", resumes=1))

    result = shop.run(listener=lose)
    assert (result.status, result.failure_kind) == ("failed", "Cancelled")
    assert result.error == "Another process resumed this run: 1 on elsewhere"
    assert (shop.catalog.head(), shop.branches()) == ({}, [result.run_id])
    now = latest(shop)
    assert (now.status, now.host, now.result) == ("running", "elsewhere", None)
