"""A REST API that throttles and fails and tables of a SQL Server look-alike, read, built up to gold and published in
one step; and again with what has changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.ingest.scripted_server import Answer, Call, ScriptedServer, serving
from tests.projects import ProjectFolder, run_types, statuses
from tests.services.h2 import PASSWORD, H2Database, H2Server
from tidegate.names import TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

CONTRACT = """apiVersion: v3.1.0
kind: DataContract
id: {name}
version: 1.0.0
status: active
schema:
  - name: {name}_source
    physicalName: {physical}
    customProperties:
{properties}
    properties: [{columns}]
  - name: {name}
    properties:
{silver}
"""
ORDERS = {
    "connector": "rest",
    "source_system": "web",
    "landing_directory": "orders",
    "landing_file_format": "json",
    "ingestion_read_strategy": "incremental",
    "bronze_table": "orders",
    "endpoint": "/orders",
    "content_path": "data.items",
    "json_multiline": True,
    "pagination": {"kind": "page_number", "size": 2, "size_parameter": "size"},
    "ingestion_filtering_column": "changed",
    "incremental_parameter": "since",
}
CUSTOMERS = {
    "connector": "sqlserver",
    "source_system": "erp",
    "landing_directory": "customers",
    "landing_file_format": "parquet",
    "ingestion_read_strategy": "incremental",
    "bronze_table": "customers",
    "sql_extraction_mode": "batched",
    "ingestion_filtering_column": "ChangedAt",
    "ingestion_ordering_columns": ["ChangedAt"],
    "batch_size": 2,
}
ORDER_COLUMNS = """      - {name: order_id, physicalType: bigint, logicalType: integer, primaryKey: true,
         transformSourceObjects: [orders_source.id]}
      - {name: customer_id, physicalType: bigint, logicalType: integer, transformSourceObjects: [orders_source.by.id]}
      - {name: amount, physicalType: "decimal(10,2)", logicalType: number, logicalTypeOptions: {minimum: 0}}"""
CUSTOMER_COLUMNS = """      - {name: customer_id, physicalType: bigint, logicalType: integer, primaryKey: true,
         transformSourceObjects: [customers_source.CustomerId]}
      - {name: city, physicalType: string, logicalType: string, transformSourceObjects: [customers_source.City]}"""
GOLD = """SELECT c.city, count(*) AS orders, CAST(sum(o.amount) AS STRING) AS total
FROM silver.orders o JOIN silver.customers c USING (customer_id) GROUP BY c.city"""


def contract(shop: ProjectFolder, name: str, source: dict[str, Any], **parts: str) -> None:
    lines = [f"      - {{property: {key}, value: {json.dumps(value)}}}" for key, value in source.items()]
    text = CONTRACT.format(name=name, properties="\n".join(lines), **parts)
    shop.file(f"contracts/{name}.odcs.yml", text)


class Orders:
    """A server that pages, throttles, breaks off and fails, each before the answer that it gives at last."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.trouble: list[Answer] = []

    def __call__(self, call: Call) -> Answer:
        if self.trouble:
            return self.trouble.pop()
        rows = [row for row in self.rows if row["changed"] > int(call.query.get("since", 0))]
        page, size = int(call.query["page"]), int(call.query["size"])
        return Answer({"data": {"items": rows[page * size - size : page * size]}})

    def is_in_trouble(self) -> None:
        self.trouble = [
            Answer(status=429, headers={"Retry-After": "7"}),
            Answer(status=500),
            Answer({"data": {"items": []}}, truncated=True),
            Answer(b"<html>busy</html>"),
            Answer(status=503, headers={"Retry-After": "3"}),
        ]


def order(number: int, customer: int, amount: str, changed: int) -> dict[str, Any]:
    return {"id": number, "by": {"id": customer}, "amount": amount, "changed": changed}


@pytest.fixture
def orders() -> Orders:
    return Orders()


@pytest.fixture
def web(orders: Orders) -> Iterator[ScriptedServer]:
    with serving(orders) as server:
        yield server


@pytest.fixture
def erp(h2: H2Server, spark: SparkSession) -> H2Database:
    erp = h2.database("erp", spark)
    erp.execute("CREATE TABLE dbo.Customers (CustomerId INT, City NVARCHAR(20), ChangedAt DATETIME2(7))")
    return erp


