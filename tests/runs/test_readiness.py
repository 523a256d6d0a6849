"""A model of a run starts when what it waits for has ended, whatever else is still being built."""

from __future__ import annotations

import threading

import pytest

from tests.projects import ProjectFolder, statuses
from tidegate.compiler.compiled import CompiledModel
from tidegate.lake.branch_catalog import MAIN
from tidegate.names import TableName
from tidegate.runs.context import RunContext

SLOW, QUICK = (TableName("shop", "a", name) for name in ("slow", "quick"))


@pytest.fixture
def shop(pointer_shop: ProjectFolder) -> ProjectFolder:
    pointer_shop.model("a.slow", "SELECT 1 AS x")
    pointer_shop.model("a.quick", "SELECT 1 AS x")
    pointer_shop.model("b.reader", "SELECT x FROM a.quick")
    return pointer_shop


@pytest.mark.parametrize("publish", ["run", "model", "all"])
def test_a_reader_of_a_quick_model_does_not_wait_for_a_slow_one(shop: ProjectFolder, publish: str) -> None:
    begun = threading.Event()

    def wait(run: RunContext, model: CompiledModel) -> None:
        assert begun.wait(30)

    shop.builder.while_building = {"a.slow": wait, "b.reader": lambda run, model: begun.set()}
    result = shop.run(concurrency=2, publish=publish)
    assert (result.exit_code, set(result.publish.tables)) == (0, {"a.slow", "a.quick", "b.reader"})


def test_what_waits_through_a_view_that_is_not_selected_waits_for_the_table(shop: ProjectFolder) -> None:
    shop.model("b.view", "SELECT x FROM a.quick", materialized="view")
    shop.model("c.reader", "SELECT x FROM b.view")
    assert shop.run().exit_code == 0
    shop.model("a.quick", "SELECT 2 AS x")
    shop.model("c.reader", "SELECT x + 1 AS x FROM b.view")
    shop.builder.builds.clear()
    assert shop.run("a.quick", "c.reader", concurrency=2).exit_code == 0
    assert shop.builder.builds == ["a.quick", "c.reader"]


def test_by_wave_a_reader_waits_until_the_whole_wave_of_its_upstream_is_published(shop: ProjectFolder) -> None:
    seen: list[set[TableName]] = []
    shop.builder.while_building = {"b.reader": lambda run, model: seen.append(set(run.catalog.head(MAIN)))}
    result = shop.run(concurrency=2, publish="wave")
    assert (result.exit_code, seen) == (0, [{SLOW, QUICK}])
    published = [event.data["tables"] for event in shop.events if event.name == "published"]
    assert published == [["a.quick", "a.slow"], ["b.reader"]]


def test_a_failed_model_holds_back_its_wave_also_where_a_reader_was_ready_before(shop: ProjectFolder) -> None:
    def fail(run: RunContext, model: CompiledModel) -> None:
        raise ValueError("no")

    shop.builder.while_building = {"a.slow": fail}
    result = shop.run(concurrency=2, publish="wave")
    assert statuses(result) == {"a.slow": "failed", "a.quick": "completed", "b.reader": "blocked"}
    assert (result.publish.tables, shop.catalog.head()) == ((), {})
    assert "b.reader" not in shop.builder.builds
