"""Where checks stand in a run: what they read, what they hold back, and what is put back."""

from __future__ import annotations

from typing import Any

import pytest

from tests.projects import ProjectFolder, run_types, statuses
from tests.recorded import runs_in
from tidegate.names import TableName
from tidegate.operations.check import check_project
from tidegate.runs import RunResult
from tidegate.state import open_reader


def model(shop: ProjectFolder, name: str, sql: str, *checks: str, **settings: str) -> None:
    """`checks`: such as `audit: row_count(>, 0)`."""
    header = "".join(f"-- @{check}\n" for check in checks)
    layer, table = name.split(".")
    header += "".join(f"-- @{key}: {value}\n" for key, value in settings.items())
    shop.file(f"models/{layer}/{table}.sql", f"{header}{sql}\n")


def outcomes(result: RunResult) -> dict[str, tuple[str, Any]]:
    return {check.name: (check.status, check.value) for check in result.check_results}


def error_of(result: RunResult, name: str) -> str:
    return next(m.error or "" for m in result.materializations if m.model == name)


def paid(shop: ProjectFolder, amount: int) -> None:
    model(shop, "bronze.pay", f"SELECT 1 AS id, {amount} AS amount")
    model(shop, "silver.pay", "SELECT * FROM bronze.pay", "audit: min(amount, >, 0)", "constraint: not_null(id)")
    model(shop, "gold.paid", "SELECT sum(amount) AS paid FROM silver.pay")
    model(shop, "gold.other", f"SELECT {amount} AS x", "warning: min(x, >, 0)")


def test_a_failing_audit_leaves_main_untouched_and_a_warning_publishes(pointer_shop: ProjectFolder) -> None:
    shop = pointer_shop
    paid(shop, 5)
    first = shop.run()
    assert first.exit_code == 0
    assert outcomes(first) == dict.fromkeys(("min(amount, >, 0)", "not_null(id)", "min(x, >, 0)"), ("passed", 0))
    paid(shop, -5)
    shop.builder.failing_checks = {"min(amount, >, 0)": 3, "min(x, >, 0)": 3}
    second = shop.run()
    assert statuses(second) == {
        "bronze.pay": "completed",
        "silver.pay": "failed",
        "gold.paid": "blocked",
        "gold.other": "completed",
    }
    assert (second.status, set(second.publish.tables)) == ("partial", {"bronze.pay", "gold.other"})
    assert error_of(second, "silver.pay") == "audit min(amount, >, 0) failed: 3 rows"
    assert outcomes(second)["min(x, >, 0)"] == ("warned", 3)
    by = shop.built_by()
    assert (by["silver.pay"], by["gold.other"]) == (first.run_id, second.run_id)


@pytest.mark.spark
def test_a_check_that_is_late_or_broken_blocks_unless_it_only_warns(shop: ProjectFolder) -> None:
    slow = "-- @timeout: 1s\n{severity}SELECT max(hash(id)) AS h FROM range(1000000000000) HAVING h IS NULL\n"
    model(shop, "silver.late", "SELECT 1 AS id")
    shop.file("models/silver/late/tests/quality/slow.sql", slow.format(severity=""))
    model(shop, "silver.warned", "SELECT 1 AS id")
    shop.file("models/silver/warned/tests/quality/slow.sql", slow.format(severity="-- @severity: warn\n"))
    model(shop, "silver.broken", "SELECT 'x' AS a", "constraint: check('number', 'CAST(a AS INT) > 0')")
    result = shop.run()
    assert result.publish.tables == ("silver.warned",)
    assert {(c.model, c.status) for c in result.check_results} == {
        ("silver.late", "error"),
        ("silver.warned", "error"),
        ("silver.broken", "error"),
    }
    assert error_of(result, "silver.late") == "test slow could not run: not done after 1s"
    assert "could not run: " in error_of(result, "silver.broken")


@pytest.mark.spark
def test_a_column_of_numbers_that_became_text_is_not_compared_as_text(shop: ProjectFolder) -> None:
    shop.file("landing/pay/1.csv", "id,amount\n1,1000\n2,12.50\n")
    rules = ("constraint: compare(amount, <=, 2000)", "audit: max(amount, <=, 2000)", "warning: min(amount, >, 0)")
    model(shop, "bronze.pay", "SELECT * FROM {{ landing_zone('pay') }}", *rules)
    assert shop.run().exit_code == 0
    shop.file("landing/pay/2.csv", 'id,amount\n3,"12,50"\n4,30000\n')
    result = shop.run(full_refresh=True)
    assert (result.exit_code, result.publish.tables) == (1, ())
    told = {check.name: (check.status, check.error) for check in result.check_results}
    why = (
        "column 'amount' is string, and the check compares it with a number; cast it in the query, declare its type in "
        "columns of [landing.ZONE], or write '2000' in quotes to compare text"
    )
    assert told == {"compare(amount, <=, 2000)": ("error", why), "max(amount, <=, 2000)": ("error", why)}
    assert error_of(result, "bronze.pay") == f"constraint compare(amount, <=, 2000) could not run: {why} (and 1 more)"