def test_two_sources_run_to_gold_in_one_publish_and_again_with_what_changed(
    shop: ProjectFolder, orders: Orders, web: ScriptedServer, erp: H2Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ERP_PASSWORD", PASSWORD)
    sources = f'\n[sources.web]\nkind = "rest"\nbase_url = "{web.url}"\n'
    sources += f'\n[sources.erp]\nkind = "sqlserver"\nurl = "{erp.url}"\nuser = "sa"\npassword = "${{ERP_PASSWORD}}"\n'
    shop.file("tidegate.toml", (shop.root / "tidegate.toml").read_text() + sources)
    columns = "{name: id, logicalType: integer}, {name: by, logicalType: object}, {name: amount, logicalType: string}"
    contract(shop, "orders", ORDERS, physical="orders", columns=columns, silver=ORDER_COLUMNS)
    columns = "{name: CustomerId, logicalType: integer}, {name: City, logicalType: string}"
    columns += ", {name: ChangedAt, logicalType: string}"
    contract(shop, "customers", CUSTOMERS, physical="dbo.Customers", columns=columns, silver=CUSTOMER_COLUMNS)
    shop.model("gold.cities", GOLD)
    orders.rows = [order(1, 1, "10.50", 1), order(2, 1, "2.00", 2), order(3, 2, "-1", 3), order(4, 3, "4.00", 4)]
    erp.execute(
        "INSERT INTO dbo.Customers VALUES (1, N'Oslo', '2026-01-01'), (2, N'Bonn', '2026-01-01'),"
        " (3, N'Rome', '2026-01-02 00:00:00.0000001')"
    )
    orders.is_in_trouble()
    first = shop.run()
    assert set(statuses(first).values()) == {"completed"}
    assert {"bronze.customers", "bronze.orders", "gold.cities", "silver.customers", "silver.orders"} <= set(
        first.publish.tables
    )
    assert len([event for event in shop.events if event.name == "published"]) == 1
    assert {7.0, 3.0} <= set(shop.clock.slept)
    assert shop.rows("gold.cities") == [("Oslo", 2, "12.50"), ("Rome", 1, "4.00")]
    refused = "SELECT _source_row, _failures[0].column, _failures[0].value FROM silver.orders__quarantine"
    assert shop.rows(refused) == [(1, "amount", "-1.00")]
    checkpoints = {
        name: json.loads(metadata.properties["tidegate.checkpoint"])["checkpoint_value"]
        for name in ("orders", "customers")
        if (metadata := shop.main.table(TableName("shop", "bronze", name))) is not None
    }
    assert checkpoints == {"orders": "4", "customers": "2026-01-02 00:00:00.0000001"}

    orders.rows += [order(3, 2, "1.00", 5), order(1, 1, "11.00", 6), order(5, 3, "0.50", 7)]
    erp.execute(
        "UPDATE dbo.Customers SET City = N'Kyiv', ChangedAt = '2026-01-03' WHERE CustomerId = 2",
        "INSERT INTO dbo.Customers VALUES (4, N'Riga', '2026-01-03')",
    )
    orders.is_in_trouble()
    shop.events.clear()
    second = shop.run()
    assert set(statuses(second).values()) == {"completed"}
    assert len([event for event in shop.events if event.name == "published"]) == 1
    assert shop.rows("gold.cities") == [("Kyiv", 1, "1.00"), ("Oslo", 2, "13.00"), ("Rome", 2, "4.50")]
    landed = "SELECT 'orders' AS t, id AS key, count(*) FROM bronze.orders GROUP BY id UNION ALL "
    landed += "SELECT 'customers', CustomerId, count(*) FROM bronze.customers GROUP BY CustomerId"
    assert {(table, int(key)): rows for table, key, rows in shop.rows(landed)} == {
        **{("orders", number): rows for number, rows in {1: 2, 2: 1, 3: 2, 4: 1, 5: 1}.items()},
        **{("customers", number): rows for number, rows in {1: 1, 2: 2, 3: 1, 4: 1}.items()},
    }
    before = len(web.calls)
    assert set(run_types(shop.run()).values()) == {"skip"}
    assert [call.query["since"] for call in web.calls[before:]] == ["7"]
