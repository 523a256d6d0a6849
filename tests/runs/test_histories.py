"""Whole histories on a real lake: after every run each table is what its query gives, whatever happened before."""

from __future__ import annotations

import os
import random
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.projects import ProjectFolder
from tidegate.spark.session import child_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PROVE = bool(os.environ.get("TIDEGATE_PROVE"))
SEEDS = range(8) if PROVE else range(1)
STEPS = 6 if PROVE else 3
SAMPLE = ("filter", "filter_upsert_kind", "left_join_two", "group_by", "union_all", "below_join")
"""Without TIDEGATE_PROVE only these: every way to write from changes, a join, groups, and a model below others."""

_MODELS = Path(__file__).parents[1] / "cases" / "histories" / "models.txt"
_TABLES = {"a": "id INT, k INT, v INT, s STRING", "b": "k INT, w INT, t STRING", "c": "id INT, x INT"}


@dataclass(frozen=True)
class Case:
    name: str
    directives: dict[str, str]
    sql: str


def read_models() -> tuple[Case, ...]:
    cases = []
    for block in _MODELS.read_text().split("\n--- ")[1:]:
        head, sql = block.split("\n", 1)
        name, *words = head.split()
        if PROVE or name in SAMPLE:
            cases.append(Case(f"gold.{name}", dict(word.split("=", 1) for word in words), sql.strip()))
    return tuple(cases)


