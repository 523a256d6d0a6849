"""PySpark's own client over the proxy: what a model does every day."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.python_models.connect.plan_proxy import PlanProxy

pytestmark = pytest.mark.spark

ORDERS = "ref shop.silver.orders"


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def test_a_handle_reads_its_view(client: Any) -> None:
    assert rows(client.table(ORDERS)) == [(0, 0.0, "c0"), (1, 10.0, "c1"), (2, 20.0, "c0"), (3, 30.0, "c1")]


def test_columns_are_qualified_by_the_name_of_the_table(client: Any) -> None:
    assert rows(client.table(ORDERS).select("orders.id").filter("orders.id > 2")) == [(3,)]


def test_sql_reads_tables_by_the_names_that_the_user_writes(client: Any) -> None:
    text = """
        WITH big AS (SELECT * FROM silver.orders WHERE amount > 5)  -- a comment
        SELECT silver.cities.name, sum(big.amount) FROM big JOIN shop.silver.cities USING (city) GROUP BY 1
    """
    assert rows(client.sql(text)) == [("Oslo", 20.0), ("Rome", 40.0)]


def test_sql_takes_frames_and_values(client: Any) -> None:
    some = client.table(ORDERS).filter("id < 2")
    assert rows(client.sql("SELECT id FROM {some} WHERE id >= :least", {"least": 1}, some=some)) == [(1,)]
    assert rows(client.sql("SELECT id FROM silver.orders WHERE id > ?", args=[2])) == [(3,)]


def test_functions_windows_joins_and_groups(client: Any) -> None:
    from pyspark.sql.connect import functions as f
    from pyspark.sql.connect.window import Window

    orders = client.table(ORDERS)
    ranked = orders.withColumn("rank", f.row_number().over(Window.partitionBy("city").orderBy(f.desc("amount"))))
    best = ranked.filter(f.col("rank") == 1).join(client.table("ref shop.silver.cities"), "city", "left")
    assert rows(best.select("name", "id")) == [("Oslo", 2), ("Rome", 3)]
    totals = orders.groupBy("city").agg(f.sum("amount").alias("total"), f.collect_set("id").alias("ids"))
    assert rows(totals.select("city", "total", f.size("ids"))) == [("c0", 20.0, 2), ("c1", 40.0, 2)]
    expected = [(0, "small"), (1, "small"), (2, "small"), (3, "big")]
    assert rows(orders.select("id", f.when(orders.amount > 20, "big").otherwise("small"))) == expected


def test_rows_that_the_model_makes(client: Any) -> None:
    import pandas

    assert rows(client.createDataFrame([(1, "a"), (2, "b")], "id int, name string")) == [(1, "a"), (2, "b")]
    assert rows(client.createDataFrame([(1, None)], "id int, tags array<string>")) == [(1, None)]
    assert rows(client.createDataFrame(pandas.DataFrame({"id": [1], "name": ["a"]}))) == [(1, "a")]
    table = client.table(ORDERS).limit(1).toArrow()
    assert client.createDataFrame(table).count() == 1
    assert client.createDataFrame([], client.table(ORDERS).schema).count() == 0


def test_rows_that_the_model_takes(client: Any) -> None:
    taken = client.table(ORDERS).orderBy("id").toPandas()
    assert list(taken["amount"]) == [0.0, 10.0, 20.0, 30.0]
    assert client.table(ORDERS).count() == 4
    assert client.table(ORDERS).columns == ["id", "amount", "city"]
    assert [row.id for row in client.table(ORDERS).orderBy("id").toLocalIterator()] == [0, 1, 2, 3]


def test_a_registered_result_is_read_by_the_classic_session(client: Any, proxy: PlanProxy, spark: SparkSession) -> None:
    result = client.table(ORDERS).groupBy("city").count()
    view = proxy.register(result._plan.to_proto(client.client).root.SerializeToString())
    assert rows(spark.newSession().table(f"global_temp.{view}")) == [("c0", 2), ("c1", 2)]