@pytest.mark.spark
def test_tests_read_the_branch_and_not_main(shop: ProjectFolder) -> None:
    """One that main's rows pass and the new ones do not, and the other way round."""
    shop.file("models/silver/a/tests/quality/even.sql", "SELECT * FROM {{ this }} WHERE x % 2 = 1")
    model(shop, "silver.a", "SELECT 2 AS x", "audit: sum(x, <, 10)")
    assert shop.run().exit_code == 0
    model(shop, "silver.a", "SELECT 3 AS x", "audit: sum(x, <, 10)")
    assert outcomes(shop.run()) == {"even": ("failed", 1), "sum(x, <, 10)": ("passed", 3)}
    assert shop.rows("silver.a") == [(2,)]
    shop.file("models/silver/a/tests/quality/even.sql", "SELECT * FROM {{ this }} WHERE x % 2 = 0")
    assert outcomes(shop.run()) == {"even": ("passed", 0), "sum(x, <, 10)": ("passed", 3)}
    assert shop.rows("silver.a") == [(3,)]


@pytest.mark.spark
def test_after_a_failed_audit_columns_rows_and_watermark_are_as_before_and_the_next_run_works(
    shop: ProjectFolder,
) -> None:
    def orders(rows: str, extra: str = "", limit: int = 100) -> None:
        model(shop, "bronze.orders", f"SELECT * FROM VALUES {rows} AS t(id, at{extra and ', note'})")
        model(
            shop,
            "silver.orders",
            f"SELECT id, at{extra} FROM bronze.orders"
            "{% if is_incremental() %} WHERE at > '{{ watermark_value }}'{% endif %}",
            f"audit: max(id, <, {limit})",
            merge_strategy="incremental",
            unique_key="id",
            watermark_column="at",
        )

    table = TableName.parse("silver.orders", "shop")
    orders("(1, '2024-01-01')")
    assert shop.run().exit_code == 0
    before = shop.main.pointer(table)
    rows = "(1, '2024-01-01', 'x'), (200, '2024-01-02', 'y')"
    orders(rows, ", note")
    failed = shop.run()
    assert statuses(failed)["silver.orders"] == "failed"
    assert shop.main.pointer(table) == before
    assert shop.rows("silver.orders") == [(1, "2024-01-01")]
    again = shop.run()
    assert (run_types(again)["silver.orders"], statuses(again)["silver.orders"]) != ("skip", "skipped")
    assert outcomes(again)["max(id, <, 100)"] == ("failed", 200)
    assert shop.main.pointer(table) == before
    orders(rows, ", note", limit=1000)
    assert shop.run().exit_code == 0
    assert [row[0] for row in shop.rows("silver.orders")] == [1, 200]


@pytest.mark.spark
def test_constraints_of_a_batch_look_at_its_rows_and_at_their_keys_in_the_whole_table(shop: ProjectFolder) -> None:
    model(shop, "bronze.users", "SELECT * FROM VALUES (1), (2) AS t(id)")

    def events(amount: int) -> None:
        model(
            shop,
            "silver.events",
            "SELECT id, user_id, amount FROM {{ landing_zone('events') }}",
            "constraint: unique(id)",
            "constraint: references(user_id, bronze.users, id)",
            f"constraint: compare(amount, >, {amount})",
            "audit: row_count(>, 0)",
            merge_strategy="append_only",
        )

    events(0)
    shop.file("landing/events/1.csv", "id,user_id,amount\n1,1,5\n2,2,5\n3,1,5\n")
    assert shop.run().exit_code == 0
    shop.file("landing/events/2.csv", "id,user_id,amount\n1,1,0\n4,9,5\n")
    second = shop.run()
    found = {check.name: check for check in second.check_results}
    assert {name: (check.status, check.value) for name, check in found.items()} == {
        "unique(id)": ("failed", 1),
        "references(user_id, bronze.users, id)": ("failed", 1),
        "compare(amount, >, 0)": ("failed", 1),
        "row_count(>, 0)": ("passed", 5),
    }
    assert found["unique(id)"].samples == ({"id": 1, "n": 2},)
    assert error_of(second, "silver.events").endswith("(and 2 more)")
    assert len(shop.rows("silver.events")) == 3


@pytest.mark.spark
def test_a_constraint_does_not_look_at_rows_that_were_there_before(shop: ProjectFolder) -> None:
    def events(least: int) -> None:
        sql = "SELECT id FROM {{ landing_zone('events') }}"
        model(shop, "silver.events", sql, f"constraint: compare(id, >, {least})", merge_strategy="append_only")

    shop.file("landing/events/1.csv", "id\n1\n")
    events(0)
    assert shop.run().exit_code == 0
    shop.file("landing/events/2.csv", "id\n7\n")
    events(5)
    assert outcomes(shop.run()) == {"compare(id, >, 5)": ("passed", 0)}
    assert shop.rows("silver.events") == [(1,), (7,)]


