"""Models that are brought up to date from changes alone, and what happens where that is not enough."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.projects import ProjectFolder, run_types
from tidegate.spark.session import child_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

Sql = Callable[[str], object]


@pytest.fixture
def others(shop: ProjectFolder, spark: SparkSession) -> Sql:
    """Somebody else's program that writes straight to main."""
    catalog = shop.catalog
    session = child_session(spark, catalog.spark_conf("main"), catalog.spark_catalog("main"))
    session.conf.set("spark.sql.shuffle.partitions", "1")
    session.sql("CREATE NAMESPACE shop.src")
    return session.sql


def test_a_query_that_stumbles_over_changed_rows_is_answered_from_all_rows(shop: ProjectFolder, others: Sql) -> None:
    others("CREATE TABLE shop.src.a AS SELECT * FROM VALUES (1, 2), (9, 0) AS t(k, v)")
    others("CREATE TABLE shop.src.b AS SELECT 1 AS k")
    sql = "SELECT 10 / v AS share, count(*) AS n FROM src.a JOIN src.b ON a.k = b.k GROUP BY 10 / v"
    shop.model("gold.shares", sql, deltas="always")
    assert shop.run().exit_code == 0
    others("UPDATE shop.src.a SET k = 8 WHERE k = 9")
    others("UPDATE shop.src.a SET v = 5 WHERE k = 1")
    result = shop.run()
    assert run_types(result) == {"gold.shares": "full"}
    assert result.materializations[0].reason.endswith("its changes could not be read")
    assert "zero" in " ".join(result.warnings).lower()
    assert shop.rows("gold.shares") == [(2.0, 1)]


def test_what_a_key_lost_upstream_is_gone_below(shop: ProjectFolder, others: Sql) -> None:
    others("CREATE TABLE shop.src.a AS SELECT id, id % 3 AS k FROM range(30)")
    shop.model("silver.a", "SELECT id, k FROM src.a", merge_strategy="incremental", unique_key="id", deltas="always")
    shop.model("gold.a", "SELECT k, count(*) AS n FROM silver.a GROUP BY k", deltas="always")
    shop.run()
    others("DELETE FROM shop.src.a WHERE id < 3")
    result = shop.run()
    assert run_types(result) == {"silver.a": "incremental", "gold.a": "incremental"}
    assert [m.rows_deleted for m in sorted(result.materializations, key=lambda m: m.model)] == [0, 3]
    assert shop.rows("gold.a") == [(0, 9), (1, 9), (2, 9)]


def test_history_is_kept_from_changes_alone(shop: ProjectFolder, others: Sql) -> None:
    others("CREATE TABLE shop.src.a AS SELECT id, 'new' AS status FROM range(5)")
    shop.model("silver.a", "SELECT id, status FROM src.a", merge_strategy="scd2", unique_key="id", deltas="always")
    shop.run()
    others("UPDATE shop.src.a SET status = 'paid' WHERE id = 1")
    others("DELETE FROM shop.src.a WHERE id = 2")
    result = shop.run()
    assert run_types(result) == {"silver.a": "incremental"}
    versions = shop.rows("SELECT id, status, is_current FROM silver.a")
    assert versions == [
        (0, "new", True),
        (1, "new", False),
        (1, "paid", True),
        (2, "new", False),
        (3, "new", True),
        (4, "new", True),
    ]
    assert run_types(shop.run()) == {"silver.a": "skip"}


def test_rows_rewritten_as_they_were_wake_nobody_further_down(shop: ProjectFolder, others: Sql) -> None:
    others("CREATE TABLE shop.src.a AS SELECT id, id % 3 AS k FROM range(30)")
    shop.model("silver.a", "SELECT id, k FROM src.a", merge_strategy="incremental", unique_key="id", deltas="always")
    shop.model("gold.a", "SELECT k, count(*) AS n FROM silver.a GROUP BY k", deltas="always")
    shop.run()
    others("UPDATE shop.src.a SET k = k WHERE id < 3")
    result = shop.run()
    assert run_types(result) == {"silver.a": "incremental", "gold.a": "skip"}
    assert result.rows_written == 0


