"""Quarantine in a run: both tables move together, whatever happens, and no row is lost or there twice."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.projects import ProjectFolder, run_types, statuses
from tests.runs.test_killed import start
from tidegate.cli.main import run_cli
from tidegate.hooks.events import Event
from tidegate.operations.publish import publish_run
from tidegate.runs import RunResult
from tidegate.runs.result import Materialization
from tidegate.spark.session import child_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

Sql = Callable[[str], object]
REFUSED = "SELECT id, _columns, _run_id FROM silver.people__quarantine"


@pytest.fixture
def others(shop: ProjectFolder, spark: SparkSession) -> Sql:
    """Somebody else's program that writes straight to main."""
    catalog = shop.catalog
    session = child_session(spark, catalog.spark_conf("main"), catalog.spark_catalog("main"))
    session.conf.set("spark.sql.shuffle.partitions", "1")
    session.sql("CREATE NAMESPACE shop.src")
    session.sql(
        "CREATE TABLE shop.src.people AS SELECT * FROM VALUES"
        " (1, 'anna@clear.example', 5), (2, NULL, -1) AS t(id, email, n)"
    )
    sql: Sql = session.sql
    return sql


def people(shop: ProjectFolder, *more: str, **settings: str) -> None:
    checks = ("constraint: not_null(email)", "constraint: compare(n, >, 0)", "constraint: unique(id)", *more)
    header = "".join(f"-- @{check}\n" for check in ("quarantine: true", "column: email: [mask_email]", *checks))
    header += "".join(f"-- @{key}: {value}\n" for key, value in settings.items())
    shop.file("models/silver/people.sql", f"{header}SELECT id, email, n FROM src.people\n")


def of(result: RunResult, name: str = "silver.people") -> Materialization:
    return next(m for m in result.materializations if m.model == name)


def found(result: RunResult) -> dict[str, tuple[str, Any]]:
    return {check.name: (check.status, check.value) for check in result.check_results}


def test_both_tables_move_together_and_go_back_together(
    shop: ProjectFolder, others: Sql, capsys: pytest.CaptureFixture[str]
) -> None:
    people(shop, "audit: row_count(<, 3)", "constraint: compare(n, <, 5) warn")
    shop.model("gold.why", "SELECT id, explode(_reasons) AS reason FROM silver.people__quarantine")
    first = shop.run()
    assert first.exit_code == 0
    assert (of(first).rows_written, of(first).rows_quarantined) == (1, 1)
    assert found(first) == {
        "not_null(email)": ("warned", 1),
        "compare(n, >, 0)": ("warned", 1),
        "unique(id)": ("passed", 0),
        "row_count(<, 3)": ("passed", 1),
        "compare(n, <, 5)": ("warned", 1),
    }
    assert set(first.publish.tables) == {"silver.people", "silver.people__quarantine", "gold.why"}
    assert shop.rows("silver.people") == [(1, "a***@clear.example", 5)]
    assert shop.rows(REFUSED) == [(2, ["email", "n"], first.run_id)]
    reasons = ["compare(n, >, 0): n > 0", "not_null(email): no NULL in email"]
    assert sorted(reason for _, reason in shop.rows("gold.why")) == reasons
    assert run_cli(["preview", "silver.people__quarantine", "--project", str(shop.root)]) == 0
    assert "compare(n, >, 0)" in capsys.readouterr().out

    assert statuses(shop.run()) == {"silver.people": "skipped", "gold.why": "skipped"}

    people(shop, "audit: row_count(<, 9)", "constraint: compare(n, <, 5) warn")
    again = shop.run()
    assert statuses(again) == {"silver.people": "skipped", "gold.why": "skipped"}
    assert (found(again)["row_count(<, 9)"], found(again)["not_null(email)"]) == (("passed", 1), ("passed", 0))
    people(shop, "audit: row_count(<, 3)", "constraint: compare(n, <, 5) warn")

    others(
        "INSERT INTO shop.src.people VALUES"
        " (3, 'c@clear.example', 1), (4, 'd@clear.example', 1), (5, 'e@clear.example', 0)"
    )
    before = shop.catalog.head()
    failed = shop.run()
    assert statuses(failed) == {"silver.people": "failed", "gold.why": "blocked"}
    assert of(failed).reason == "src.people gained 3 rows; it quarantines rows"
    assert shop.catalog.head() == before
    assert found(failed)["compare(n, >, 0)"] == ("warned", 2)

    others("DELETE FROM shop.src.people WHERE id IN (2, 3)")
    kept = shop.run(no_publish=True)
    assert (of(kept).rows_written, of(kept).rows_quarantined) == (2, 1)
    assert shop.rows(REFUSED) == [(2, ["email", "n"], first.run_id)]
    publish_run(shop.settings, kept.run_id, root=shop.spark)
    assert shop.rows(REFUSED) == [(5, ["n"], kept.run_id)]
    assert [row[0] for row in shop.rows("gold.why")] == [5]
    assert [row[0] for row in shop.rows("silver.people")] == [1, 4]

    others("DELETE FROM shop.src.people WHERE id = 5")
    assert of(shop.run()).rows_quarantined == 0
    assert shop.rows(REFUSED) == []
    assert not any("clear" in str(check.samples) for check in kept.check_results)


