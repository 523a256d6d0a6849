"""Contracts of models over columns that the compiler cannot know: a run keeps them, or publishes nothing."""

from __future__ import annotations

import pytest

from tests.projects import ProjectFolder, statuses
from tidegate.results import ModelResult
from tidegate.runs import RunResult

pytestmark = pytest.mark.spark

CONTRACT = """required = ["id", "amount"]

[columns.id]
type = "bigint"
nullable = false

[columns.amount]
type = "bigint"
"""


def the_model(result: RunResult) -> ModelResult:
    return next(one for one in result.materializations if one.model == "silver.orders")


@pytest.mark.parametrize(
    ("rows", "broken"),
    [
        ("id,total\n1,5\n", "column 'amount' is missing (models/silver/orders.contract.toml:1)"),
        ("id,amount\n1,5\n2,five\n", "column 'amount' is string, and must be bigint"),
        (
            "id,amount\n1,5\n,6\n",
            "column 'id' is NULL, and must never be: 1 row (models/silver/orders.contract.toml:5)",
        ),
    ],
)
def test_a_run_that_breaks_a_contract_publishes_nothing(shop: ProjectFolder, rows: str, broken: str) -> None:
    shop.file("landing/orders/1.csv", rows)
    shop.model("silver.orders", "SELECT * FROM {{ landing_zone('orders') }}")
    shop.file("models/silver/orders.contract.toml", CONTRACT)
    failed = the_model(shop.run())
    assert failed.failure_kind == "ContractFailed"
    assert broken in (failed.error or "")
    assert (failed.where, bool(failed.remedy)) == ("models/silver/orders.sql", True)
    assert shop.main.heads() == {}
    shop.file("landing/orders/1.csv", "id,amount\n1,5\n")
    assert statuses(shop.run()) == {"silver.orders": "completed"}
    assert shop.rows("SELECT id, amount FROM silver.orders") == [(1, 5)]


def test_a_table_that_kept_a_wider_type_breaks_its_contract(shop: ProjectFolder) -> None:
    history = {"merge_strategy": "scd2", "unique_key": "id"}
    shop.model("silver.orders", "SELECT 1 AS id, 'five' AS amount", **history)
    assert shop.run().exit_code == 0
    shop.model("silver.orders", "SELECT 1 AS id, try_cast('6' AS BIGINT) AS amount", **history)
    shop.file("models/silver/orders.contract.toml", '[columns.amount]\ntype = "bigint"\n')
    failed = the_model(shop.run())
    assert "column 'amount' is string, and must be bigint" in (failed.error or "")
    assert "--full-refresh" in (failed.remedy or "")
    assert shop.rows("SELECT id, amount FROM silver.orders") == [(1, "five")]


GOLD = """apiVersion: v3.1.0
kind: DataContract
id: revenue
version: 1.0.0
status: active
schema:
  - name: revenue
    customProperties: [{property: generator_notebook, value: revenue.py}]
    properties:
      - {name: country, physicalType: varchar(2), logicalType: string, primaryKey: true}
      - name: email
        logicalType: string
        logicalTypeOptions: {minLength: 7}
      - name: total
        logicalType: integer
        logicalTypeOptions: {minimum: 0}
        quality: [{type: sql, name: even, query: "${column} % 2 = 1", mustBe: 0}]
    quality:
      - {type: sql, name: few, query: "SELECT count(*) FROM gold.revenue", mustBeLessThan: 5}
      - {type: sql, name: known, query: "SELECT country, email FROM ${table} WHERE country = 'XX'", mustBe: 0}
      - {type: library, name: rows, metric: rowCount, mustBeGreaterThan: 1}
"""
REVENUE = "SELECT country, email, total FROM VALUES {rows} AS t(country, email, total)"


def test_a_run_holds_every_row_against_the_contract_of_a_gold_table(shop: ProjectFolder) -> None:
    shop.file("revenue.py", "")
    shop.file("contracts/revenue.odcs.yml", GOLD)
    bad = (
        "('DE', 'a@b.de', -4L), ('DE', 'b@cd.de', 6L), ('XX', 'z@y.org', 3L), ('FRA', 'f@ra.fr', 2L), ('IT', NULL, 0L)"
    )
    shop.model("gold.revenue", REVENUE.format(rows=bad), column="email: [pii]")
    failed = next(one for one in shop.run().materializations if one.model == "gold.revenue")
    assert failed.failure_kind == "ContractFailed"
    file, row = "contracts/revenue.odcs.yml", "1 row, such as "
    address = "column 'email' is shorter than the 7 characters of minLength"
    expected = [
        f"column 'country' is longer than the 2 characters of varchar(2): 1 row, such as (country = 'FRA') ({file}:10)",
        f"{address}: {row}(email = '***', country = 'DE') ({file}:13)",
        f"column 'total' is less than the minimum 0: {row}(total = -4, country = 'DE') ({file}:16)",
        f"primary key country is not unique: 1 value, such as (country = 'DE') 2 times ({file}:10)",
        f"quality rule 'known' fails: {row}(country = 'XX', email = '***') ({file}:20)",
        f"quality rule 'even' fails: {row}(total = 3, country = 'XX') ({file}:17)",
        f"quality rule 'few' fails, with a value that may come from a hidden column ({file}:19)",
    ]
    assert (failed.error or "").removeprefix("The contract of the model is broken: ").split("; ") == expected
    assert shop.main.heads() == {}
    shop.model("gold.revenue", REVENUE.format(rows="('DE', 'x@y.org', 6L)"), column="email: [pii]")
    result = shop.run()
    assert any("not evaluated, of what the contract asks: quality rule rows" in warning for warning in result.warnings)
    assert shop.rows("gold.revenue") == [("DE", "x@y.org", 6)]