class World:
    """The source tables, changed as by other people's programs, straight on main."""

    def __init__(self, shop: ProjectFolder, spark: SparkSession, seed: int) -> None:
        self.random = random.Random(seed)
        self.shop = shop
        catalog = shop.catalog
        self.catalog_name = catalog.spark_catalog("main")
        self.session = child_session(spark, catalog.spark_conf("main"), self.catalog_name)
        self.session.conf.set("spark.sql.shuffle.partitions", "1")
        self.session.sql("CREATE NAMESPACE IF NOT EXISTS shop.src")
        self.last_id = 0
        for name, columns in _TABLES.items():
            self.session.sql(f"CREATE TABLE shop.src.{name} ({columns}) USING iceberg")
            self.insert(name, 12)

    def change(self) -> None:
        for name in _TABLES:
            for _ in range(self.random.choice((0, 1, 1, 2))):
                self.random.choice((self.update, self.delete, self.insert, self.update, self.merge, self.compact))(name)

    def insert(self, name: str, rows: int | None = None) -> None:
        values = ", ".join(f"({self._row(name)})" for _ in range(rows or self.random.randint(1, 3)))
        self.session.sql(f"INSERT INTO shop.src.{name} VALUES {values}")

    def update(self, name: str) -> None:
        column, value = self.random.choice(
            {
                "a": [("k", self._small()), ("v", self._small()), ("s", self._text()), ("id", "id + 100")],
                "b": [("k", self._small()), ("w", self._small()), ("t", self._text())],
                "c": [("x", self._small()), ("id", f"{self.random.randint(1, 20)}")],
            }[name]
        )
        self.session.sql(f"UPDATE shop.src.{name} SET {column} = {value} WHERE {self._some(name)}")

    def delete(self, name: str) -> None:
        self.session.sql(f"DELETE FROM shop.src.{name} WHERE {self._some(name)}")

    def merge(self, name: str) -> None:
        key = "k" if name == "b" else "id"
        columns = [column.split()[0] for column in _TABLES[name].split(", ")]
        row = self._row(name)
        self.session.sql(
            f"MERGE INTO shop.src.{name} t USING (SELECT * FROM VALUES ({row}) AS v({', '.join(columns)})) s"
            f" ON t.{key} = s.{key} WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )

    def compact(self, name: str) -> None:
        self.session.sql(
            f"CALL `{self.catalog_name}`.system.rewrite_data_files(table => 'shop.src.{name}',"
            " options => map('rewrite-all', 'true'))"
        )

    def _row(self, name: str) -> str:
        self.last_id += 1
        return {
            "a": f"{self.last_id}, {self._small()}, {self._small()}, {self._text()}",
            "b": f"{self._small()}, {self._small()}, {self._text()}",
            "c": f"{self.random.randint(1, 25)}, {self._small()}",
        }[name]

    def _small(self) -> str:
        return self.random.choice(("NULL", "1", "2", "3", "4", "5"))

    def _text(self) -> str:
        return self.random.choice(("NULL", "'x'", "'y'", "''"))

    def _some(self, name: str) -> str:
        column = {"a": "id", "b": "k", "c": "id"}[name]
        return f"coalesce({column}, 0) % {self.random.choice((2, 3, 5))} = {self.random.choice((0, 1))}"


@pytest.mark.parametrize("seed", SEEDS)
def test_after_every_run_each_table_is_what_its_query_gives(
    shop: ProjectFolder, spark: SparkSession, seed: int
) -> None:
    world, cases = World(shop, spark, seed), read_models()
    for case in cases:
        shop.model(case.name, case.sql, **{"deltas": "always", **case.directives})
    seen: Counter[str] = Counter()
    for step in range(STEPS):
        select = [] if step % 3 != 1 else [c.name for c in cases if world.random.random() < 0.5]
        result = shop.run(*select, allow_deletes=True)
        failed = [(m.model, m.error) for m in result.materializations if m.status not in ("completed", "skipped")]
        assert not failed, f"seed {seed}, step {step}: {failed}"
        seen.update(str(m.run_type) for m in result.materializations)
        chosen = {m.model for m in result.materializations}
        assert_equal(world, [case for case in cases if case.name in chosen], f"seed {seed}, step {step}")
        if step < STEPS - 1:
            world.change()
    assert seen["incremental"] > len(cases) / 2, seen


NARROW = {
    "upsert": ("SELECT id, v FROM src.a WHERE v = 5 AND s = 'x'", {"kind": "merge", "unique_key": "id"}),
    "history": ("SELECT id, v FROM src.a WHERE v = 5 AND s = 'y'", {"kind": "scd2", "unique_key": "id"}),
    "groups": ("SELECT k, count(*) AS n FROM src.a WHERE v > 4 GROUP BY k", {}),
    "joined": ("SELECT a.id, b.w FROM src.a a JOIN src.b b ON a.k = b.k AND b.w = 5 WHERE a.v = 5", {}),
    "outer": ("SELECT b.k, b.w, c.x FROM src.b b LEFT JOIN src.c c ON c.id = b.k AND c.x = 5 WHERE b.w = 5", {}),
    "total": ("SELECT count(*) AS n, max(v) AS v FROM src.a WHERE s = '' AND v = 4", {}),
    "unread": ("SELECT id, s FROM src.a", {"unique_key": "id"}),
    "below": ("SELECT count(*) AS n FROM gold.history WHERE is_current", {}),
}
"""Models of which most changes leave no row, each by every kind of filter that there is."""


@pytest.mark.skipif(not PROVE, reason="two tables for each of many models")
@pytest.mark.parametrize("seed", SEEDS)
def test_tables_are_the_same_with_and_without_the_skip(shop: ProjectFolder, spark: SparkSession, seed: int) -> None:
    world = World(shop, spark, seed)
    for name, (sql, directives) in NARROW.items():
        shop.model(f"gold.{name}", sql, deltas="always", **directives)
        built = sql.replace("gold.history", "gold.history_built")
        shop.model(f"gold.{name}_built", built, deltas="always", skip="never", **directives)
    skipped = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tidegate.runs.build.shared_changes._WORTH_SECONDS", 0.0)
        for step in range(STEPS):
            result = shop.run(allow_deletes=True)
            failed = [(m.model, m.error) for m in result.materializations if m.status not in ("completed", "skipped")]
            assert not failed, f"seed {seed}, step {step}: {failed}"
            skipped += sum(m.reason == "no changed row reaches it" for m in result.materializations)
            twins = [Case(f"gold.{name}", {}, f"SELECT * FROM gold.{name}_built") for name in NARROW]
            assert_equal(world, twins, f"seed {seed}, step {step}")
            queries = [Case(f"gold.{name}", {}, NARROW[name][0]) for name in NARROW if name not in ("history", "below")]
            assert_equal(world, queries, f"seed {seed}, step {step}")
            world.change()
    assert skipped > STEPS, skipped


def assert_equal(world: World, cases: list[Case], where: str) -> None:
    """Below a model that was left out of the run, the query is over the tables as they are. All in one job of Spark."""
    sides = []
    for case in cases:
        full = re.sub(r"\b(src|gold)\.", r"shop.\1.", case.sql)
        sides.append(
            f"SELECT '{case.name}' AS model, to_json(struct(* EXCEPT (side)), map('ignoreNullFields', 'false')) AS row,"
            f" side FROM (SELECT *, 1 AS side FROM shop.{case.name} UNION ALL SELECT *, -1 FROM ({full}))"
        )
    both = " UNION ALL ".join(sides)
    different = f"SELECT model, row, sum(side) AS more FROM ({both}) GROUP BY model, row HAVING more <> 0"
    found = world.session.sql(different).limit(10).collect()
    assert not found, f"{where}: more often in the table, or (below 0) in the query: {found}"