def test_a_changed_check_is_run_again_on_an_unchanged_table(pointer_shop: ProjectFolder) -> None:
    shop = pointer_shop
    model(shop, "silver.a", "SELECT 5 AS x", "audit: min(x, >, 0)")
    model(shop, "gold.b", "SELECT * FROM silver.a")
    first = shop.run()
    assert first.exit_code == 0
    model(shop, "silver.a", "SELECT 5 AS x", "audit: min(x, >, 9)")
    shop.builder.failing_checks = {"min(x, >, 9)": 1}
    failed = shop.run()
    assert statuses(failed) == {"silver.a": "failed", "gold.b": "blocked"}
    assert outcomes(failed) == {"min(x, >, 9)": ("failed", 1)}
    model(shop, "silver.a", "SELECT 5 AS x", "audit: min(x, >, 4)")
    shop.builder.builds.clear()
    passed = shop.run()
    assert statuses(passed) == {"silver.a": "skipped", "gold.b": "skipped"}
    assert outcomes(passed) == {"min(x, >, 4)": ("passed", 0)}
    reason = next(m.reason for m in passed.materializations if m.model == "silver.a")
    assert reason == "unchanged; checks changed: run again"
    idle = shop.run()
    assert (idle.status, outcomes(idle)) == ("skipped", {})
    assert shop.builder.builds == []
    assert runs_in(shop, "silver.a") == [first.run_id]


@pytest.mark.spark
def test_checks_of_views_see_the_rows_of_the_view(shop: ProjectFolder) -> None:
    model(
        shop,
        "silver.v",
        "SELECT id FROM range(3)",
        "audit: row_count(=, 3)",
        "constraint: unique(id)",
        materialized="view",
    )
    assert outcomes(shop.run()) == {"row_count(=, 3)": ("passed", 3), "unique(id)": ("passed", 0)}
    model(shop, "silver.v", "SELECT id FROM range(3)", "audit: row_count(>, 3)", materialized="view")
    assert statuses(shop.run()) == {"silver.v": "failed"}
    model(shop, "silver.v", "SELECT id FROM range(3)", "audit: row_count(<, 4)", materialized="view")
    assert statuses(shop.run()) == {"silver.v": "skipped"}
    assert shop.run().status == "skipped"


@pytest.mark.spark
def test_a_published_table_is_compared_with_the_version_before(shop: ProjectFolder) -> None:
    def rows(count: int) -> None:
        model(shop, "silver.a", f"SELECT id FROM range({count})", "warning: row_count_delta(20%)")

    rows(10)
    assert outcomes(shop.run()) == {"row_count_delta(20%)": ("passed", None)}
    rows(20)
    assert outcomes(shop.run()) == {"row_count_delta(20%)": ("warned", 100.0)}
    rows(21)
    assert outcomes(shop.run()) == {"row_count_delta(20%)": ("passed", 5.0)}


@pytest.mark.spark
def test_checking_main_builds_and_changes_nothing(shop: ProjectFolder) -> None:
    model(shop, "silver.a", "SELECT 5 AS x", "audit: min(x, >, 0)", "warning: min(x, <, 3)")
    model(shop, "silver.b", "SELECT 5 AS x", "audit: min(x, >, 0)")
    assert shop.run("silver.a").exit_code == 0
    heads = shop.catalog.head()
    found = check_project(shop.settings, (), shop.spark)
    assert [(r.name, r.status) for r in found.results] == [("min(x, >, 0)", "passed"), ("min(x, <, 3)", "warned")]
    assert (found.passed, found.missing) == (True, ("silver.b",))
    model(shop, "silver.a", "SELECT 5 AS x", "audit: min(x, >, 9)")
    assert not check_project(shop.settings, ("silver.a",), shop.spark).passed
    assert (shop.catalog.head(), shop.branches()) == (heads, [])


def test_results_are_stored_with_their_run_and_make_a_history(pointer_shop: ProjectFolder) -> None:
    shop, check = pointer_shop, "min(x, >, 0)"
    for number, rows in enumerate((0, 3, 0)):
        model(shop, "silver.a", f"SELECT {number} AS x", f"audit: {check}", "audit: mean(x, <, 9)")
        shop.builder.failing_checks = {check: rows}
        shop.run()
    with open_reader(shop.settings.state.url) as reader:
        history = reader.checks_of_model("silver.a")
        assert len({check.run_id for check in reader.checks_of_model("silver.a", 2)}) == 2
    assert [(one.status, one.value) for one in history if one.name == check] == [
        ("passed", 0),
        ("failed", 3),
        ("passed", 0),
    ]
    assert [one.status for one in history if one.name == "mean(x, <, 9)"] == ["passed"] * 3
