"""Contracts from pushed files to silver on Spark: every row is in the table, in the quarantine, or counted."""

from __future__ import annotations

import pytest

from tests.projects import ProjectFolder, statuses
from tidegate.results import ModelResult
from tidegate.runs import RunResult

pytestmark = pytest.mark.spark

CONTRACT = """apiVersion: v3.1.0
kind: DataContract
id: orders
version: 1.0.0
status: active
schema:
  - name: orders_source
    customProperties:
      - {property: connector, value: landing_push}
      - {property: source_system, value: shop}
      - {property: landing_directory, value: orders}
      - {property: landing_file_format, value: csv}
      - {property: ingestion_read_strategy, value: incremental}
      - {property: bronze_table, value: orders}
    properties:
      - {name: orderId, logicalType: string}
      - {name: amount, logicalType: string}
      - {name: state, logicalType: string}
  - name: orders
    customProperties:
      - {property: deletion_enabled, value: true}
      - {property: deletion_detection, value: explicit}
      - {property: deletion_mode, value: hard}
      - {property: deletion_indicator_column, value: state}
      - {property: deletion_indicator_values, value: [gone]}
    properties:
      - name: order_id
        physicalType: bigint
        logicalType: integer
        primaryKey: true
        transformSourceObjects: [orders_source.orderId]
      - name: amount
        physicalType: decimal(10,2)
        logicalType: number
        transformLogic: CAST(CAST(amount AS DECIMAL(12, 2)) / 100 AS STRING)
        logicalTypeOptions: {minimum: 0}
"""
FIRST = """orderId,amount,state
1,1050,
2,x,
3,-500,
,700,
5,900,
5,950,
6,100,
"""
SECOND = """orderId,amount,state,note
1,1100,,new
6,,gone,
7,y,,
8,200,,
"""


def model(result: RunResult, name: str) -> ModelResult:
    return next(one for one in result.materializations if one.model == name)


@pytest.fixture
def orders(shop: ProjectFolder) -> ProjectFolder:
    shop.file("contracts/orders.odcs.yml", CONTRACT)
    shop.file("landing/orders/1.csv", FIRST)
    shop.model("gold.total", "SELECT count(*) AS orders, sum(amount) AS total FROM silver.orders")
    return shop


def refused(shop: ProjectFolder) -> list[tuple[object, ...]]:
    sql = "SELECT _source_file, _source_row, _stage, f.column, f.value FROM silver.orders__quarantine"
    return shop.rows(f"{sql} LATERAL VIEW explode(_failures) AS f")


def test_every_row_of_a_delivery_is_accounted_for_and_read_once(orders: ProjectFolder) -> None:
    shop = orders
    first = shop.run()
    assert statuses(first) == {"bronze.orders": "completed", "silver.orders": "completed", "gold.total": "completed"}
    silver = model(first, "silver.orders")
    assert dict(silver.stages) == {
        "read": 7,
        "valid": 3,
        "quarantined_transform": 1,
        "quarantined_cast": 0,
        "quarantined_constraint": 2,
        "quarantined_unique": 0,
        "quarantined_quality": 0,
        "deduplicated": 1,
        "delete_signals": 0,
        "deletes_applied": 0,
        "deletes_ignored": 0,
    }
    assert shop.rows("SELECT order_id, CAST(amount AS STRING) FROM silver.orders") == [
        (1, "10.50"),
        (5, "9.50"),
        (6, "1.00"),
    ]
    assert refused(shop) == [
        ("orders/1.csv", 2, "transform", "amount", "x"),
        ("orders/1.csv", 3, "constraint", "amount", "-5.00"),
        ("orders/1.csv", 4, "constraint", "order_id", "NULL"),
    ]
    assert any("'x'" in warning or "x" in warning for warning in first.warnings)
    assert set(statuses(shop.run()).values()) == {"skipped"}

    shop.file("landing/orders/2.csv", SECOND)
    second = shop.run()
    assert second.exit_code == 0
    stages = model(second, "silver.orders").stages
    assert (stages["read"], stages["valid"], stages["delete_signals"], stages["deletes_applied"]) == (4, 2, 1, 1)
    assert [change["column"] for change in second.drift if change["model"] == "bronze.orders"] == ["note"]
    assert shop.rows("SELECT order_id FROM silver.orders") == [(1,), (5,), (8,)]
    assert len(refused(shop)) == 4
    assert shop.rows("SELECT count(*), count(DISTINCT _source_file) FROM bronze.orders") == [(11, 2)]

    relaxed = CONTRACT.replace("        logicalTypeOptions: {minimum: 0}\n", "")
    shop.file("contracts/orders.odcs.yml", relaxed)
    third = shop.run()
    silver = model(third, "silver.orders")
    assert (silver.run_type, silver.reason, silver.stages["read"]) == ("backfill", "definition changed", 11)
    assert shop.rows("SELECT order_id FROM silver.orders") == [(1,), (3,), (5,), (8,)]
    assert [row[1] for row in refused(shop)] == [2, 4, 3]


