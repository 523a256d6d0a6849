"""A merge over an append-only table takes the newest arrival of each key, incrementally as in full."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.projects import ProjectFolder, run_types
from tests.runs.test_what_an_append_takes import Outside

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def upsert(shop: ProjectFolder, query: str = "SELECT id, v FROM bronze.a", **directives: str) -> None:
    shop.model("bronze.a", "SELECT * FROM {{ landing_zone('a') }}", kind="append")
    shop.model("silver.a", query, kind="merge", unique_key="id", **directives)


def test_the_newest_file_and_line_win(shop: ProjectFolder, spark: SparkSession) -> None:
    """Files of different sizes in one run, one of them split over tasks; then compaction and full refreshes."""
    upsert(shop, "WITH rows AS (SELECT * FROM bronze.a) SELECT id, v FROM rows WHERE v <> 'no'")
    padding = "x" * 60
    shop.file("landing/a/1.csv", "id,v\n1,first\n2,first\n")
    shop.file("landing/a/2.csv", "id,v\n" + "".join(f"{n % 5},{n}{padding}\n" for n in range(60_000)))
    shop.file("landing/a/3.csv", "id,v\n1,third\n1,fourth\n1,no\n")
    assert shop.run().exit_code == 0
    expected = [(0, f"59995{padding}"), (1, "fourth"), *((n, f"{59995 + n}{padding}") for n in (2, 3, 4))]
    assert shop.rows("silver.a") == expected
    shop.file("landing/a/0.csv", "id,v\n2,later\n9,new\n")
    assert shop.run().exit_code == 0
    expected = sorted([*(row for row in expected if row[0] != 2), (2, "later"), (9, "new")])
    assert shop.rows("silver.a") == expected
    outside = Outside(shop, spark)
    outside.sql(
        f"CALL `{outside.name}`.system.rewrite_data_files(table => 'shop.bronze.a',"
        " options => map('rewrite-all', 'true'))"
    )
    for options in ({}, {"full_refresh": True}):
        assert shop.run("silver.a", **options).exit_code == 0
        assert shop.rows("silver.a") == expected
    assert shop.run("bronze.a", full_refresh=True, confirmed=True).exit_code == 0
    assert shop.run("silver.a").exit_code == 0
    assert shop.rows("silver.a") == expected


def test_where_the_order_is_not_known_rows_that_differ_fail(shop: ProjectFolder) -> None:
    upsert(shop)
    shop.model("bronze.a", "SELECT * FROM {{ landing_zone('a') }}", kind="append", partitioned_by="v")
    shop.file("landing/a/1.csv", "id,v\n1,a\n1,a\n")
    assert shop.run().exit_code == 0
    assert shop.rows("silver.a") == [(1, "a")]
    shop.file("landing/a/2.csv", "id,v\n1,b\n")
    assert shop.run().exit_code == 0
    assert shop.rows("silver.a") == [(1, "b")]
    shop.file("landing/a/3.csv", "id,v\n1,c\n1,d\n")
    failed = {m.model: m for m in shop.run().materializations}["silver.a"]
    assert failed.status == "failed"
    assert "id=1" in (failed.error or "")
    assert "sorted or partitioned" in (failed.error or "")
    assert "@watermark_column" in (failed.remedy or "")
    assert shop.rows("silver.a") == [(1, "b")]


def test_on_duplicate_fail_is_as_before(shop: ProjectFolder) -> None:
    upsert(shop, on_duplicate="fail")
    shop.file("landing/a/1.csv", "id,v\n1,a\n1,b\n")
    failed = {m.model: m for m in shop.run().materializations}["silver.a"]
    assert "has more than one row: id=1 (2 rows)" in (failed.error or "")


def test_duplicates_say_why_the_newest_is_not_known(shop: ProjectFolder) -> None:
    upsert(shop, "SELECT id, upper(v) FROM bronze.a")
    shop.model("silver.rows", "SELECT id, v FROM bronze.a WHERE v <> 'c'", materialized="ephemeral")
    shop.model("silver.b", "SELECT id, v FROM silver.rows", kind="merge", unique_key="id", on_duplicate="latest")
    shop.file("landing/a/1.csv", "id,v\n1,a\n1,b\n1,c\n")
    failed = {m.model: m for m in shop.run().materializations}["silver.a"]
    assert "Which of them arrived last is not known: the column UPPER(v) has no name" in (failed.error or "")
    assert "Name it: UPPER(v) AS" in (failed.remedy or "")
    assert "@watermark_column" in (failed.remedy or "")
    assert shop.rows("silver.b") == [(1, "b")]


def test_incremental_equals_full_whatever_happens_upstream(
    make_project: Callable[[str], ProjectFolder], spark: SparkSession
) -> None:
    dice, shop = random.Random(3), make_project("shop")
    shop.model("bronze.a", "SELECT * FROM {{ landing_zone('a') }}", kind="append")
    for name, deltas in (("changes", "always"), ("whole", "never")):
        query = "SELECT id, v FROM bronze.a WHERE v <> 3"
        shop.model(f"silver.{name}", query, kind="merge", unique_key="id", deltas=deltas)
    outside, truth = None, []
    for step in range(5):
        rows = [(dice.randint(1, 8), dice.randint(1, 9)) for _ in range(6)]
        shop.file(f"landing/a/{step}.csv", "id,v\n" + "".join(f"{id},{v}\n" for id, v in rows))
        shop.run("bronze.a")
        truth += rows
        outside = outside or Outside(shop, spark)
        if step % 2:
            gone = dice.randint(1, 8)
            outside.sql(
                "DELETE FROM shop.bronze.a WHERE _row_id IN (SELECT max(_row_id) FROM"
                f" (SELECT _row_id, id FROM shop.bronze.a) WHERE id = {gone})"
            )
            last = max((at for at, row in enumerate(truth) if row[0] == gone), default=None)
            truth = [row for at, row in enumerate(truth) if at != last]
        if step == 3:
            outside.sql("UPDATE shop.bronze.a SET v = 100 WHERE v = 4")
            updated = [(id, 100) for id, v in truth if v == 4]
            truth = [*(row for row in truth if row[1] != 4), *dict.fromkeys(updated)]
        result = shop.run("silver.changes", "silver.whole", allow_deletes=True)
        assert result.exit_code == 0, [m.error for m in result.materializations]
        assert run_types(result)["silver.whole"] == ("full" if step else "backfill")
        assert run_types(result)["silver.changes"] == ("incremental" if step else "backfill")
        newest = {id: v for id, v in truth if v != 3}
        assert shop.rows("silver.whole") == sorted(newest.items())
        assert shop.rows("silver.changes") == sorted(newest.items())
