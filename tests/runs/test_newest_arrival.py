"""A merge over an append-only table takes the newest arrival of each key, incrementally as in full."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from tests.projects import ProjectFolder, run_types
from tests.runs.test_what_an_append_takes import Outside
from tidegate.results import ModelResult
from tidegate.runs import RunResult

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

STEPS = 5 if os.environ.get("TIDEGATE_PROVE") else 3


def test_the_newest_file_and_line_win(shop: ProjectFolder, spark: SparkSession) -> None:
    """Files of different sizes in one run, one of them split over tasks; then compaction and full refreshes."""
    shop.model("bronze.a", "SELECT * FROM {{ landing_zone('a') }}", kind="append")
    query = "WITH rows AS (SELECT * FROM bronze.a) SELECT id, v FROM rows WHERE v <> 'no'"
    shop.model("silver.a", query, kind="merge", unique_key="id")
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


@dataclass
class Story:
    """Three runs of one project whose models meet keys of several rows."""

    shop: ProjectFolder
    results: list[RunResult] = field(default_factory=list)
    merged: list[list[tuple[Any, ...]]] = field(default_factory=list)
    """The table below one whose order is not known, after each run."""

    def of(self, number: int, name: str) -> ModelResult:
        return next(m for m in self.results[number].materializations if m.model == name)


@pytest.fixture(scope="module")
def story(module_shop: ProjectFolder) -> Story:
    shop, story = module_shop, Story(module_shop)
    zone = "SELECT * FROM {{{{ landing_zone('{}') }}}}".format
    merge = {"kind": "merge", "unique_key": "id"}
    shop.model("bronze.parts", zone("parts"), kind="append", partitioned_by="v")
    shop.model("silver.parts", "SELECT id, v FROM bronze.parts", **merge)
    shop.model("bronze.a", zone("a"), kind="append")
    shop.model("silver.fails", "SELECT id, v FROM bronze.a", **merge, on_duplicate="fail")
    shop.model("silver.unnamed", "SELECT id, upper(v) FROM bronze.a", **merge)
    shop.model("silver.rows", "SELECT id, v FROM bronze.a WHERE v <> 'c'", materialized="ephemeral")
    shop.model("silver.below", "SELECT id, v FROM silver.rows", **merge, on_duplicate="latest")
    shop.file("landing/a/1.csv", "id,v\n1,a\n1,b\n1,c\n")
    for number, rows in enumerate(("1,a\n1,a\n", "1,b\n", "1,c\n1,d\n")):
        shop.file(f"landing/parts/{number}.csv", f"id,v\n{rows}")
        story.results.append(shop.run(*(["bronze.parts", "silver.parts"] if number else [])))
        story.merged.append(shop.rows("silver.parts"))
    return story


def test_where_the_order_is_not_known_rows_that_differ_fail(story: Story) -> None:
    assert [story.of(number, "silver.parts").status for number in range(3)] == ["completed", "completed", "failed"]
    assert story.merged == [[(1, "a")], [(1, "b")], [(1, "b")]]
    failed = story.of(2, "silver.parts")
    assert "id=1" in (failed.error or "")
    assert "sorted or partitioned" in (failed.error or "")
    assert "@watermark_column" in (failed.remedy or "")


def test_on_duplicate_fail_is_as_before(story: Story) -> None:
    assert "has more than one row: id=1 (3 rows)" in (story.of(0, "silver.fails").error or "")


def test_duplicates_say_why_the_newest_is_not_known(story: Story) -> None:
    failed = story.of(0, "silver.unnamed")
    assert "Which of them arrived last is not known: the column UPPER(v) has no name" in (failed.error or "")
    assert "Name it: UPPER(v) AS" in (failed.remedy or "")
    assert "@watermark_column" in (failed.remedy or "")
    assert story.shop.rows("silver.below") == [(1, "b")]


def test_incremental_equals_full_whatever_happens_upstream(shop: ProjectFolder, spark: SparkSession) -> None:
    dice = random.Random(3)
    shop.model("bronze.a", "SELECT * FROM {{ landing_zone('a') }}", kind="append")
    for name, deltas in (("changes", "always"), ("whole", "never")):
        query = "SELECT id, v FROM bronze.a WHERE v <> 3"
        shop.model(f"silver.{name}", query, kind="merge", unique_key="id", deltas=deltas)
    outside, truth = None, []
    for step in range(STEPS):
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
        if step == STEPS - 2:
            outside.sql("UPDATE shop.bronze.a SET v = 100 WHERE v = 4")
            updated = [(id, 100) for id, v in truth if v == 4]
            truth = [*(row for row in truth if row[1] != 4), *dict.fromkeys(updated)]
        result = shop.run("silver.changes", "silver.whole", allow_deletes=True)
        assert result.exit_code == 0, [m.error for m in result.materializations]
        assert run_types(result)["silver.whole"] == ("full" if step else "backfill")
        assert run_types(result)["silver.changes"] == ("incremental" if step else "backfill")
        newest = {id: v for id, v in truth if v != 3}
        found = shop.rows_of("silver.whole", "silver.changes")
        assert found == dict.fromkeys(("silver.whole", "silver.changes"), sorted(newest.items()))
