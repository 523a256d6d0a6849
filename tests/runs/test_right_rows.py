"""Ways in which rows could be lost, doubled or overwritten, and are not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.projects import ProjectFolder, run_types, statuses
from tidegate.errors import TidegateError
from tidegate.results import ModelResult
from tidegate.runs import RunResult
from tidegate.spark.session import child_session

pytestmark = pytest.mark.spark

APPEND = {"merge_strategy": "append_only"}
AFTER_TWO = ("SELECT n FROM gold.typed_log", "silver.viewed", "silver.seen", "silver.mine")
ZONE = "SELECT * FROM {{{{ landing_zone('{}') }}}}".format


@dataclass
class Story:
    """Three runs of one project, and a full refresh of two of its models. Every test has models of its own."""

    shop: ProjectFolder
    results: list[RunResult] = field(default_factory=list)
    after_two: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)

    def of(self, number: int, name: str) -> ModelResult:
        return next(m for m in self.results[number].materializations if m.model == name)


@pytest.fixture(scope="module")
def story(module_shop: ProjectFolder) -> Story:
    shop, story = module_shop, Story(module_shop)
    session = child_session(shop.spark, shop.catalog.spark_conf("main"), "main")
    session.sql("CREATE NAMESPACE IF NOT EXISTS shop.silver")
    session.sql("CREATE TABLE shop.silver.mine USING iceberg AS SELECT 7 AS x")
    write_models(shop)
    write_typed(shop, "1")
    deliver(
        shop,
        {
            "rates/a": "currency,rate\nEUR,2\n",
            "orders/a": "id,currency\n1,EUR\n",
            "items/a": "kind,n\na,1\na,1\nb,5\n",
            "ids/a": "id\n1\n2\n",
            "other/a": "id\n1\n",
            "log/a": "n\n1\n",
        },
    )
    story.results.append(shop.run())

    (shop.root / "landing/other/a.csv").unlink()
    deliver(
        shop,
        {
            "orders/b": "id,currency\n2,EUR\n",
            "items/b": "kind,n\na,1\na,2\n",
            "ids/b": "id\n2\n3\n",
            "other/b": "id\n2\n",
            "log/b": "n\n2\n",
        },
    )
    write_typed(shop, "'1'", ", 'b', CAST(NULL AS INT)")
    shop.model("silver.viewed", "SELECT id FROM bronze.a", **APPEND)
    shop.model("silver.failing", "SELECT 1 DIV (id - 1) AS id FROM bronze.a", **APPEND)
    shop.model("bronze.other", ZONE("other"))
    story.results.append(shop.run())
    story.after_two = shop.rows_of(*AFTER_TWO)

    deliver(shop, {"log/c": "n\n3\n"})
    write_typed(shop, "'2'", ", 'b', CAST(NULL AS INT)")
    shop.model("silver.viewed", "SELECT id + 1 AS id FROM bronze.a", materialized="view")
    story.results.append(shop.run())
    story.results.append(shop.run("silver.seen", "silver.mine", full_refresh=True, confirmed=True))
    return story


def deliver(shop: ProjectFolder, files: dict[str, str]) -> None:
    for path, text in files.items():
        shop.file(f"landing/{path}.csv", text)


def write_typed(shop: ProjectFolder, number: str, more: str = "") -> None:
    body = f"SELECT {number} AS n, map('k', {number}) AS tags, named_struct('a', 1{more}) AS s"
    shop.model("silver.typed", f"{body} UNION ALL {body}")


def write_models(shop: ProjectFolder) -> None:
    shop.model("bronze.orders", ZONE("orders"), **APPEND)
    rates = "bronze.orders o LEFT JOIN {{ landing_zone('rates') }} r ON o.currency = r.currency"
    shop.model("silver.orders", f"SELECT o.id, r.rate FROM {rates}", merge_strategy="incremental", unique_key="id")
    shop.model("bronze.items", ZONE("items"), **APPEND)
    shop.model("silver.groups", "SELECT kind, n FROM bronze.items", merge_strategy="tracked", group_key="kind")
    shop.model("gold.groups_log", "SELECT kind, n FROM silver.groups", **APPEND)
    shop.model("gold.typed_log", "SELECT n, tags FROM silver.typed", **APPEND)
    shop.model("bronze.a", "SELECT id FROM range(3)")
    shop.model("silver.viewed", "SELECT id FROM bronze.a", materialized="view")
    shop.model("silver.failing", "SELECT id FROM bronze.a", materialized="view")
    shop.model("bronze.ids", ZONE("ids"), **APPEND)
    shop.model("silver.seen", "SELECT id FROM bronze.ids WHERE id NOT IN (SELECT id FROM {{ this }})", **APPEND)
    shop.model("silver.mine", "SELECT 1 AS x", **APPEND)
    shop.model("bronze.other", ZONE("other"), **APPEND)
    shop.model("bronze.log", ZONE("log"), **APPEND)
    newer = "{% if is_incremental() %} WHERE n > (SELECT max(n) FROM {{ this }}) {% endif %}"
    shop.model("silver.log", f"SELECT n FROM bronze.log {newer}", **APPEND)


def test_only_the_models_that_must_not_be_built_fail(story: Story) -> None:
    failed = [{name for name, status in statuses(r).items() if status == "failed"} for r in story.results]
    refused = {"silver.mine", "silver.failing", "bronze.other"}
    assert failed == [{"silver.mine"}, refused, refused, set()]


def test_a_zone_that_is_looked_up_is_read_whole(story: Story) -> None:
    assert story.shop.rows("silver.orders") == [(1, 2), (2, 2)]


def test_append_below_groups_that_are_replaced_takes_each_row_once(story: Story) -> None:
    assert story.shop.rows("gold.groups_log") == [("a", 1), ("a", 1), ("a", 1), ("a", 2), ("b", 5)]


def test_append_below_a_rewritten_table_compares_in_the_types_it_has_now(story: Story) -> None:
    assert story.after_two["SELECT n FROM gold.typed_log"] == [("1",), ("1",)]
    assert story.shop.rows("SELECT count(*) FROM gold.typed_log") == [(4,)]


def test_a_view_that_becomes_a_table_begins_with_all_rows(story: Story) -> None:
    assert run_types(story.results[1])["silver.viewed"] == "backfill"
    assert story.after_two["silver.viewed"] == [(0,), (1,), (2,)]
    assert story.shop.rows("silver.viewed") == [(1,), (2,), (3,)]


def test_a_view_whose_table_fails_still_stands(story: Story) -> None:
    assert story.of(1, "silver.failing").status == "failed"
    assert story.shop.rows("silver.failing") == [(0,), (1,), (2,)]


def test_a_model_that_reads_itself_is_rebuilt_from_nothing_only_when_asked(story: Story) -> None:
    assert story.after_two["silver.seen"] == [(1,), (2,), (3,)]
    with pytest.raises(TidegateError, match="keep history"):
        story.shop.run("silver.seen", full_refresh=True)
    assert story.of(3, "silver.seen").status == "completed"
    assert story.shop.rows("SELECT DISTINCT id FROM silver.seen") == [(1,), (2,), (3,)]


def test_a_table_that_no_model_made_is_not_touched(story: Story) -> None:
    assert "no model made it" in (story.of(0, "silver.mine").error or "")
    assert story.after_two["silver.mine"] == [(7,)]
    assert story.of(3, "silver.mine").status == "completed"
    assert story.shop.rows("silver.mine") == [(1,)]


def test_a_strategy_that_keeps_other_rows_is_refused(story: Story) -> None:
    assert "were written by append_only" in (story.of(1, "bronze.other").error or "")
    assert story.shop.rows("bronze.other") == [(1,)]


def test_an_author_who_decides_what_to_append_is_told_that_the_table_exists(story: Story) -> None:
    assert story.shop.rows("silver.log") == [(1,), (2,), (3,)]


def test_a_query_that_gives_a_name_twice_shows_both_columns(story: Story) -> None:
    sql = "SELECT o.id, t.id FROM bronze.other o LEFT JOIN bronze.ids t ON o.id = -t.id"
    assert story.shop.rows(sql) == [(1, None)]


def test_an_interval_that_is_not_over_is_not_done(shop: ProjectFolder) -> None:
    shop.model("bronze.days", "SELECT * FROM {{ landing_zone('days') }}", merge_strategy="append_only")
    shop.model(
        "silver.days",
        "SELECT day, n FROM bronze.days",
        merge_strategy="time_interval",
        time_column="day",
        first_partition="2024-01-01",
    )
    shop.file("landing/days/a.csv", "day,n\n2024-01-01,1\n")
    shop.clock.set("2024-01-02T06:00:00")
    from_, to = shop.clock.now().replace(day=1, hour=0), shop.clock.now().replace(day=4, hour=0)
    assert shop.run(from_=from_, to=to).exit_code == 0
    shop.file("landing/days/b.csv", "day,n\n2024-01-02,2\n2024-01-03,3\n")
    shop.clock.set("2024-01-04T06:00:00")
    shop.run()
    assert shop.rows("SELECT n FROM silver.days") == [(1,), (2,), (3,)]


def test_a_changed_definition_reaches_every_interval(shop: ProjectFolder) -> None:
    def write(factor: int) -> None:
        shop.model(
            "silver.days",
            f"SELECT DATE '2024-01-01' AS day, 1 * {factor} AS n UNION ALL SELECT DATE '2024-01-02', 2 * {factor}",
            merge_strategy="time_interval",
            time_column="day",
            first_partition="2024-01-01",
        )

    shop.clock.set("2024-01-03T06:00:00")
    write(1)
    shop.run()
    write(10)
    shop.run(from_=shop.clock.now().replace(day=2, hour=0), to=shop.clock.now().replace(day=3, hour=0))
    assert shop.rows("SELECT n FROM silver.days") == [(1,), (20,)]
    shop.run()
    assert shop.rows("SELECT n FROM silver.days") == [(10,), (20,)]
    assert statuses(shop.run()) == {"silver.days": "skipped"}