def test_a_row_that_comes_after_its_own_delete_stays_deleted(orders: ProjectFolder) -> None:
    head = "orderId,amount,state,_commit_time\n"
    orders.file("landing/orders/1.csv", f"{head}1,100,,2024-01-01\n5,,gone,2024-01-03\n")
    assert model(orders.run(), "silver.orders").stages["deletes_ignored"] == 1
    orders.file("landing/orders/2.csv", f"{head}5,100,,2024-01-02\n6,100,,2024-01-04\n")
    stages = model(orders.run(), "silver.orders").stages
    assert (stages["valid"], stages["delete_signals"], stages["deletes_ignored"]) == (2, 0, 1)
    assert orders.rows("SELECT order_id FROM silver.orders") == [(1,), (6,)]


def test_a_closed_gate_publishes_neither_table_nor_quarantine(orders: ProjectFolder) -> None:
    rule = """    quality:
      - type: sql
        name: some
        query: SELECT count(*) FROM ${object}
        mustBeGreaterThan: 100
"""
    listed = CONTRACT[CONTRACT.index("    properties:") : CONTRACT.index("  - name: orders\n")]
    contract = CONTRACT.replace(listed, "").replace("value: state", "value: stat") + rule
    orders.file("contracts/orders.odcs.yml", contract)
    result = orders.run()
    silver = model(result, "silver.orders")
    assert (silver.status, silver.failure_kind) == ("failed", "QualityFailed")
    assert silver.error == (
        "quality rule 'some' gives 3, and must be greater than 100: the table takes none of 3 valid rows"
    )
    assert silver.where == f"contracts/orders.odcs.yml:{len(contract.splitlines()) - 1}"
    assert "Deliver rows that correct it" in (silver.remedy or "")
    assert (silver.stages["read"], silver.stages["valid"], silver.stages["quarantined_constraint"]) == (7, 3, 2)
    (check,) = [check for check in result.check_results if check.name == "some"]
    assert (check.model, check.status, check.value) == ("silver.orders", "failed", 3)
    assert any("1 row quarantined at transform" in warning and "'x'" in warning for warning in result.warnings)
    assert any("names column 'stat', which neither bronze nor silver has" in warning for warning in result.warnings)
    heads = {table.short("shop") for table in orders.main.heads()}
    assert "bronze.orders" in heads
    assert not heads & {"silver.orders", "silver.orders__quarantine", "gold.total"}

    orders.file("landing/orders/2.csv", "orderId,amount,state\n" + "".join(f"{n},100,\n" for n in range(100, 200)))
    opened = orders.run()
    assert opened.exit_code == 0
    assert model(opened, "silver.orders").stages["read"] == 107


def test_keys_that_a_snapshot_lacks_are_deleted_and_those_that_were_refused_are_not(shop: ProjectFolder) -> None:
    contract = CONTRACT.replace("value: incremental", "value: full_snapshot").replace(
        "value: explicit", "value: inferred"
    )
    contract = "\n".join(line for line in contract.split("\n") if "indicator" not in line)
    shop.file("contracts/orders.odcs.yml", contract.replace("value: hard", "value: soft"))
    shop.file("landing/orders/1.csv", "orderId,amount\n1,100\n2,200\n3,300\n4,400\n")
    assert shop.run().exit_code == 0
    shop.file("landing/orders/2.csv", "orderId,amount\n1,100\n3,x\n4,400\n")
    second = shop.run()
    assert model(second, "silver.orders").stages["deletes_applied"] == 1
    live = "SELECT order_id FROM silver.orders WHERE NOT _is_deleted"
    assert shop.rows(live) == [(1,), (3,), (4,)]

    shop.file("landing/orders/3.csv", "orderId,amount\n")
    third = shop.run()
    assert model(third, "bronze.orders").failure_kind == "QualityFailed"
    assert "is empty" in (model(third, "bronze.orders").error or "")
    assert shop.rows(live) == [(1,), (3,), (4,)]

    shop.file("landing/orders/3.csv", "orderId,amount\n1,100\n4,400,too many\n")
    fourth = shop.run()
    assert fourth.exit_code == 0
    assert any("no deletion was inferred, because 1 row" in warning for warning in fourth.warnings)
    assert shop.rows(live) == [(1,), (3,), (4,)]

    shop.file("landing/orders/4.csv", "orderId,amount\n1,x\n")
    fifth = shop.run()
    silver = model(fifth, "silver.orders")
    assert (silver.status, silver.stages["read"], silver.stages["quarantined_transform"]) == ("failed", 1, 1)
    assert "lacks 2 of 3 live keys" in (silver.error or "")
    assert any("1 row quarantined at transform" in warning for warning in fifth.warnings)
    shop.file("landing/orders/5.csv", "orderId,amount\n1,100\n3,300\n4,400\n")
    sixth = shop.run()
    assert sixth.exit_code == 0
    assert any("it lacks 2 of 3 keys that are there before and after it" in warning for warning in sixth.warnings)
    assert shop.rows(live) == [(1,), (3,), (4,)]
