"""Models that are brought up to date from changes alone, and what happens where that is not enough."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from tests.projects import ProjectFolder, run_types
from tidegate.results import ModelResult
from tidegate.runs import RunResult
from tidegate.spark.session import child_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TABLES = {
    "shares": "SELECT * FROM VALUES (1, 2), (9, 0) AS t(k, v)",
    "shared": "SELECT 1 AS k",
    "lost": "SELECT id, id % 3 AS k FROM range(30)",
    "versions": "SELECT id, 'new' AS status FROM range(5)",
    "same": "SELECT id, id % 3 AS k FROM range(30)",
    "verified": "SELECT id, id % 3 AS k FROM range(30)",
    "seen": "SELECT id FROM range(3)",
    "touched": "SELECT id, id AS v FROM range(3)",
    "orders": "SELECT id, IF(id < 11000, 1, 2) AS customer FROM range(15000)",
    "customers": "SELECT id, 'old' AS name FROM range(3)",
}
CHANGES = (
    "UPDATE shop.src.shares SET k = 8 WHERE k = 9",
    "UPDATE shop.src.shares SET v = 5 WHERE k = 1",
    "DELETE FROM shop.src.lost WHERE id < 3",
    "UPDATE shop.src.versions SET status = 'paid' WHERE id = 1",
    "DELETE FROM shop.src.versions WHERE id = 2",
    "UPDATE shop.src.same SET k = k WHERE id < 3",
    "DELETE FROM shop.src.seen WHERE id = 1",
    "INSERT INTO shop.silver.touched VALUES (1, 7)",
    "UPDATE shop.src.customers SET name = 'new' WHERE id = 1",
)


@dataclass
class Story:
    """A first run; one after every source was changed; and others for which one source alone was."""

    shop: ProjectFolder
    results: list[RunResult] = field(default_factory=list)

    def of(self, name: str, number: int = 1) -> ModelResult:
        return next(m for m in self.results[number].materializations if m.model == name)


@pytest.fixture(scope="module")
def story(module_shop: ProjectFolder, spark: SparkSession) -> Iterator[Story]:
    """Another program writes the sources straight to main."""
    shop, story = module_shop, Story(module_shop)
    config = shop.root / "tidegate.toml"
    config.write_text(config.read_text() + "\n[run]\nverify_every = 2\n")
    catalog = shop.catalog
    session = child_session(spark, catalog.spark_conf("main"), catalog.spark_catalog("main"))
    session.conf.set("spark.sql.shuffle.partitions", "1")
    session.sql("CREATE NAMESPACE shop.src")
    for name, rows in TABLES.items():
        session.sql(f"CREATE TABLE shop.src.{name} AS {rows}")
    session.sql("CREATE VIEW shop.src.view AS SELECT id FROM shop.src.seen")
    write_models(shop)
    with pytest.MonkeyPatch.context() as patch:
        # Whatever the sizes, changes are thought to be cheaper, until it is seen how many rows they touch.
        patch.setattr("tidegate.planner.estimate._DELTA", 0.0)
        patch.setattr("tidegate.planner.estimate._LOOKED_UP", 0.0)
        story.results.append(shop.run())
        for statement in CHANGES:
            session.sql(statement)
        for number in range(3):
            session.sql(f"INSERT INTO shop.src.verified VALUES ({100 + number}, 1)")
            story.results.append(shop.run())
        yield story


def write_models(shop: ProjectFolder) -> None:
    keyed, always = {"merge_strategy": "incremental", "unique_key": "id"}, {"deltas": "always"}
    shares = "SELECT 10 / v AS share, count(*) AS n FROM src.shares a JOIN src.shared b ON a.k = b.k GROUP BY 10 / v"
    shop.model("gold.shares", shares, **always)
    for name in ("lost", "same"):
        shop.model(f"silver.{name}", f"SELECT id, k FROM src.{name}", **keyed, **always)
        shop.model(f"gold.{name}", f"SELECT k, count(*) AS n FROM silver.{name} GROUP BY k", **always)
    history = {"merge_strategy": "scd2", "unique_key": "id"}
    shop.model("silver.versions", "SELECT id, status FROM src.versions", **history, **always)
    shop.model("gold.verified", "SELECT k, count(*) AS n FROM src.verified GROUP BY k", **always)
    shop.model("gold.view", "SELECT id FROM src.view")
    shop.model("silver.touched", "SELECT id, v FROM src.touched", **keyed)
    shop.model("silver.orders", "SELECT id, customer FROM src.orders", **keyed)
    named = "SELECT o.id, c.name FROM silver.orders o JOIN src.customers c ON o.customer = c.id"
    shop.model("gold.named", named, **keyed)
    shop.model("gold.loose", "SELECT k, upper(string(k)) AS name FROM src.lost", **always)
    rollup = "SELECT status, id % 2 AS odd, count(*) AS n FROM src.versions GROUP BY ROLLUP (status, id % 2)"
    shop.model("gold.rollup", rollup, **always)
    shop.model("gold.sums", "SELECT count(*) AS n, sum(id) AS total, max(status) AS last FROM src.versions", **always)
    shop.model("gold.unselected", "SELECT count(*) AS n FROM src.lost WHERE id <> 4 GROUP BY k", **always)
    shop.model("gold.lost_sum", "SELECT sum(id) AS total FROM src.lost", **always)
    below = "SELECT id FROM src.lost WHERE id < (SELECT max(id) FROM src.versions)"
    shop.model("gold.below", below, **always)
    shop.model("gold.beyond", "SELECT id FROM src.same WHERE id > (SELECT min(id) FROM src.lost)", **always)


def test_a_query_that_stumbles_over_changed_rows_is_answered_from_all_rows(story: Story) -> None:
    made = story.of("gold.shares")
    assert made.run_type == "full"
    assert made.reason.endswith("its changes could not be read")
    assert any("gold.shares" in text and "zero" in text.lower() for text in story.results[1].warnings)
    assert story.shop.rows("gold.shares") == [(2.0, 1)]


def test_what_a_key_lost_upstream_is_gone_below(story: Story) -> None:
    silver, gold = story.of("silver.lost"), story.of("gold.lost")
    assert (silver.run_type, gold.run_type) == ("incremental", "incremental")
    assert (silver.rows_deleted, gold.rows_deleted) == (3, 0)
    assert story.shop.rows("gold.lost") == [(0, 9), (1, 9), (2, 9)]


def test_history_is_kept_from_changes_alone(story: Story) -> None:
    assert story.of("silver.versions").run_type == "incremental"
    versions = story.shop.rows("SELECT id, status, is_current FROM silver.versions")
    assert versions == [
        (0, "new", True),
        (1, "new", False),
        (1, "paid", True),
        (2, "new", False),
        (3, "new", True),
        (4, "new", True),
    ]
    assert story.of("silver.versions", 2).run_type == "skip"


def test_rows_rewritten_as_they_were_wake_nobody_further_down(story: Story) -> None:
    assert story.of("silver.same").reason == "no changed row reaches it"  # two models share what changed
    assert story.of("gold.same").reason == "unchanged"
    assert story.of("silver.same").rows_written == 0


def test_every_second_update_from_changes_is_verified(story: Story) -> None:
    made = [story.of("gold.verified", number) for number in (1, 2, 3)]
    verified = [(m.run_type, m.reason.endswith("; verified")) for m in made]
    assert verified == [("incremental", False), ("incremental", True), ("incremental", False)]


def test_a_view_that_no_model_made_does_not_say_whether_it_changed(story: Story) -> None:
    made = story.of("gold.view")
    assert (made.run_type, made.reason) == ("full", "src.view does not say whether it changed")
    assert story.shop.rows("gold.view") == [(0,), (2,)]


def test_a_table_that_somebody_else_wrote_to_is_made_anew(story: Story) -> None:
    made = story.of("silver.touched")
    assert (made.run_type, made.reason) == ("full", "its own rows were changed by something else")
    assert story.shop.rows("silver.touched") == [(0, 0), (1, 1), (2, 2)]
    assert story.of("silver.touched", 2).run_type == "skip"


def test_a_change_that_touches_most_of_a_table_is_answered_from_all_rows(story: Story) -> None:
    """One customer of three has most of the orders, which nobody could know before."""
    made = story.of("gold.named")
    assert (run_types(story.results[1])["silver.orders"], made.run_type) == ("skip", "full")
    assert made.reason.endswith("most of it is touched")
    rows = story.shop.rows("SELECT name, count(*) FROM gold.named GROUP BY name")
    assert rows == [("new", 11000), ("old", 4000)]


def test_hidden_columns_can_be_counted(story: Story) -> None:
    assert story.shop.rows("SELECT count(_row_id), max(_row_id) FROM src.touched") == [(3, 2)]


def test_rows_without_a_key_are_found_by_their_values(story: Story) -> None:
    loose = story.of("gold.loose")
    assert (loose.run_type, loose.reason.count(";")) == ("incremental", 0)
    assert story.shop.rows("SELECT k, name, count(*) FROM gold.loose GROUP BY ALL") == [
        (0, "0", 9),
        (1, "1", 9),
        (2, "2", 9),
    ]


def test_counts_and_sums_of_all_rows_are_added_up(story: Story) -> None:
    sums = story.of("gold.sums")
    assert (sums.run_type, sums.rows_written) == ("incremental", 1)
    assert story.shop.rows("gold.sums") == [(4, 8, "paid")]
    assert story.of("gold.sums", 2).run_type == "skip"


def test_a_sum_that_may_have_lost_its_last_value_is_computed_from_all_rows(story: Story) -> None:
    lost = story.of("gold.lost_sum")
    assert (lost.run_type, lost.reason.split("; ")[-1]) == ("full", "the former result does not tell the new one")
    assert story.shop.rows("gold.lost_sum") == [(432,)]


def test_a_subquery_with_the_answer_of_last_time_is_a_constant(story: Story) -> None:
    below, beyond = story.of("gold.below"), story.of("gold.beyond")
    assert (below.run_type, beyond.run_type) == ("incremental", "full")
    assert beyond.reason.endswith("the answer of a subquery changed")
    assert story.shop.rows("gold.below") == [(3,)]
    assert story.shop.rows("SELECT min(id), count(*) FROM gold.beyond") == [(4, 26)]


def test_groups_and_subtotals_are_brought_up_to_date(story: Story) -> None:
    assert (story.of("gold.rollup").run_type, story.of("gold.rollup", 2).run_type) == ("incremental", "skip")
    rows = story.shop.rows("SELECT coalesce(status, 'all'), coalesce(odd, -1), n FROM gold.rollup")
    assert rows == [("all", -1, 4), ("new", -1, 3), ("new", 0, 2), ("new", 1, 1), ("paid", -1, 1), ("paid", 1, 1)]


def test_groups_that_are_not_selected_are_found_by_what_they_gave(story: Story) -> None:
    assert (story.of("gold.unselected").run_type, story.of("gold.unselected", 2).run_type) == ("incremental", "skip")
    assert story.shop.rows("gold.unselected") == [(8,), (9,), (9,)]
