"""append_only takes each row once, however its upstream was written, rolled back or retyped."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from tests.projects import ProjectFolder, statuses
from tidegate.names import TableName
from tidegate.runs import RunResult
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


WAYS = ("always", "never")
"""Merged from changes, or overwritten from all rows."""

PROVE = bool(os.environ.get("TIDEGATE_PROVE"))
INSERTS = [[(1, 11), (3, 30), (None, 5)], [(1, 11), (1, 12), (None, 6), (None, 7)], [(None, 8)]]
DELETES = ["false", "v = 10", "v IN (11, 12)"]
NUMBERS = ("BIGINT", "INT", "INT")
CHANGES = 3 if PROVE else 2


@dataclass
class Story:
    """Runs of one project, between which sources and definitions change."""

    shop: ProjectFolder
    results: list[RunResult] = field(default_factory=list)
    repeated: list[dict[str, list[tuple[Any, ...]]]] = field(default_factory=list)
    """What was taken of keys that several rows have, after each run."""

    checked: set[tuple[str, bool]] = field(default_factory=set)
    """Upstreams by name, and whether the key of their rows was checked."""

    def warnings(self, number: int, words: str, name: str) -> list[str]:
        return [text for text in self.results[number].warnings if words in text and name in text]


@pytest.fixture(scope="module")
def story(module_shop: ProjectFolder, spark: SparkSession) -> Iterator[Story]:
    story, outside, dice = Story(module_shop), Outside(module_shop, spark), random.Random(7)
    write_sources(outside)
    write_models(module_shop)

    def inserted_rows(table: TableName, *args: Any) -> InsertedRows | None:
        rows = inserted.inserted_rows(table, *args)
        story.checked.add((table.name, bool(rows and rows.repeated)))
        return rows

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frames, "inserted_rows", inserted_rows)
        for step in range(1 + CHANGES):
            if step:
                change_sources(outside, step - 1, dice)
                redefine(module_shop)
            if step < len(NUMBERS):
                narrow(module_shop, step)
            story.results.append(module_shop.run())
            story.repeated.append(module_shop.rows_of(*(f"gold.repeated_{way}" for way in WAYS)))
        yield story


def write_sources(outside: Outside) -> None:
    rows = "USING iceberg TBLPROPERTIES ('format-version'='3') AS SELECT"
    outside.sql(f"CREATE TABLE shop.src.a {rows} INT(id) AS id, INT(id % 4) AS k, INT(id) AS v FROM range(1, 20)")
    outside.sql(f"CREATE TABLE shop.src.b {rows} * FROM VALUES (1, 10), (2, 20) AS t(id, v)")


def change_sources(outside: Outside, step: int, dice: random.Random) -> None:
    some = sorted(dice.sample(range(1, 20), 3))
    outside.sql(f"UPDATE shop.src.a SET v = v + 100 WHERE id IN ({some[0]}, {some[1]})")
    outside.sql(f"DELETE FROM shop.src.a WHERE id = {some[2]}")
    outside.sql(f"INSERT INTO shop.src.a VALUES ({100 + step}, {10 + step // 2}, {step}), ({some[2]}, 1, -1)")
    values = ", ".join(f"({'NULL' if id is None else id}, {v})" for id, v in INSERTS[step])
    outside.sql(f"DELETE FROM shop.src.b WHERE {DELETES[step]}")
    outside.sql(f"INSERT INTO shop.src.b VALUES {values}")
    outside.sql("UPDATE shop.src.b SET v = v + 100 WHERE id = 2")


def write_models(shop: ProjectFolder) -> None:
    for way in WAYS:
        shop.model(f"silver.declared_{way}", "SELECT id, v FROM src.a", unique_key="id", deltas=way)
        shop.model(f"silver.proven_{way}", "SELECT k, sum(v) AS total FROM src.a GROUP BY k", deltas=way)
        shop.model(f"silver.repeated_{way}", "SELECT id, v FROM src.b", unique_key="id", deltas=way)
        for name in ("declared", "proven", "repeated"):
            shop.model(f"gold.{name}_{way}", f"SELECT * FROM silver.{name}_{way}", kind="append")
    parts = "SELECT 1 AS id, CAST(1 AS DECIMAL(10,2)) AS part, 10 AS v"
    shop.model("silver.parts", parts, unique_key="id, part")
    shop.model("gold.parts", "SELECT id, v FROM silver.parts", kind="append")
    shop.model("silver.keyless", "SELECT id, id * 2 AS v FROM range(3)")
    shop.model("gold.keyless", "SELECT id, v FROM silver.keyless", kind="append")
    shop.model("silver.prices", "SELECT id, CAST(id AS DECIMAL(10,2)) AS price FROM range(2)")
    shop.model("gold.prices", "SELECT id, price FROM silver.prices", kind="append")
    shop.model("gold.ids", "SELECT id FROM silver.prices", kind="append")
    shop.model("bronze.numbers", "SELECT * FROM {{ landing_zone('numbers') }}", kind="append")


def redefine(shop: ProjectFolder) -> None:
    dates = "VALUES (DATE '2024-01-01', 10), (DATE '2024-01-02', 11)"
    shop.model("silver.parts", f"SELECT 1 AS id, col1 AS part, col2 AS v FROM {dates}", unique_key="id, part")
    shop.model("silver.keyless", "SELECT id, id * 2 + CAST(id = 1 AS INT) AS v FROM range(3)")
    shop.model("silver.prices", "SELECT id, DATE '2024-01-01' AS price FROM range(3)")


def narrow(shop: ProjectFolder, step: int) -> None:
    shop.file(f"landing/numbers/{step}.csv", f"id\n{step}\n")
    sql = f"SELECT id, CAST(id AS {NUMBERS[step]}) AS n FROM bronze.numbers"
    shop.model("silver.numbers_appended", sql, kind="append")
    shop.model("silver.numbers_merged", sql, kind="merge", unique_key="id", watermark_column="id")


def test_every_model_but_the_one_that_must_fail_is_built(story: Story) -> None:
    failed = [name for result in story.results for name, status in statuses(result).items() if status == "failed"]
    assert set(failed) == {"gold.prices"}
    assert "blocked" not in {status for result in story.results for status in statuses(result).values()}


def test_an_append_is_the_same_however_its_upstream_is_written(story: Story) -> None:
    """Declared and proven keys; merged from changes, or overwritten from all rows. Only the declared key is checked."""
    taken = story.shop.rows_of(*(f"gold.{name}_{way}" for name in ("declared", "proven") for way in WAYS))
    new_keys = {10 + step // 2 for step in range(CHANGES)}
    assert {row[0] for row in taken["gold.proven_always"]} == {0, 1, 2, 3, *new_keys}
    assert len(taken["gold.proven_always"]) == 4 + len(new_keys)
    assert len(taken["gold.declared_always"]) == 19 + CHANGES
    assert taken["gold.proven_always"] == taken["gold.proven_never"]
    assert taken["gold.declared_always"] == taken["gold.declared_never"]
    for name in ("declared", "proven"):
        assert not story.warnings(CHANGES, "append_only does not take", f"silver.{name}_never")
    assert story.warnings(CHANGES, "append_only does not take", "silver.declared_always")
    checked = {(name, was) for name, was in story.checked if name.startswith(("declared_", "proven_"))}
    assert {(name.split("_")[0], was) for name, was in checked} == {("declared", True), ("proven", False)}


@pytest.mark.parametrize("way", WAYS)
def test_a_declared_key_of_several_rows_loses_and_doubles_no_row(story: Story, way: str) -> None:
    """Nothing enforces the key of a full_refresh: rows that share one are compared by their values, others by key."""
    expected: list[tuple[int | None, int]] = [(1, 10), (2, 20)]
    for number, gained in enumerate(([], *INSERTS[:CHANGES])):
        expected += gained
        assert story.repeated[number][f"gold.repeated_{way}"] == sorted(expected, key=str), number
        if number:
            (warning,) = story.warnings(number, "more than one row", f"silver.repeated_{way}")
            assert "unique_key" in warning


def test_a_key_that_cannot_be_compared_is_not_compared_in_part(story: Story) -> None:
    assert story.shop.rows("gold.parts") == [(1, 10), (1, 11)]


def test_without_a_key_a_rewritten_upstream_is_warned_of(story: Story) -> None:
    assert story.shop.rows("gold.keyless") == [(0, 0), (1, 2), (1, 3), (2, 4)]
    assert story.warnings(1, "@unique_key", "silver.keyless")


def test_a_column_that_became_another_type_is_refused_by_name(story: Story) -> None:
    failed = {m.model: m for m in story.results[1].materializations}["gold.prices"]
    assert failed.status == "failed"
    assert "column 'price'" in (failed.error or "")
    assert "decimal(10,2)" in (failed.error or "")
    assert "date" in (failed.error or "")
    assert "--full-refresh" in (failed.remedy or "")
    assert story.shop.rows("gold.ids") == [(0,), (1,), (2,)]


@pytest.mark.parametrize("name", ["silver.numbers_appended", "silver.numbers_merged"])
def test_a_narrower_column_is_reported_once(story: Story, name: str) -> None:
    drift = [
        [(d["column"], d["action"], d["before"], d["after"]) for d in result.drift if d["model"] == name]
        for result in story.results
    ]
    assert drift == [[], [("n", "narrowed", "bigint", "int")], *[[]] * (CHANGES - 1)]


def test_a_rollback_and_a_return_lose_and_double_no_row(shop: ProjectFolder, spark: SparkSession) -> None:
    """Of a table that is appended to, and of one that is merged by key."""
    outside, tables, logs = Outside(shop, spark), ("bronze.plain", "bronze.keyed"), ("gold.plain", "gold.keyed")
    zone = "SELECT * FROM {{ landing_zone('a') }}"
    shop.model("bronze.plain", zone, kind="append")
    shop.model("bronze.keyed", zone, kind="merge", unique_key="id")
    for table, log in zip(tables, logs, strict=True):
        shop.model(log, f"SELECT id, v FROM {table}", kind="append")

    def taken() -> list[list[tuple[Any, ...]]]:
        return list(shop.rows_of(*logs).values())

    def snapshots() -> dict[str, int]:
        return {table: outside.snapshot(table) for table in tables}

    def go_to(state: dict[str, int]) -> None:
        for table, snapshot in state.items():
            outside.go_to(table, snapshot)

    def insert(row: str) -> None:
        for table in tables:
            outside.sql(f"INSERT INTO shop.{table} VALUES {row}")

    shop.file("landing/a/1.csv", "id,v\n1,1\n")
    shop.run()
    first = snapshots()
    insert("(2, 2)")
    second = snapshots()
    go_to(first)
    insert("(3, 3)")
    third = snapshots()
    shop.run(*logs)
    assert taken() == [[(1, 1), (3, 3)]] * 2
    go_to(second)
    result = shop.run(*logs)
    assert taken() == [[(1, 1), (2, 2), (3, 3)]] * 2
    for log in logs:
        assert any("rolled back" in warning and log in warning for warning in result.warnings), result.warnings
    for state in (first, second, third, second) if PROVE else (first, third):
        go_to(state)
        assert shop.run(*logs).exit_code == 0
        assert taken() == [[(1, 1), (2, 2), (3, 3)]] * 2