def test_a_constraint_that_changes_makes_the_table_anew_and_switching_off_leaves_the_quarantine(
    shop: ProjectFolder, others: Sql
) -> None:
    people(shop, merge_strategy="incremental", unique_key="id")
    shop.run()
    people(shop, "constraint: compare(n, >, 9)", merge_strategy="incremental", unique_key="id")
    result = shop.run()
    assert (of(result).reason, of(result).rows_quarantined) == ("definition changed", 2)
    assert shop.rows("silver.people") == []
    before = shop.rows(REFUSED)
    shop.model("silver.people", "SELECT id, email, n FROM src.people", merge_strategy="incremental", unique_key="id")
    assert of(shop.run()).rows_written == 2
    assert shop.rows(REFUSED) == before


def test_a_constraint_that_fails_on_some_row_is_an_error_and_blocks(shop: ProjectFolder, others: Sql) -> None:
    others("INSERT INTO shop.src.people VALUES (3, 'c@clear.example', 0)")
    people(shop, "constraint: check('ratio', '1 / n < 9')")
    blocked = shop.run()
    assert (blocked.exit_code, of(blocked).failure_kind) == (1, "QualityFailed")
    assert "constraint ratio could not run: Division by zero." in (of(blocked).error or "")
    assert (found(blocked)["ratio"], found(blocked)["compare(n, >, 0)"]) == (("error", None), ("warned", 2))
    assert {table.name for table in shop.catalog.head()} == {"people"}
    assert blocked.publish.tables == ()


def test_an_upsert_from_changes_adds_what_it_refuses(shop: ProjectFolder, others: Sql) -> None:
    people(shop, merge_strategy="incremental", unique_key="id", watermark_column="n", deltas="always")
    first = shop.run()
    others("INSERT INTO shop.src.people VALUES (3, NULL, 7), (4, 'd@clear.example', 8)")
    second = shop.run()
    assert run_types(second) == {"silver.people": "incremental"}
    assert (of(second).rows_written, of(second).rows_quarantined) == (1, 1)
    assert [row[0] for row in shop.rows("silver.people")] == [1, 4]
    assert shop.rows(REFUSED) == [(2, ["email", "n"], first.run_id), (3, ["email"], second.run_id)]


def test_a_run_that_was_killed_adds_nothing_twice(shop: ProjectFolder) -> None:
    shop.model(
        "silver.people",
        "SELECT id, n FROM {{ landing_zone('people') }}",
        merge_strategy="append_only",
        quarantine="true",
        constraint="not_null(n)",
    )
    shop.file("landing/people/a.csv", "id,n\n1,1\n2,\n")
    assert shop.run().exit_code == 0
    before = shop.catalog.head()
    shop.file("landing/people/b.csv", "id,n\n3,\n4,4\n")
    process = start(shop.root, TIDEGATE_FAULT="after_write")
    output, _ = process.communicate(timeout=180)
    assert process.returncode == -signal.SIGKILL, output
    assert shop.catalog.head() == before
    shop.clock.set("2024-06-02T12:00:00")
    assert of(shop.run()).rows_quarantined == 1
    assert shop.rows("SELECT id FROM silver.people__quarantine") == [(2,), (3,)]
    assert shop.rows("SELECT id FROM silver.people") == [(1,), (4,)]


def test_what_moved_under_a_run_is_refused_again_on_what_main_has(shop: ProjectFolder, others: Sql) -> None:
    people(shop, merge_strategy="append_only")
    shop.run()
    others("INSERT INTO shop.src.people VALUES (3, NULL, 7)")
    moved: list[Event] = []

    def meanwhile(event: Event) -> None:
        if event.name == "after_checks" and not moved:
            moved.append(event)
            others("DELETE FROM shop.silver.people__quarantine WHERE id = 2")

    result = shop.run(listener=meanwhile)
    assert (result.exit_code, result.publish.conflicts) == (0, 1)
    assert shop.rows("SELECT id FROM silver.people__quarantine") == [(3,)]
    assert [row[0] for row in shop.rows("silver.people")] == [1]
