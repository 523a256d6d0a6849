"""Spark takes the bound SQL as it is meant: four-part names, shortened columns, inlined models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.compiler.projects import build

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

QUERIES = {
    "qualified": "select bronze.orders.id, shop.bronze.orders.s.f, bronze.orders.s.f as g from bronze.orders",
    "star": "select bronze.orders.* from bronze.orders order by bronze.orders.id",
    "twins": "select bronze.orders.id, silver.orders.id as other from bronze.orders join silver.orders "
    "on bronze.orders.id = silver.orders.id",
    "correlated": "select id from bronze.orders where exists "
    "(select 1 from silver.orders where silver.orders.id = bronze.orders.id + 1)",
    "inlined": "select part.id, silver.part.n from silver.part where part.n > 0",
    "sampled": "select orders.id from bronze.orders tablesample (100 percent) where bronze.orders.id > 0",
    "pivoted": "select * from (select id, n from silver.part) pivot (sum(n) for id in (1, 2))",
    "hinted": "select /*+ broadcast(o) */ o.id from bronze.orders o join silver.part using (id)",
}


def test_spark_understands_what_was_bound(tmp_path: Path, on_branch: Callable[[str], SparkSession]) -> None:
    files = {
        "models/bronze/orders.sql": "select 1 as id, named_struct('f', 1) as s",
        "models/silver/orders.sql": "select 1 as id, named_struct('f', 1) as s",
        "models/silver/part.sql": (
            "-- @materialized: ephemeral\nwith o as (select id, 1 as n from bronze.orders) select * from o;"
        ),
        **{f"models/x/{name}.sql": sql for name, sql in QUERIES.items()},
    }
    built = build(tmp_path / "project", files)
    assert built.compiled.diagnostics == ()
    session = on_branch("run-1")
    for layer, ids in (("bronze", "1, 2"), ("silver", "2, 3")):
        session.sql(f"create namespace if not exists shop.{layer}")
        columns = "id, named_struct('f', id) as s"
        session.sql(f"create table shop.{layer}.orders as select {columns} from (select explode(array({ids})) as id)")
    answers = {name: session.sql(built.bind(f"x.{name}").sql).collect() for name in QUERIES}
    assert {tuple(row) for row in answers["qualified"]} == {(1, 1, 1), (2, 2, 2)}
    assert [row.id for row in answers["star"]] == [1, 2]
    assert [tuple(row) for row in answers["twins"]] == [(2, 2)]
    assert {row.id for row in answers["correlated"]} == {1, 2}
    assert {tuple(row) for row in answers["inlined"]} == {(1, 1), (2, 1)}
    assert len(answers["sampled"]) == len(answers["hinted"]) == 2
    assert [tuple(row) for row in answers["pivoted"]] == [(1, 1)]
    replaced = built.bind("x.qualified").substitute(lambda read: f"(select * from {read.table.quoted} where id = 1)")  # type: ignore[union-attr]
    assert [tuple(row) for row in session.sql(replaced).collect()] == [(1, 1, 1)]
