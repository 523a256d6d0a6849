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
        ("id,amount\n1,5\n,6\n", "column 'id' is NULL in 1 row, and must never be"),
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
