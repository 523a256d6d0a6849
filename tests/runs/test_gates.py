"""What a failing model or check keeps from main, and what it does not."""

from __future__ import annotations

import pytest

from tests.projects import FAILS, ProjectFolder, statuses
from tests.recorded import is_current


def two_lines(shop: ProjectFolder, amount: int) -> None:
    """bronze.payments -> silver.payments (tested) -> gold.paid, and bronze.stock on its own."""
    shop.model("bronze.payments", f"SELECT 1 AS id, {amount} AS amount")
    shop.model("silver.payments", "SELECT * FROM bronze.payments")
    shop.file(
        "models/silver/payments/tests/quality/positive.sql",
        "-- @description: amounts are positive\n-- @remediation: ask the cashier\n"
        "SELECT * FROM {{ this }} WHERE amount <= 0\n",
    )
    shop.model("gold.paid", "SELECT sum(amount) AS paid FROM silver.payments")
    shop.model("bronze.stock", f"SELECT {amount} AS stock")


@pytest.mark.spark
def test_a_failed_check_leaves_main_untouched_below_it_and_publishes_the_rest(shop: ProjectFolder) -> None:
    two_lines(shop, 5)
    assert shop.run().exit_code == 0
    two_lines(shop, -5)
    result = shop.run()
    assert result.exit_code == 2
    assert result.status == "partial"
    assert statuses(result) == {
        "bronze.payments": "completed",
        "silver.payments": "failed",
        "gold.paid": "blocked",
        "bronze.stock": "completed",
    }
    assert set(result.publish.tables) == {"bronze.payments", "bronze.stock"}
    assert shop.rows("silver.payments") == [(1, 5)]
    assert shop.rows("gold.paid") == [(5,)]
    assert shop.rows("bronze.stock") == [(-5,)]
    failed = next(m for m in result.materializations if m.model == "silver.payments")
    assert failed.failure_kind == "QualityFailed"
    assert failed.error == "test positive failed: 1 row"
    assert failed.where == "models/silver/payments/tests/quality/positive.sql"
    assert failed.remedy == "ask the cashier"
    check = result.check_results[0]
    assert (check.status, check.value, check.samples) == ("failed", 1, ({"id": 1, "amount": -5},))
    assert shop.branches() == []


def test_what_a_failed_check_held_back_is_built_once_the_check_passes(pointer_shop: ProjectFolder) -> None:
    two_lines(pointer_shop, 5)
    first = pointer_shop.run()
    two_lines(pointer_shop, -5)
    pointer_shop.builder.failing_checks = {"positive": 1}
    second = pointer_shop.run()
    assert (second.exit_code, second.status) == (2, "partial")
    assert statuses(second)["gold.paid"] == "blocked"
    assert set(second.publish.tables) == {"bronze.payments", "bronze.stock"}
    held, moved = ("silver.payments", "gold.paid"), ("bronze.payments", "bronze.stock")
    assert pointer_shop.built_by() == dict.fromkeys(held, first.run_id) | dict.fromkeys(moved, second.run_id)
    assert pointer_shop.branches() == []

    two_lines(pointer_shop, 7)
    pointer_shop.builder.failing_checks.clear()
    third = pointer_shop.run()
    assert third.exit_code == 0
    assert pointer_shop.built_by()["gold.paid"] == third.run_id
    assert is_current(pointer_shop, "gold.paid")


def test_a_warning_publishes_and_a_check_that_cannot_run_blocks(pointer_shop: ProjectFolder) -> None:
    shop = pointer_shop
    for model, check in {"a": "warns", "b": "broken"}.items():
        shop.model(f"silver.{model}", "SELECT 0 AS x")
        severity = "-- @severity: warn\n" if check == "warns" else ""
        shop.file(f"models/silver/{model}/tests/quality/{check}.sql", f"{severity}SELECT * FROM {{{{ this }}}}")
    shop.builder.failing_checks = {"warns": 1}
    shop.builder.unanswered_checks = {"broken": "not done after 1s"}
    result = shop.run()
    found = {check.name: check.status for check in result.check_results}
    assert found == {"warns": "warned", "broken": "error"}
    assert result.publish.tables == ("silver.a",)
    failed = next(m.error for m in result.materializations if m.model == "silver.b")
    assert failed == "test broken could not run: not done after 1s"


