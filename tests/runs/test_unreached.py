"""Readers of a table whose rows changed, where none of those rows reaches them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from tests.projects import ProjectFolder
from tidegate.results import ModelResult
from tidegate.runs import RunResult
from tidegate.spark.session import child_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SKIPPED = ("skipped", "skip", "no changed row reaches it")
ORDERS = (
    "SELECT id, IF(id % 4 = 0, 'de', IF(id % 4 = 1, 'fr', 'it')) AS country, id * 10 AS amount, 'x' AS note"
    " FROM range(40)"
)
KEYED = {"merge_strategy": "incremental", "unique_key": "id"}
ALWAYS = {"deltas": "always"}
MODELS = {
    "filtered": ("SELECT id, amount FROM src.orders WHERE country = 'fr'", {**KEYED, **ALWAYS}),
    "reached": ("SELECT id, amount FROM src.orders WHERE country = 'de'", {**KEYED, **ALWAYS}),
    "left": ("SELECT id, amount FROM src.orders WHERE amount = 40 OR country = 'it'", {**KEYED, **ALWAYS}),
    "grouped": ("SELECT country, count(*) AS n FROM src.orders WHERE country <> 'de' GROUP BY country", ALWAYS),
    "unread": ("SELECT id, country FROM src.orders", {**KEYED, **ALWAYS}),
    "versions": (
        "SELECT id, amount FROM src.orders WHERE country = 'it'",
        {"merge_strategy": "scd2", "unique_key": "id", **ALWAYS},
    ),
    "total": ("SELECT sum(amount) AS total FROM src.orders WHERE country = 'fr'", {}),
    "joined": ("SELECT o.id, n.name FROM src.orders o JOIN src.names n ON o.country = n.country", {**KEYED, **ALWAYS}),
    "checked": (
        "SELECT id, amount FROM src.orders WHERE country = 'fr'",
        {**KEYED, **ALWAYS, "constraint": "references(id, src.ids, id)"},
    ),
    "never": ("SELECT id, amount FROM src.orders WHERE country = 'fr'", {**KEYED, **ALWAYS, "skip": "never"}),
    "below": ("SELECT count(*) AS n FROM silver.filtered", {}),
}
CHANGES = (
    "UPDATE shop.src.orders SET amount = amount + 1 WHERE country = 'de'",
    "DELETE FROM shop.src.orders WHERE id = 8",
    "UPDATE shop.src.names SET note = 'new'",
)


@dataclass
class Story:
    """A first run, one after the changes, one after nothing, and one after a row moved into a filter."""

    shop: ProjectFolder
    results: list[RunResult] = field(default_factory=list)
    snapshots: list[int | None] = field(default_factory=list)

    def of(self, name: str, number: int = 1) -> ModelResult:
        return next(m for m in self.results[number].materializations if m.model == f"silver.{name}")

    def ended(self, name: str, number: int = 1) -> tuple[str, str | None, str]:
        result = self.of(name, number)
        return result.status, result.run_type, result.reason


@pytest.fixture(scope="module")
def story(module_shop: ProjectFolder, spark: SparkSession) -> Iterator[Story]:
    shop, story = module_shop, Story(module_shop)
    catalog = shop.catalog
    session = child_session(spark, catalog.spark_conf("main"), catalog.spark_catalog("main"))
    session.conf.set("spark.sql.shuffle.partitions", "1")
    session.sql("CREATE NAMESPACE shop.src")
    session.sql(f"CREATE TABLE shop.src.orders AS {ORDERS}")
    session.sql("CREATE TABLE shop.src.ids AS SELECT id FROM range(40)")
    session.sql(
        "CREATE TABLE shop.src.names AS SELECT * FROM VALUES ('de', 'D', ''), ('fr', 'F', '') t(country, name, note)"
    )
    for name, (sql, directives) in MODELS.items():
        shop.model(f"silver.{name}", sql, **directives)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tidegate.runs.build.shared_changes._WORTH_SECONDS", 0.0)
        story.results.append(shop.run())
        for statement in CHANGES:
            session.sql(statement)
        story.results.append(shop.run())
        story.results.append(shop.run())
        session.sql("UPDATE shop.src.orders SET country = 'fr' WHERE id = 4")
        story.results.append(shop.run())
    yield story
    views = spark.sql("SHOW VIEWS IN global_temp").collect()
    assert not [view for view in views if view["viewName"].startswith("tidegate_changes_")]


def test_a_reader_whose_filter_leaves_nothing_is_skipped(story: Story) -> None:
    for name in ("filtered", "grouped", "versions", "total"):
        assert story.ended(name) == SKIPPED, name


def test_columns_that_a_reader_does_not_use_do_not_reach_it(story: Story) -> None:
    assert story.ended("joined")[0] == "completed"  # a row was deleted
    assert story.ended("unread")[0] == "completed"
    assert story.of("unread").rows_deleted == 1


def test_a_row_that_left_the_filter_reaches_its_reader(story: Story) -> None:
    assert story.of("left").rows_deleted == 1
    assert story.shop.rows("SELECT count(*) FROM silver.left") == [(20,)]


def test_what_a_check_or_a_setting_asks_for_is_built(story: Story) -> None:
    assert story.ended("checked")[:2] == ("completed", "incremental")
    assert story.ended("never")[:2] == ("completed", "incremental")


def test_a_skipped_table_is_up_to_date_for_the_next_run_and_for_its_readers(story: Story) -> None:
    assert story.ended("below")[2] == "unchanged"
    assert {m.reason for m in story.results[2].materializations if m.model != "silver.never"} == {"unchanged"}
    assert "silver.filtered" in story.results[1].publish.tables


def test_what_is_skipped_once_is_built_when_a_row_reaches_it(story: Story) -> None:
    for name in ("filtered", "grouped", "total", "reached"):
        assert story.ended(name, 3)[0] == "completed", name
    assert story.shop.rows("SELECT sum(amount) FROM silver.filtered") == story.shop.rows("silver.total")
    assert (4, 41) in story.shop.rows("silver.filtered")
    assert story.ended("versions", 3) == SKIPPED
