"""When what was built reaches main: by run, wave, model, or all together."""

from __future__ import annotations

import pytest

from tests.projects import FAILS, ProjectFolder, statuses
from tidegate.operations.publish import publish_run


@pytest.fixture
def waves(pointer_shop: ProjectFolder) -> ProjectFolder:
    """Wave 1: a.good, a.bad. Wave 2: b.reads_good. On its own in wave 2: b.free (reads a.other)."""
    pointer_shop.model("a.good", "SELECT 1 AS x")
    pointer_shop.model("a.bad", FAILS)
    pointer_shop.model("b.reads_good", "SELECT * FROM a.good")
    return pointer_shop


def test_mode_run_publishes_every_success_at_the_end(waves: ProjectFolder) -> None:
    result = waves.run(publish="run")
    assert set(result.publish.tables) == {"a.good", "b.reads_good"}
    assert len([event for event in waves.events if event.name == "published"]) == 1


def test_mode_wave_holds_back_a_wave_with_a_failure_and_what_reads_it(waves: ProjectFolder) -> None:
    result = waves.run(publish="wave")
    assert result.publish.tables == ()
    assert statuses(result)["b.reads_good"] == "blocked"
    held = [event.data["message"] for event in waves.events if event.data.get("phase") == "publish"]
    assert held == ["Not published: a.good. a.bad failed, and --publish wave holds back the rest of its wave."]
    waves.model("a.bad", "SELECT 1 AS x")
    waves.model("b.shown", "SELECT x FROM a.good", materialized="view")
    result = waves.run(publish="wave")
    published = [event.data["tables"] for event in waves.events if event.name == "published"]
    assert published == [["a.bad", "a.good"], ["b.reads_good", "b.shown"]]
    assert result.exit_code == 0

    # Also what sees it through a view that is not selected, or only in its checks.
    waves.model("a.good", "SELECT 2 AS x")
    waves.model("a.bad", FAILS)
    waves.model("c.through_view", "SELECT x FROM b.shown")
    waves.model("c.refers", "SELECT 2 AS x", constraint="references(x, a.good, x)")
    result = waves.run("a.*", "c.*", publish="wave")
    told = {m.model: m.reason for m in result.materializations if m.status == "blocked"}
    why = "blocked: upstream not published (a.good)"
    assert (told, result.publish.tables) == ({"c.refers": why, "c.through_view": why}, ())


def test_mode_model_publishes_each_as_soon_as_it_passed(waves: ProjectFolder) -> None:
    result = waves.run(publish="model")
    assert set(result.publish.tables) == {"a.good", "b.reads_good"}
    published = [event.data["tables"] for event in waves.events if event.name == "published"]
    assert published == [["a.good"], ["b.reads_good"]]
    assert result.exit_code == 2


def test_mode_all_publishes_only_if_everything_succeeded(waves: ProjectFolder) -> None:
    result = waves.run(publish="all")
    assert (result.publish.tables, waves.catalog.head()) == ((), {})
    held = [event.data["message"] for event in waves.events if event.data.get("phase") == "publish"]
    assert held == ["Not published: a.good, b.reads_good. a.bad failed, and --publish all holds back every table."]
    assert (result.branch_kept_for, waves.branches()) == ("resume", [result.run_id])
    waves.model("a.bad", "SELECT 2 AS x")
    assert set(waves.run(publish="all").publish.tables) == {"a.bad", "a.good", "b.reads_good"}


def test_no_publish_keeps_the_branch_for_publish(pointer_shop: ProjectFolder) -> None:
    shop = pointer_shop
    shop.model("a.one", "SELECT 1 AS x")
    result = shop.run(no_publish=True)
    assert (result.status, result.publish.tables, shop.catalog.head()) == ("success", (), {})
    assert shop.branches() == [result.run_id]
    published = publish_run(shop.settings, result.run_id)
    assert published.publish.tables == ("a.one",)
    assert shop.built_by() == {"a.one": result.run_id}
    assert shop.branches() == []


@pytest.mark.spark
def test_selection_and_variables(shop: ProjectFolder) -> None:
    shop.model("a.one", "SELECT {{ var('n', 1) }} AS x")
    shop.model("b.two", "SELECT x + 1 AS x FROM a.one")
    shop.model("b.three", "SELECT 3 AS x", tags="nightly")
    assert set(statuses(shop.run("+b.two", vars={"n": "5"}))) == {"a.one", "b.two"}
    assert shop.rows("b.two") == [(6,)]
    assert set(statuses(shop.run("tag:nightly"))) == {"b.three"}
    missing = shop.run("b.two", full_refresh=True)
    assert missing.exit_code == 0


def test_a_model_whose_upstream_was_never_built_says_so(pointer_shop: ProjectFolder) -> None:
    pointer_shop.model("a.one", "SELECT 1 AS x")
    pointer_shop.model("b.two", "SELECT * FROM a.one")
    result = pointer_shop.run("b.two")
    assert result.exit_code == 1
    assert result.materializations[0].error == "a.one has not been built yet"
    assert "+b.two" in (result.materializations[0].remedy or "")
