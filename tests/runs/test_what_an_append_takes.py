"""append_only takes each row once, however its upstream was written, rolled back or retyped."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.projects import ProjectFolder
from tidegate.names import TableName
from tidegate.spark.session import child_session
from tidegate.transform import frames, inserted
from tidegate.transform.inserted import InsertedRows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


class Outside:
    """Another program that writes straight to main."""

    def __init__(self, shop: ProjectFolder, spark: SparkSession) -> None:
        catalog = shop.catalog
        self.name = catalog.spark_catalog("main")
        self.session = child_session(spark, catalog.spark_conf("main"), self.name)
        self.session.conf.set("spark.sql.shuffle.partitions", "1")
        self.session.sql("CREATE NAMESPACE IF NOT EXISTS shop.src")

    def sql(self, text: str) -> None:
        self.session.sql(text)

    def snapshot(self, table: str) -> int:
        row = self.session.sql(f"SELECT snapshot_id FROM shop.{table}.refs WHERE name = 'main'").collect()[0]
        return int(row["snapshot_id"])

    def go_to(self, table: str, snapshot: int) -> None:
        self.sql(f"CALL `{self.name}`.system.set_current_snapshot('shop.{table}', {snapshot})")


@pytest.mark.parametrize("seed", [7])
def test_an_append_is_the_same_however_its_upstream_is_written(
    make_project: Callable[[str], ProjectFolder], spark: SparkSession, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Declared and proven keys; merged from changes, or overwritten from all rows. Only the declared key is checked."""
    taken = {}
    checked: set[tuple[str, bool]] = set()

    def inserted_rows(table: TableName, *args: Any) -> InsertedRows | None:
        rows = inserted.inserted_rows(table, *args)
        checked.add((table.name, bool(rows and rows.repeated)))
        return rows

    monkeypatch.setattr(frames, "inserted_rows", inserted_rows)
    for deltas in ("always", "never"):
        shop, dice = make_project(deltas), random.Random(seed)
        outside = Outside(shop, spark)
        outside.sql("CREATE TABLE shop.src.a (id INT, k INT, v INT) USING iceberg TBLPROPERTIES ('format-version'='3')")
        outside.sql("INSERT INTO shop.src.a SELECT id, id % 4, id FROM range(1, 20)")
        shop.model("silver.declared", "SELECT id, v FROM src.a", unique_key="id", deltas=deltas)
        shop.model("silver.proven", "SELECT k, sum(v) AS total FROM src.a GROUP BY k", deltas=deltas)
        for name in ("declared", "proven"):
            shop.model(f"gold.{name}", f"SELECT * FROM silver.{name}", kind="append")
        shop.run()
        for step in range(3):
            some = sorted(dice.sample(range(1, 20), 3))
            outside.sql(f"UPDATE shop.src.a SET v = v + 100 WHERE id IN ({some[0]}, {some[1]})")
            outside.sql(f"DELETE FROM shop.src.a WHERE id = {some[2]}")
            outside.sql(f"INSERT INTO shop.src.a VALUES ({100 + step}, {10 + step // 2}, {step}), ({some[2]}, 1, -1)")
            result = shop.run()
            assert result.exit_code == 0, result
        taken[deltas] = {name: shop.rows(f"gold.{name}") for name in ("declared", "proven")}
        assert [row[0] for row in taken[deltas]["proven"]] == [0, 1, 10, 11, 2, 3]
        assert len(taken[deltas]["declared"]) == 22
        warned = [warning for warning in result.warnings if "append_only does not take" in warning]
        assert bool(warned) == (deltas == "always")
    assert taken["always"] == taken["never"]
    assert checked == {("declared", True), ("proven", False)}


def test_a_declared_key_of_several_rows_loses_and_doubles_no_row(
    make_project: Callable[[str], ProjectFolder], spark: SparkSession
) -> None:
    """Nothing enforces the key of a full_refresh: rows that share one are compared by their values, others by key."""
    inserts = [[(1, 11), (3, 30)], [(1, 11), (1, 12), (None, 5), (None, 6)], [(None, 7)]]
    deletes = ["false", "v = 10", "v IN (11, 12)"]
    for deltas in ("always", "never"):
        shop = make_project(deltas)
        outside = Outside(shop, spark)
        outside.sql("CREATE TABLE shop.src.a (id INT, v INT) USING iceberg TBLPROPERTIES ('format-version'='3')")
        outside.sql("INSERT INTO shop.src.a VALUES (1, 10), (2, 20)")
        shop.model("silver.a", "SELECT id, v FROM src.a", unique_key="id", deltas=deltas)
        shop.model("gold.log", "SELECT id, v FROM silver.a", kind="append")
        shop.run()
        expected, repeated = [(1, 10), (2, 20)], []
        for gained, gone in zip(inserts, deletes, strict=True):
            values = ", ".join(f"({'NULL' if id is None else id}, {v})" for id, v in gained)
            outside.sql(f"DELETE FROM shop.src.a WHERE {gone}")
            outside.sql(f"INSERT INTO shop.src.a VALUES {values}")
            outside.sql("UPDATE shop.src.a SET v = v + 100 WHERE id = 2")
            result = shop.run()
            assert result.exit_code == 0, result
            expected += gained
            assert shop.rows("gold.log") == sorted(expected, key=str), (deltas, gone)
            repeated.append([warning for warning in result.warnings if "more than one row" in warning])
        assert all(repeated)
        assert "silver.a" in repeated[0][0]
        assert "unique_key" in repeated[0][0]


