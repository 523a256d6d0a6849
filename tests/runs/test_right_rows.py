"""Ways in which rows could be lost, doubled or overwritten, and are not."""

from __future__ import annotations

import pytest

from tests.projects import ProjectFolder, run_types, statuses
from tidegate.errors import TidegateError

pytestmark = pytest.mark.spark


def test_a_zone_that_is_looked_up_is_read_whole(shop: ProjectFolder) -> None:
    shop.model("bronze.orders", "SELECT * FROM {{ landing_zone('orders') }}", merge_strategy="append_only")
    shop.model(
        "silver.orders",
        "SELECT o.id, r.rate FROM bronze.orders o LEFT JOIN {{ landing_zone('rates') }} r ON o.currency = r.currency",
        merge_strategy="incremental",
        unique_key="id",
    )
    shop.file("landing/rates/a.csv", "currency,rate\nEUR,2\n")
    shop.file("landing/orders/a.csv", "id,currency\n1,EUR\n")
    shop.run()
    shop.file("landing/orders/b.csv", "id,currency\n2,EUR\n")
    shop.run()
    assert shop.rows("silver.orders") == [(1, 2), (2, 2)]


def test_append_below_groups_that_are_replaced_takes_each_row_once(shop: ProjectFolder) -> None:
    shop.model("bronze.items", "SELECT * FROM {{ landing_zone('items') }}", merge_strategy="append_only")
    shop.model("silver.groups", "SELECT kind, n FROM bronze.items", merge_strategy="tracked", group_key="kind")
    shop.model("gold.log", "SELECT kind, n FROM silver.groups", merge_strategy="append_only")
    shop.file("landing/items/a.csv", "kind,n\na,1\na,1\nb,5\n")
    shop.run()
    shop.file("landing/items/b.csv", "kind,n\na,1\na,2\n")
    shop.run()
    assert shop.rows("gold.log") == [("a", 1), ("a", 1), ("a", 1), ("a", 2), ("b", 5)]


def test_append_below_a_rewritten_table_compares_in_the_types_it_has_now(shop: ProjectFolder) -> None:
    def write(number: str, more: str = "") -> None:
        body = f"SELECT {number} AS n, map('k', {number}) AS tags, named_struct('a', 1{more}) AS s"
        shop.model("silver.items", f"{body} UNION ALL {body}")

    shop.model("gold.log", "SELECT n, tags FROM silver.items", merge_strategy="append_only")
    write("1")
    shop.run()
    write("'1'", ", 'b', CAST(NULL AS INT)")
    result = shop.run()
    assert result.exit_code == 0
    assert [row[0] for row in shop.rows("SELECT n FROM gold.log")] == ["1", "1"]
    write("'2'", ", 'b', CAST(NULL AS INT)")
    assert shop.run().exit_code == 0
    assert shop.rows("SELECT count(*) FROM gold.log") == [(4,)]


def test_a_view_that_becomes_a_table_begins_with_all_rows(shop: ProjectFolder) -> None:
    shop.model("bronze.a", "SELECT id FROM range(3)")
    shop.model("silver.a", "SELECT id FROM bronze.a", materialized="view")
    shop.run()
    shop.model("silver.a", "SELECT id FROM bronze.a", merge_strategy="append_only")
    result = shop.run()
    assert run_types(result)["silver.a"] == "backfill"
    assert shop.rows("silver.a") == [(0,), (1,), (2,)]
    shop.model("silver.a", "SELECT id + 1 AS id FROM bronze.a", materialized="view")
    assert shop.run().exit_code == 0
    assert shop.rows("silver.a") == [(1,), (2,), (3,)]


def test_a_view_whose_table_fails_still_stands(shop: ProjectFolder) -> None:
    shop.model("bronze.a", "SELECT id FROM range(3)")
    shop.model("silver.a", "SELECT id FROM bronze.a", materialized="view")
    shop.run()
    shop.model("silver.a", "SELECT 1 DIV (id - 1) AS id FROM bronze.a", merge_strategy="append_only")
    assert shop.run("silver.a").exit_code == 1
    assert shop.rows("silver.a") == [(0,), (1,), (2,)]


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


def test_a_model_that_reads_itself_is_rebuilt_from_nothing_only_when_asked(shop: ProjectFolder) -> None:
    def write(sql: str) -> None:
        shop.model("silver.seen", sql, merge_strategy="append_only")

    shop.model("bronze.ids", "SELECT * FROM {{ landing_zone('ids') }}", merge_strategy="append_only")
    write("SELECT id FROM bronze.ids WHERE id NOT IN (SELECT id FROM {{ this }})")
    shop.file("landing/ids/a.csv", "id\n1\n2\n")
    shop.run()
    shop.file("landing/ids/b.csv", "id\n2\n3\n")
    shop.run()
    assert shop.rows("silver.seen") == [(1,), (2,), (3,)]
    with pytest.raises(TidegateError, match="keep history"):
        shop.run("silver.seen", full_refresh=True)
    shop.run("silver.seen", full_refresh=True, confirmed=True)
    assert shop.rows("SELECT DISTINCT id FROM silver.seen") == [(1,), (2,), (3,)]


def test_a_table_that_no_model_made_is_not_touched(shop: ProjectFolder) -> None:
    from tidegate.spark.session import child_session

    session = child_session(shop.spark, shop.catalog.spark_conf("main"), "main")
    session.sql("CREATE NAMESPACE IF NOT EXISTS shop.silver")
    session.sql("CREATE TABLE shop.silver.mine USING iceberg AS SELECT 7 AS x")
    shop.model("silver.mine", "SELECT 1 AS x", merge_strategy="append_only")
    result = shop.run()
    assert result.exit_code == 1
    assert "no model made it" in (result.materializations[0].error or "")
    assert shop.rows("silver.mine") == [(7,)]
    assert shop.run(full_refresh=True, confirmed=True).exit_code == 0
    assert shop.rows("silver.mine") == [(1,)]


def test_a_strategy_that_keeps_other_rows_is_refused(shop: ProjectFolder) -> None:
    shop.model("bronze.a", "SELECT * FROM {{ landing_zone('a') }}", merge_strategy="append_only")
    shop.file("landing/a/1.csv", "id\n1\n")
    shop.run()
    (shop.root / "landing/a/1.csv").unlink()
    shop.file("landing/a/2.csv", "id\n2\n")
    shop.model("bronze.a", "SELECT * FROM {{ landing_zone('a') }}")
    result = shop.run()
    assert "were written by append_only" in (result.materializations[0].error or "")
    assert shop.rows("bronze.a") == [(1,)]


def test_an_author_who_decides_what_to_append_is_told_that_the_table_exists(shop: ProjectFolder) -> None:
    shop.model("bronze.log", "SELECT * FROM {{ landing_zone('log') }}", merge_strategy="append_only")
    shop.model(
        "silver.log",
        "SELECT n FROM bronze.log {% if is_incremental() %} WHERE n > (SELECT max(n) FROM {{ this }}) {% endif %}",
        merge_strategy="append_only",
    )
    for n in (1, 2, 3):
        shop.file(f"landing/log/{n}.csv", f"n\n{n}\n")
        assert shop.run().exit_code == 0
    assert shop.rows("silver.log") == [(1,), (2,), (3,)]


def test_a_query_that_gives_a_name_twice_shows_both_columns(shop: ProjectFolder) -> None:
    shop.model("a.one", "SELECT 1 AS id")
    shop.model("a.two", "SELECT 2 AS id")
    shop.run()
    assert shop.rows("SELECT o.id, t.id FROM a.one o LEFT JOIN a.two t ON o.id = t.id") == [(1, None)]