@pytest.mark.spark
def test_a_model_that_fails_in_spark_says_where_and_blocks_only_its_readers(shop: ProjectFolder) -> None:
    shop.model("silver.good", "SELECT 1 AS a")
    shop.file("landing/rows/a.csv", "a\n1\n")
    shop.model("silver.bad", "SELECT\n  a,\n  missing_column\nFROM {{ landing_zone('rows') }}")
    shop.model("gold.below", "SELECT * FROM silver.bad")
    shop.model("gold.beside", "SELECT * FROM silver.good")
    result = shop.run()
    assert result.exit_code == 2
    assert statuses(result) == {
        "silver.good": "completed",
        "silver.bad": "failed",
        "gold.below": "blocked",
        "gold.beside": "completed",
    }
    failed = next(m for m in result.materializations if m.model == "silver.bad")
    assert failed.failure_kind == "QueryRejected"
    assert "missing_column" in (failed.error or "")
    assert failed.where == "models/silver/bad.sql:3"
    blocked = next(m for m in result.materializations if m.model == "gold.below")
    assert blocked.reason == "blocked: upstream failed (silver.bad)"


@pytest.mark.spark
def test_a_row_that_breaks_the_query_is_told_with_its_line_and_where_to_look(shop: ProjectFolder) -> None:
    shop.model("bronze.pay", "SELECT 1 AS id, 'x' AS amount")
    header = "-- @constraint: not_null(id)\n-- @constraint: unique(id)\n-- @audit: row_count(>, 0)\n"
    shop.model("silver.pay", f"{header}\nSELECT id FROM bronze.pay\nWHERE cast(amount as int) >= 0")
    failed = next(m for m in shop.run().materializations if m.model == "silver.pay")
    assert (failed.error or "").startswith("The value 'x' of the type")
    assert failed.where == "models/silver/pay.sql:6"
    assert (failed.remedy or "").startswith("Use try_cast")
    assert (failed.remedy or "").endswith("Look at the rows that it reads with `tidegate preview bronze.pay`.")


def test_when_every_model_fails_nothing_is_published(pointer_shop: ProjectFolder) -> None:
    shop = pointer_shop
    shop.model("silver.bad", FAILS)
    result = shop.run()
    assert (result.status, result.exit_code, result.publish.tables) == ("failed", 1, ())
    assert shop.catalog.head() == {}
    assert shop.branches() == []


def test_fail_fast_starts_no_further_model(pointer_shop: ProjectFolder) -> None:
    shop = pointer_shop
    shop.model("a.first", "SELECT 1 AS x")
    shop.model("a.second", FAILS)
    shop.model("b.next", "SELECT * FROM a.first")
    result = shop.run(fail_fast=True, concurrency=1)
    assert statuses(result)["b.next"] == "blocked"
    assert result.publish.tables == ("a.first",)


@pytest.mark.spark
def test_a_changed_constraint_is_asked_of_all_rows_also_where_none_is_written(shop: ProjectFolder) -> None:
    shop.model("silver.source", "SELECT * FROM VALUES (1, 1) AS t(x, y)")
    shop.model("silver.kept", "SELECT x FROM silver.source WHERE y > 0")
    shop.model("gold.reader", "SELECT count(*) AS n FROM silver.kept")
    assert shop.run().status == "success"
    shop.model("silver.source", "SELECT * FROM VALUES (1, 1), (2, 0) AS t(x, y)")
    shop.model("silver.kept", "SELECT x FROM silver.source WHERE y > 0", constraint="compare(x, <, 0)")
    assert statuses(shop.run())["silver.kept"] == "failed"