def test_a_key_that_cannot_be_compared_is_not_compared_in_part(shop: ProjectFolder) -> None:
    shop.model("silver.a", "SELECT 1 AS id, CAST(1 AS DECIMAL(10,2)) AS part, 10 AS v", unique_key="id, part")
    shop.model("gold.log", "SELECT id, v FROM silver.a", kind="append")
    shop.run()
    shop.model(
        "silver.a",
        "SELECT 1 AS id, col1 AS part, col2 AS v FROM VALUES (DATE '2024-01-01', 10), (DATE '2024-01-02', 11)",
        unique_key="id, part",
    )
    assert shop.run().exit_code == 0
    assert shop.rows("gold.log") == [(1, 10), (1, 11)]


def test_without_a_key_a_rewritten_upstream_is_warned_of(shop: ProjectFolder) -> None:
    shop.model("silver.a", "SELECT id, id * 2 AS v FROM range(3)")
    shop.model("gold.log", "SELECT id, v FROM silver.a", kind="append")
    shop.run()
    shop.model("silver.a", "SELECT id, id * 2 + CAST(id = 1 AS INT) AS v FROM range(3)")
    result = shop.run()
    assert shop.rows("gold.log") == [(0, 0), (1, 2), (1, 3), (2, 4)]
    assert any("silver.a" in warning and "@unique_key" in warning for warning in result.warnings)


@pytest.mark.parametrize("key", ["", "id"])
def test_a_rollback_and_a_return_lose_and_double_no_row(shop: ProjectFolder, spark: SparkSession, key: str) -> None:
    outside = Outside(shop, spark)
    shop.model(
        "bronze.a",
        "SELECT * FROM {{ landing_zone('a') }}",
        **({"kind": "merge", "unique_key": key} if key else {"kind": "append"}),
    )
    shop.model("gold.log", "SELECT id, v FROM bronze.a", kind="append")
    shop.file("landing/a/1.csv", "id,v\n1,1\n")
    shop.run()
    first = outside.snapshot("bronze.a")
    outside.sql("INSERT INTO shop.bronze.a VALUES (2, 2)")
    second = outside.snapshot("bronze.a")
    outside.go_to("bronze.a", first)
    outside.sql("INSERT INTO shop.bronze.a VALUES (3, 3)")
    third = outside.snapshot("bronze.a")
    shop.run("gold.log")
    assert shop.rows("gold.log") == [(1, 1), (3, 3)]
    outside.go_to("bronze.a", second)
    result = shop.run("gold.log")
    assert shop.rows("gold.log") == [(1, 1), (2, 2), (3, 3)]
    assert any("rolled back" in warning for warning in result.warnings)
    for snapshot in (first, second, third, second):
        outside.go_to("bronze.a", snapshot)
        assert shop.run("gold.log").exit_code == 0
        assert shop.rows("gold.log") == [(1, 1), (2, 2), (3, 3)]


def test_a_column_that_became_another_type_is_refused_by_name(shop: ProjectFolder) -> None:
    shop.model("silver.a", "SELECT id, CAST(id AS DECIMAL(10,2)) AS price FROM range(2)")
    shop.model("gold.log", "SELECT id, price FROM silver.a", kind="append")
    shop.model("gold.ids", "SELECT id FROM silver.a", kind="append")
    shop.run()
    shop.model("silver.a", "SELECT id, DATE '2024-01-01' AS price FROM range(3)")
    result = shop.run()
    failed = {m.model: m for m in result.materializations}["gold.log"]
    assert failed.status == "failed"
    assert "column 'price'" in (failed.error or "")
    assert "decimal(10,2)" in (failed.error or "")
    assert "date" in (failed.error or "")
    assert "--full-refresh" in (failed.remedy or "")
    assert shop.rows("gold.ids") == [(0,), (1,), (2,)]


@pytest.mark.parametrize(
    "directives", [{"kind": "append"}, {"kind": "merge", "unique_key": "id", "watermark_column": "id"}]
)
def test_a_narrower_column_is_reported_once(shop: ProjectFolder, directives: dict[str, str]) -> None:
    shop.model("bronze.a", "SELECT * FROM {{ landing_zone('a') }}", kind="append")
    drift = []
    for number, kind in enumerate(("BIGINT", "INT", "INT")):
        shop.file(f"landing/a/{number}.csv", f"id\n{number}\n")
        shop.model("silver.a", f"SELECT id, CAST(id AS {kind}) AS n FROM bronze.a", **directives)
        drift.append([(d["column"], d["action"], d["before"], d["after"]) for d in shop.run().drift])
    assert drift == [[], [("n", "narrowed", "bigint", "int")], []]
