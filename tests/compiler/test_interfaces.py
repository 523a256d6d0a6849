from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.compiler.columns import relation
from tests.compiler.projects import build, table
from tidegate.compiler.changes.interface_changes import compare
from tidegate.compiler.changes.interfaces import Interface, interfaces, published_interfaces
from tidegate.compiler.compiled import Compiled
from tidegate.lake.catalogs.embedded import EmbeddedCatalog
from tidegate.lake.progress import PROGRESS_PROPERTY, Progress
from tidegate.project import Materialized

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def compiled(root: Path, header: str, columns: str) -> Compiled:
    sql = f"{header}\nselect 1 as id, 2 as line, 'x' as name, 'x' as country, now() as at"
    found = build(root, {"models/silver/orders.sql": sql}).compiled
    assert not found.errors
    key = table("silver.orders")
    return replace(found, models={key: replace(found.models[key], relation=relation(columns))})


def interface(root: Path, header: str, columns: str = "id bigint, at timestamp") -> Interface:
    return interfaces(compiled(root, header, columns))[table("silver.orders")]


@pytest.mark.parametrize(
    ("header", "key"),
    [
        ("-- @kind: merge\n-- @unique_key: id, line", ("id", "line")),
        ("-- @kind: tracked\n-- @group_key: id", ("id",)),
        ("-- @kind: snapshot\n-- @partition_column: at", ("at",)),
        ("-- @kind: microbatch\n-- @time_column: at\n-- @first_partition: 2026-01-01", ("at",)),
        ("-- @kind: table\n-- @unique_key: id", ()),
    ],
)
def test_the_key_is_what_the_strategy_finds_rows_by(tmp_path: Path, header: str, key: tuple[str, ...]) -> None:
    assert interface(tmp_path, header).unique_key == key


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Country", ("country",)),
        ("days(at), bucket( 16 , `id`)", ("day(at)", "bucket(16, id)")),
        ("date(at)", ("day(at)",)),
        ("hours(at)", ("hour(at)",)),
        ("truncate(3, name)", ("truncate(3, name)",)),
    ],
)
def test_partitioning_has_one_spelling(tmp_path: Path, written: str, meant: tuple[str, ...]) -> None:
    assert interface(tmp_path, f"-- @partitioned_by: {written}").partitioning == meant


def test_columns_are_those_of_the_table(tmp_path: Path) -> None:
    found = interface(tmp_path, "-- @kind: scd2\n-- @unique_key: id", "id smallint")
    shown = [f"{column.name} {column.type}" for column in found.columns.columns]
    assert shown == ["id int", "valid_from timestamp", "valid_to timestamp", "is_current boolean"]
    assert (found.strategy, found.materialized) == ("scd2", Materialized.TABLE)


@pytest.mark.spark
def test_what_spark_published_is_no_change_of_what_the_project_says(
    tmp_path: Path, catalog: EmbeddedCatalog, on_branch: Callable[[str], SparkSession]
) -> None:
    header = "-- @kind: merge\n-- @unique_key: id\n-- @partitioned_by: days(at), bucket(8, id), truncate(2, name), kind"
    now = compiled(
        tmp_path / "project",
        header,
        "id bigint, at timestamp, name string, kind smallint, tags array<int>, amount decimal(10,2)",
    )
    session = on_branch("run-1")
    session.sql("CREATE NAMESPACE shop")
    session.sql("CREATE NAMESPACE shop.silver")
    progress = Progress("run-1", "f", "full", "incremental", dropped_columns={"GONE": "2026-01-01T00:00:00+00:00"})
    session.sql(
        "CREATE TABLE shop.silver.orders USING iceberg"
        " PARTITIONED BY (days(at), bucket(8, id), truncate(2, name), kind)"
        f" TBLPROPERTIES ('{PROGRESS_PROPERTY}' = '{progress.to_json()}') AS"
        " SELECT 1L AS id, TIMESTAMP'2026-01-01' AS at, 'x' AS name, CAST(1 AS smallint) AS kind, array(1) AS tags,"
        " 1 AS gone, CAST(1 AS decimal(10,2)) AS amount"
    )
    session.sql("CREATE TABLE shop.silver.foreign_made USING iceberg AS SELECT 1 AS id")
    session.sql(
        f"CREATE VIEW shop.silver.seen TBLPROPERTIES ('{PROGRESS_PROPERTY}' ="
        f" '{json.dumps({**json.loads(progress.to_json()), 'strategy': 'view'})}') AS SELECT 1 AS id"
    )
    heads = catalog.head("run-1")
    before = published_interfaces(heads)
    assert sorted(map(str, before)) == ["shop.silver.orders", "shop.silver.seen"]
    assert before[table("silver.seen")].materialized is Materialized.VIEW
    assert before[table("silver.orders")].partitioning == ("day(at)", "bucket(8, id)", "truncate(2, name)", "kind")
    assert compare({table("silver.orders"): before[table("silver.orders")]}, interfaces(now)) == ()
    assert published_interfaces(heads, ["other"]) == {}