def test_every_second_update_from_changes_is_verified(shop: ProjectFolder, others: Sql) -> None:
    config = shop.root / "tidegate.toml"
    config.write_text(config.read_text() + "\n[run]\nverify_every = 2\n")
    others("CREATE TABLE shop.src.a AS SELECT id, id % 3 AS k FROM range(30)")
    shop.model("gold.a", "SELECT k, count(*) AS n FROM src.a GROUP BY k", deltas="always")
    shop.run()
    verified = []
    for number in range(4):
        others(f"INSERT INTO shop.src.a VALUES ({100 + number}, 1)")
        (made,) = shop.run().materializations
        verified.append((made.run_type, made.reason.endswith("; verified")))
    assert verified == [("incremental", False), ("incremental", True)] * 2


def test_a_view_that_no_model_made_does_not_say_whether_it_changed(shop: ProjectFolder, others: Sql) -> None:
    others("CREATE TABLE shop.src.a AS SELECT id FROM range(3)")
    others("CREATE VIEW shop.src.v AS SELECT id FROM shop.src.a")
    shop.model("gold.v", "SELECT id FROM src.v")
    shop.run()
    others("DELETE FROM shop.src.a WHERE id = 1")
    (made,) = shop.run().materializations
    assert (made.run_type, made.reason) == ("full", "src.v does not say whether it changed")
    assert shop.rows("gold.v") == [(0,), (2,)]


def test_a_table_that_somebody_else_wrote_to_is_made_anew(shop: ProjectFolder, others: Sql) -> None:
    others("CREATE TABLE shop.src.a AS SELECT id, id AS v FROM range(3)")
    shop.model("silver.a", "SELECT id, v FROM src.a", merge_strategy="incremental", unique_key="id")
    shop.run()
    others("INSERT INTO shop.silver.a VALUES (1, 7)")
    (made,) = shop.run().materializations
    assert (made.run_type, made.reason) == ("full", "its own rows were changed by something else")
    assert shop.rows("silver.a") == [(0, 0), (1, 1), (2, 2)]
    assert run_types(shop.run()) == {"silver.a": "skip"}


def test_a_change_that_touches_most_of_a_table_is_answered_from_all_rows(
    shop: ProjectFolder, others: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One customer of three has most of the orders, which nobody could know before."""
    monkeypatch.setattr("tidegate.planner.estimate._DELTA", 0.0)
    monkeypatch.setattr("tidegate.planner.estimate._LOOKED_UP", 0.0)
    others("CREATE TABLE shop.src.orders AS SELECT id, IF(id < 11000, 1, 2) AS customer FROM range(15000)")
    others("CREATE TABLE shop.src.customers AS SELECT id, 'old' AS name FROM range(3)")
    shop.model("silver.orders", "SELECT id, customer FROM src.orders", merge_strategy="incremental", unique_key="id")
    shop.model(
        "gold.named",
        "SELECT o.id, c.name FROM silver.orders o JOIN src.customers c ON o.customer = c.id",
        merge_strategy="incremental",
        unique_key="id",
    )
    shop.run()
    others("UPDATE shop.src.customers SET name = 'new' WHERE id = 1")
    result = shop.run("gold.named")
    assert run_types(result) == {"gold.named": "full"}
    assert result.materializations[0].reason.endswith("most of it is touched")
    assert shop.rows("SELECT name, count(*) FROM gold.named GROUP BY name") == [("new", 11000), ("old", 4000)]


def test_hidden_columns_can_be_counted(shop: ProjectFolder, others: Sql) -> None:
    others("CREATE TABLE shop.src.a AS SELECT id FROM range(3)")
    assert shop.rows("SELECT count(_row_id), max(_row_id) FROM src.a") == [(3, 2)]
