"""A run that changes no row wakes nobody downstream."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.projects import ProjectFolder, run_types, statuses
from tidegate.runs import RunResult

pytestmark = pytest.mark.spark


@dataclass
class Story:
    """Three runs: the second gives the same rows in another way, the third other rows or nothing new."""

    shop: ProjectFolder
    results: list[RunResult]
    snapshots: list[dict[str, int | None]]


@pytest.fixture(scope="module")
def story(module_shop: ProjectFolder) -> Story:
    shop, story = module_shop, Story(module_shop, [], [])
    shop.model("bronze.orders", "SELECT * FROM {{ landing_zone('orders') }}", skip="never")
    shop.model("silver.orders", "SELECT id, count(*) AS n, max(note) AS note FROM bronze.orders GROUP BY id")
    shop.model("gold.total", "SELECT sum(n) AS n FROM silver.orders")
    shop.model("gold.a", "SELECT id FROM silver.a")
    definitions = ("SELECT id FROM range(3)", *["SELECT id FROM range(10) WHERE id < 3"] * 2)
    deliveries = ("1,a\n1,\n2,b\n", "2,b\n1,a\n1,\n", "2,b\n1,a\n1,c\n")
    for definition, rows in zip(definitions, deliveries, strict=True):
        shop.model("silver.a", definition)
        shop.file("landing/orders/a.csv", f"id,note\n{rows}")
        story.results.append(shop.run())
        tables = {str(name): shop.main.table(name) for name in shop.main.heads()}
        story.snapshots.append({name: t.current_snapshot_id for name, t in tables.items() if t is not None})
    return story


def test_an_upstream_full_refresh_that_gives_the_same_rows_does_not_run_its_downstreams(story: Story) -> None:
    _, second, third = story.results
    names = ("bronze.orders", "silver.orders", "gold.total")
    assert run_types(second)["bronze.orders"] == "full"
    assert [statuses(second)[name] for name in names] == ["completed", "skipped", "skipped"]
    assert len(story.snapshots[0]) == 5
    assert story.snapshots[1] == story.snapshots[0]
    assert [statuses(third)[name] for name in names] == ["completed"] * 3
    assert story.shop.rows("silver.orders") == [(1, 2, "c"), (2, 1, "b")]


def test_a_changed_definition_that_gives_the_same_rows_does_not_run_its_downstreams(story: Story) -> None:
    types = [(run_types(result)["silver.a"], run_types(result)["gold.a"]) for result in story.results[1:]]
    assert types == [("backfill", "skip"), ("skip", "skip")]
