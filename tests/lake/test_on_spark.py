"""What Spark writes on a branch is what main has after a publish, on every catalog."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.lake.places import Place
from tests.sources.postgres import Postgres
from tidegate.config.database_url import parse_database_url
from tidegate.errors import PublishConflictError
from tidegate.lake.branch_catalog import BranchCatalog, PointerKind
from tidegate.lake.metadata import ViewMetadata, load_json
from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.runs.publishing import compacted_only

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ORDERS = TableName("shop", "silver", "orders")
BIG = TableName("shop", "gold", "big")
On = Callable[[str], "SparkSession"]


@pytest.fixture
def on(spark: SparkSession, lake: BranchCatalog) -> On:
    from tidegate.spark.session import child_session

    def session(branch: str) -> SparkSession:
        if branch != "main":
            lake.create_branch(branch)
        return child_session(spark, lake.spark_conf(branch), lake.spark_catalog(branch))

    return session


def ids(session: SparkSession, table: TableName = ORDERS) -> list[int]:
    return sorted(row.id for row in session.table(table.quoted).select("id").collect())


def test_tables_rows_lineage_and_views_go_from_a_branch_to_main(lake: BranchCatalog, on: On) -> None:
    branch, main = on("run-1"), on("main")
    for table in (ORDERS, BIG):
        lake.create_namespace("run-1", table)
    branch.sql("CREATE TABLE shop.silver.orders USING iceberg AS SELECT id, 'a' AS v FROM range(1, 4, 1, 1)")
    branch.sql(
        "MERGE INTO shop.silver.orders t USING (SELECT 3L AS id, 'c' AS v UNION ALL SELECT 4L, 'd') s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET t.v = s.v WHEN NOT MATCHED THEN INSERT *"
    )
    lake.heartbeat("run-1")  # in nobody's way
    lake.set_properties("run-1", ORDERS, {"tidegate.test": "set"})
    branch.sql("DELETE FROM shop.silver.orders WHERE id = 1")
    branch.sql("CREATE VIEW shop.gold.big AS SELECT id FROM shop.silver.orders WHERE id > 2")
    lake.set_properties("run-1", BIG, {"tidegate.test": "set"})
    assert (ids(branch), ids(branch, BIG)) == ([2, 3, 4], [3, 4])
    assert lake.head() == {}

    changes = lake.publish("run-1", [ORDERS, BIG])
    assert [(c.table, c.before, c.after.kind if c.after else None) for c in changes] == [
        (BIG, None, PointerKind.VIEW),
        (ORDERS, None, PointerKind.TABLE),
    ]
    lake.drop_branch("run-1")
    assert (ids(main), ids(main, BIG)) == ([2, 3, 4], [3, 4])
    rows = main.sql("SELECT id, _row_id, _last_updated_sequence_number AS n FROM shop.silver.orders").collect()
    assert sorted((row.id, row.n) for row in rows) == [(2, 1), (3, 2), (4, 2)]
    assert len({row._row_id for row in rows}) == 3
    view, table = (BranchView(lake, "main").metadata(name) for name in (BIG, ORDERS))
    assert isinstance(view, ViewMetadata)
    assert "run_1" not in str(load_json(view.location))
    found = BranchView(lake, "main").table(ORDERS)
    assert found is not None
    assert (found, found.format_version, found.total_records) == (table, 3, 3)
    assert found.properties["gc.enabled"] == "false"
    assert found.properties["tidegate.test"] == view.properties["tidegate.test"] == "set"

    second = on("run-2")
    second.sql("INSERT INTO shop.silver.orders VALUES (5, 'e')")
    second.sql("ALTER TABLE shop.silver.orders ADD COLUMN w INT")
    assert (ids(second), ids(main)) == ([2, 3, 4, 5], [2, 3, 4])
    lake.publish("run-2", [ORDERS])
    assert (ids(main), main.table(ORDERS.quoted).columns) == ([2, 3, 4, 5], ["id", "v", "w"])
    now = {row.id: row._row_id for row in main.sql("SELECT id, _row_id FROM shop.silver.orders").collect()}
    assert {row.id: row._row_id for row in rows}.items() < now.items()
    assert len(set(now.values())) == 4


def test_a_table_put_back_is_as_it_was_and_a_conflict_is_built_again_on_main(lake: BranchCatalog, on: On) -> None:
    first = on("run-0")
    lake.create_namespace("run-0", ORDERS)
    first.sql("CREATE TABLE shop.silver.orders USING iceberg AS SELECT id FROM range(0, 2, 1, 1)")
    lake.publish("run-0", [ORDERS])

    one, two, main = on("run-1"), on("run-2"), on("main")
    pointer = lake.pointer("run-1", ORDERS)
    one.sql("CREATE OR REPLACE TABLE shop.silver.orders USING iceberg AS SELECT 9L AS other, 9L AS id")
    lake.restore("run-1", ORDERS, pointer)
    assert lake.changed_tables("run-1") == ()
    assert one.table(ORDERS.quoted).columns == ["id"]
    one.sql("INSERT INTO shop.silver.orders VALUES (10)")
    assert ids(one) == [0, 1, 10]

    two.sql("DROP TABLE shop.silver.orders")
    two.sql("CREATE TABLE shop.silver.orders USING iceberg AS SELECT 20L AS id")
    lake.publish("run-2", [ORDERS])
    assert ids(main) == [20]
    with pytest.raises(PublishConflictError):
        lake.publish("run-1", [ORDERS])
    lake.refresh_branch("run-1", [ORDERS])
    assert ids(one) == [20]
    one.sql("INSERT INTO shop.silver.orders VALUES (10)")
    lake.publish("run-1", [ORDERS])
    assert ids(main) == [10, 20]


def test_compaction_on_main_is_no_conflict_where_the_catalog_can_do_that(lake: BranchCatalog, on: On) -> None:
    first = on("run-0")
    lake.create_namespace("run-0", ORDERS)
    first.sql("CREATE TABLE shop.silver.orders (id BIGINT) USING iceberg")
    for number in range(3):
        first.sql(f"INSERT INTO shop.silver.orders VALUES ({number})")
    lake.publish("run-0", [ORDERS])
    run, tidy = on("run-1"), on("maintain-1")
    run.sql("INSERT INTO shop.silver.orders VALUES (3)")
    rewrite = "rewrite_data_files(table => 'shop.silver.orders', options => map('rewrite-all', 'true'))"
    tidy.sql(f"CALL maintain_1.system.{rewrite}").collect()
    lake.publish("maintain-1", [ORDERS])
    accept = compacted_only(lake, "run-1", [ORDERS])
    assert list(accept) == [ORDERS]
    if not lake.capabilities.over_compaction:
        with pytest.raises(PublishConflictError, match="nothing was published"):
            lake.publish("run-1", [ORDERS], accept)
        lake.refresh_branch("run-1", [ORDERS])
        run.sql("INSERT INTO shop.silver.orders VALUES (3)")
    lake.publish("run-1", [ORDERS], accept)
    assert ids(on("main")) == [0, 1, 2, 3]


def test_sessions_that_the_server_ended_are_opened_again_and_no_row_is_written_twice(
    spark: SparkSession, postgres: Postgres, postgres_url: str, tmp_path: Path
) -> None:
    from tidegate.spark.session import child_session

    lake = Place("jdbc", tmp_path, postgres_url).open()
    lake.create_branch("run-1")
    lake.create_namespace("run-1", ORDERS)
    session = child_session(spark, lake.spark_conf("run-1"), lake.spark_catalog("run-1"))
    session.sql("CREATE TABLE shop.silver.orders (id BIGINT) USING iceberg")
    user = parse_database_url(postgres_url).user
    for number in range(2):
        postgres.execute(f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = '{user}'")
        session.sql(f"INSERT INTO shop.silver.orders VALUES ({number})")
    assert ids(session) == [0, 1]
